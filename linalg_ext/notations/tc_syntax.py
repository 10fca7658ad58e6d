"""The text of TC as a syntax tree: names and places, no meaning yet.

The grammar is in `tc.lark`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from lark import Lark, Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from linalg_ext.errors import NotationError
from linalg_ext.notations.source_text import SourceText


@dataclass(frozen=True)
class Name:
    """A name where it was written."""

    text: str
    start: int
    end: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Term:
    """A part of an index or of an expression over elements.

    Attributes:
        kind: the rule of the grammar: `add subtract multiply floordiv ceildiv mod negate integer
            name element call`.
        head: the name, the digits of an integer, the name of the function that is called.
        args: the operands of an operator, the arguments of a call.
        numbers: the numbers in the brackets of an element of an attribute.
        reduction: the names between angle brackets of a call; None where there are no brackets.
    """

    kind: str
    start: int
    end: int
    head: str = ""
    args: tuple[Term, ...] = ()
    numbers: tuple[int, ...] = ()
    reduction: tuple[Name, ...] | None = None


@dataclass(frozen=True)
class TensorDecl:
    """`A: f32(M, K)`."""

    name: Name
    element: Name
    shape: tuple[Term, ...]


@dataclass(frozen=True)
class AttributeDecl:
    """`strides?: 2xi32`, `factors: i64[]`."""

    name: Name
    element: Name
    sizes: tuple[int, ...]
    is_list: bool
    is_optional: bool


@dataclass(frozen=True)
class Comprehension:
    """`C(m), D(m) = ..., ...;`."""

    targets: tuple[Term, ...]
    values: tuple[Term, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Definition:
    """One `def`, with the `ods_def` before it."""

    name: Name
    class_name: Name | None
    interfaces: tuple[Name, ...]
    inputs: tuple[TensorDecl, ...]
    outputs: tuple[TensorDecl, ...]
    attributes: tuple[AttributeDecl, ...]
    doc: str
    comprehensions: tuple[Comprehension, ...]


def parse(source: SourceText) -> tuple[Definition, ...]:
    """The definitions of a text, in order; a NotationError where it breaks the grammar."""
    try:
        tree = _parser().parse(source.text)
    except UnexpectedInput as error:
        _refuse(error, source)
    return tuple(_definition(child) for child in tree.children)


@functools.cache
def _parser() -> Lark:
    grammar = (Path(__file__).parent / "tc.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def _definition(tree: Any) -> Definition:
    ods_def, name, inputs, outputs, attributes, doc, *comprehensions = tree.children
    class_name, interfaces = ods_def.children if ods_def else (None, None)
    return Definition(
        name=_name(name),
        class_name=_name(class_name) if class_name else None,
        interfaces=tuple(map(_name, interfaces.children)) if interfaces else (),
        inputs=tuple(map(_tensor, inputs.children)) if inputs else (),
        outputs=tuple(map(_tensor, outputs.children)) if outputs else (),
        attributes=tuple(map(_attribute, attributes.children)) if attributes else (),
        doc=str(doc)[3:-3].strip() if doc else "",
        comprehensions=tuple(map(_comprehension, comprehensions)),
    )


def _tensor(tree: Any) -> TensorDecl:
    name, element, shape = tree.children
    return TensorDecl(_name(name), _name(element), _terms(shape))


def _attribute(tree: Any) -> AttributeDecl:
    name, optional, sizes, element, is_list = tree.children
    return AttributeDecl(
        name=_name(name),
        element=_name(element),
        sizes=tuple(int(size) for size in sizes.rstrip("x \t\n").split("x")) if sizes else (),
        is_list=is_list is not None,
        is_optional=optional is not None,
    )


def _comprehension(tree: Any) -> Comprehension:
    targets, values = tree.children
    return Comprehension(
        _terms(targets), _terms(values), int(tree.meta.start_pos), int(tree.meta.end_pos)
    )


def _terms(arguments: Any) -> tuple[Term, ...]:
    return tuple(map(_term, arguments.children)) if arguments else ()


def _term(tree: Any) -> Term:
    kind, children = str(tree.data), tree.children
    span = (int(tree.meta.start_pos), int(tree.meta.end_pos))
    match kind:
        case "integer" | "name":
            return Term(kind, *span, head=str(children[0]))
        case "element":
            numbers = tuple(int(number) for number in children[1:])
            return Term(kind, *span, head=str(children[0]), numbers=numbers)
        case "call":
            head, reduction, arguments = children
            names = None
            if reduction is not None:
                names = tuple(_name(child) for child in reduction.children if child is not None)
            return Term(kind, *span, head=str(head), args=_terms(arguments), reduction=names)
        case _:
            return Term(kind, *span, args=tuple(map(_term, children)))


def _name(token: Token) -> Name:
    return Name(str(token), int(token.start_pos or 0), int(token.end_pos or 0))


_SPELLING = {
    "ID": "a name",
    "INT": "a number",
    "SIZES": "a size such as `2x`",
    "DOC": 'a doc string (""")',
    "LIST": "`[]`",
    "OPTIONAL": "`?`",
    "$END": "the end of the text",
}

_OTHER_CHARACTERS = {
    "/": "write `floordiv` or `ceildiv` to divide an index; a comment begins with `//`",
    "%": "write `mod`",
    '"': 'a doc string stands between """ and """',
    ".": "a number in an index is whole; TC has no constants among its elements",
    "'": 'a doc string stands between """ and """',
    "#": "a comment begins with `//`",
}

_LISTED = 8

_MISTAKES = {
    "end the comprehension with `;`": ["def f(A: f32(M)) -> (C: f32(M)) { C(m) = A(m) }"],
    "write the outputs and their shapes: `-> (C: f32(M, N))`": [
        "def f(A: f32(M)) {",
        "def f(A: f32(M)) -> {",
        "def f(A: f32(M)) -> C",
        'def f(A: f32(M)) """',
        "def f(A: f32(M)) attr",
    ],
    "write the shape after the element type; a tensor of rank 0 has `f32()`": [
        "def f(A: f32) -> (C: f32(M)) {",
        "def f(A: f32, B",
    ],
    "say of which element type and shape the tensor is: `A: f32(M, K)`": [
        "def f(A) ->",
        "def f(A, B) ->",
        "def f(A(",
    ],
    "put the name of the C++ class in angle brackets: `ods_def<NameOp> :`": [
        "ods_def NameOp",
        "ods_def :",
        "ods_def<>",
    ],
    "write `:` between `ods_def<NameOp>` and `def`": ["ods_def<NameOp> def"],
    "begin with `def name(...)`, or with `ods_def<NameOp> : def name(...)`": [
        "matmul(",
        "C(m)",
        "{",
        "(",
        "def (",
    ],
    "attributes stand after the outputs and before the doc string": [
        'def f(A: f32(M)) -> (C: f32(M)) """d""" attr'
    ],
    "a definition has a comprehension between `{` and `}`": ["def f(A: f32(M)) -> (C: f32(M)) { }"],
    "write `C(...) = ...;`: `+=` is `std_addf<k>(...)` in TC": [
        "def f(A: f32(M)) -> (C: f32(M)) { C(m) + ="
    ],
    "list the dimensions to reduce over by their names: `std_addf<k, l>(...)`": [
        "def f(A: f32(M)) -> (C: f32(M)) { C() = std_addf<1",
        "def f(A: f32(M)) -> (C: f32(M)) { C() = std_addf<k +",
        "def f(A: f32(M)) -> (C: f32(M)) { C() = std_addf<(",
    ],
    "write the reduced expression in parentheses: `std_addf<k>(A(m, k))`": [
        "def f(A: f32(M)) -> (C: f32(M)) { C() = std_addf<k> A",
        "def f(A: f32(M)) -> (C: f32(M)) { C() = std_addf<k>;",
    ],
    "an attribute is declared with its type: `attr(strides: 2xi32)`": [
        "def f(A: f32(M)) -> (C: f32(M)) attr(strides)",
        "def f(A: f32(M)) -> (C: f32(M)) attr(strides,",
        "def f(A: f32(M)) -> (C: f32(M)) attr()",
        "def f(A: f32(M)) -> (C: f32(M)) attr(strides =",
    ],
    "sizes stand before the element type: `strides: 2xi32`; a list of any length is `i32[]`": [
        "def f(A: f32(M)) -> (C: f32(M)) attr(strides: i32[2",
        "def f(A: f32(M)) -> (C: f32(M)) attr(strides: 2)",
        "def f(A: f32(M)) -> (C: f32(M)) attr(strides: 2,",
        "def f(A: f32(M)) -> (C: f32(M)) attr(strides: [",
    ],
    "close it with `)`": [
        "def f(A: f32(M)) -> (C: f32(M)) { C(m) = std_exp(A(m);",
        "def f(A: f32(M) -> (C: f32(M))",
        "def f(A: f32(M) ->",
    ],
    "write the tensors in parentheses: `def name(A: f32(M)) -> (C: f32(M))`": ["def f {", "def f:"],
    "close the body with `}`": ["def f(A: f32(M)) -> (C: f32(M)) { C(m) = A(m); def"],
}
"""Hints, and beginnings of texts with the mistake that each hint mends."""


def _refuse(error: UnexpectedInput, source: SourceText) -> NoReturn:
    """Raise the error that a reader of the text can use."""
    if isinstance(error, UnexpectedCharacters):
        start = error.pos_in_stream or 0
        character = source.text[start]
        raise NotationError(
            f"{character!r} has no meaning here",
            where=source.place(start),
            expected=_listing(error.allowed),
            hint=_OTHER_CHARACTERS.get(character),
        ) from None
    if not isinstance(error, UnexpectedToken):
        raise NotationError("the text cannot be read", where=source.place(0)) from None
    token = error.token
    if token.type == "$END":
        message, start, end = "the text ends too early", len(source.text.rstrip()), None
        if not source.text.strip():
            message = "the text is empty"
    else:
        shown = str(token) if len(token) <= 20 else f"{token[:17]}..."
        message = f"`{shown}` is unexpected here"
        start, end = int(token.start_pos or 0), int(token.end_pos or 0)
    hint = error.match_examples(_parser().parse, _MISTAKES, token_type_match_fallback=False)
    if token.type == "$END":
        is_open = source.text.count("{") > source.text.count("}")
        hint = "close the body with `}`" if is_open else None
        if not source.text.strip():
            hint = "begin with `def name(...)`"
    raise NotationError(
        message,
        where=source.place(start, end),
        expected=_listing(error.accepts or error.expected),
        hint=hint,
    ) from None


def _listing(terminals: Any) -> str | None:
    """Terminals of the grammar as a reader knows them."""
    spelled = []
    for name in terminals or ():
        pattern = next((t.pattern for t in _parser().terminals if t.name == name), None)
        spelling = _SPELLING.get(name)
        if spelling is not None:
            spelled.append(spelling)
        elif pattern is not None and pattern.type == "str":
            spelled.append(f"`{pattern.value}`")
    # A long list says only that the place is in the middle of something.
    return "one of " + ", ".join(sorted(set(spelled))) if 0 < len(spelled) <= _LISTED else None
