"""The names of one definition of TC: tensors, attributes, symbols and dimensions, and indices.

Symbols and dimensions are discovered as they are met, in the order of the text: symbols in the
shapes, dimensions in the comprehension.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from linalg_ext.definition.affine import AffineConst, AffineDim, AffineExpr, AffineSymbol
from linalg_ext.definition.checks import RESERVED_ATTRIBUTES
from linalg_ext.definition.model import AttributeType
from linalg_ext.errors import DefinitionError, NotationError
from linalg_ext.notations.source_text import SourceText
from linalg_ext.notations.std_functions import ELEMENT_TYPES
from linalg_ext.notations.tc_syntax import AttributeDecl, Definition, Name, Term

_ATTRIBUTE_ELEMENTS = ("i32", "i64", "f32")
_MOST_VALUES = 1024

_AFFINE: dict[str, Callable[[AffineExpr, AffineExpr], AffineExpr]] = {
    "add": lambda lhs, rhs: lhs + rhs,
    "subtract": lambda lhs, rhs: lhs - rhs,
    "multiply": lambda lhs, rhs: lhs * rhs,
    "floordiv": lambda lhs, rhs: lhs // rhs,
    "ceildiv": lambda lhs, rhs: lhs / rhs,
    "mod": lambda lhs, rhs: lhs % rhs,
}


class Scope:
    """The names of one `def`, as known while it is read."""

    def __init__(self, syntax: Definition, source: SourceText) -> None:
        self.syntax = syntax
        self.source = source
        self.tensors = {decl.name.text: decl for decl in (*syntax.inputs, *syntax.outputs)}
        self.outputs = {decl.name.text for decl in syntax.outputs}
        self.attributes = {decl.name.text: decl for decl in syntax.attributes}
        self.symbols: set[str] = set()
        self.read: dict[str, set[tuple[int, ...]]] = {name: set() for name in self.attributes}
        self.dims: list[str] = []
        self.reduced: list[str] = []
        self.used: set[str] = set()
        self.begin()

    def begin(self) -> None:
        """Begin a comprehension: nothing is met in it yet."""
        self.met: list[str] = []
        self.uses: dict[str, tuple[tuple[AffineExpr, ...], Term]] = {}

    def meet(self, dim: str) -> None:
        """Note a dimension, new or known, of the comprehension."""
        for dims in (self.dims, self.met):
            if dim not in dims:
                dims.append(dim)

    def error(
        self,
        what: str,
        place: Term | Name | tuple[int, int],
        *,
        expected: str | None = None,
        hint: str | None = None,
    ) -> NotationError:
        """The error for a part of the text."""
        start, end = place if isinstance(place, tuple) else (place.start, place.end)
        return NotationError(
            what, where=self.source.place(start, end), expected=expected, hint=hint
        )

    def check_names(self) -> None:
        """Raise for names that are declared twice, and for types that TC does not have."""
        seen: set[str] = set()
        syntax = self.syntax
        tensors = (*syntax.inputs, *syntax.outputs)
        for name in (*(t.name for t in tensors), *(a.name for a in syntax.attributes)):
            if name.text in seen:
                raise self.error(
                    f"{name} is declared twice", name, hint="give each operand its own name"
                )
            seen.add(name.text)
        if not syntax.outputs:
            raise self.error(
                f"{syntax.name} has no output",
                syntax.name,
                hint="declare one after the arrow: `-> (C: f32(M))`",
            )
        for tensor in self.tensors.values():
            if tensor.element.text not in ELEMENT_TYPES:
                raise self.error(
                    f"{tensor.name} is of element type {tensor.element}, which TC does not have",
                    tensor.element,
                    expected=f"one of {', '.join(ELEMENT_TYPES)}",
                )
        for attribute in syntax.attributes:
            self._check_attribute(attribute)

    def _check_attribute(self, decl: AttributeDecl) -> None:
        if decl.name.text in RESERVED_ATTRIBUTES:
            raise self.error(
                f"attribute {decl.name} has the name of a method of structured ops",
                decl.name,
                hint=f"rename it; taken are {', '.join(sorted(RESERVED_ATTRIBUTES))}",
            )
        if decl.element.text not in _ATTRIBUTE_ELEMENTS:
            raise self.error(
                f"attribute {decl.name} is of type {decl.element}",
                decl.element,
                expected=f"one of {', '.join(_ATTRIBUTE_ELEMENTS)}",
            )
        if decl.is_list and decl.sizes:
            raise self.error(
                f"attribute {decl.name} is both an array of fixed size and a list",
                decl.element,
                hint=f"write `{decl.element}[]` for a list of any length, "
                f"`{decl.sizes[0]}x{decl.element}` for an array",
            )
        if decl.sizes and not 0 < math.prod(decl.sizes) <= _MOST_VALUES:
            raise self.error(
                f"attribute {decl.name} has {math.prod(decl.sizes)} values",
                decl.name,
                expected=f"1 to {_MOST_VALUES}",
            )

    def affine(self, term: Term, resolve: Callable[[Term], AffineExpr]) -> AffineExpr:
        """An index or a size; `resolve` says what a bare name stands for."""
        match term.kind:
            case "integer":
                if int(term.head) >= 2**63:
                    raise self.error(f"{term.head} is too large for an index", term)
                return AffineConst(int(term.head))
            case "name" | "element":
                if term.head in self.attributes:
                    return self._attribute_use(term)
                if term.kind == "element":
                    raise self.error(
                        f"{term.head} is no attribute of {self.syntax.name}",
                        term,
                        expected=one_of(self.attributes, "an attribute", "the op has none"),
                        hint=f"declare it after the outputs: `attr({term.head}: "
                        f"{max(term.numbers) + 1}xi32)`",
                    )
                return resolve(term)
            case "call":
                what = "is read" if term.head in self.tensors else "is called"
                raise self.error(
                    f"{term.head} {what} inside an index",
                    term,
                    expected="sums and products of dimensions, symbols, attributes and integers",
                )
            case "negate":
                return -self.affine(term.args[0], resolve)
            case _:
                lhs, rhs = (self.affine(arg, resolve) for arg in term.args)
                try:
                    return _AFFINE[term.kind](lhs, rhs)
                except DefinitionError as error:
                    raise self.error(
                        error.what,
                        term,
                        hint="multiply and divide by integers, symbols and attributes only",
                    ) from None

    def symbol(self, term: Term) -> AffineExpr:
        """A name in a shape: a symbol, new or known."""
        if term.head in self.tensors:
            raise self.error(
                f"{term.head} is a tensor and stands in a shape", term, hint="name the size"
            )
        self.symbols.add(term.head)
        return AffineSymbol(term.head)

    def dimension(self, term: Term) -> AffineExpr:
        """A name in an index: a symbol that a shape has, else a dimension, new or known."""
        if term.head in self.symbols:
            return AffineSymbol(term.head)
        if term.head in self.tensors:
            raise self.error(
                f"{term.head} is a tensor and stands in an index",
                term,
                hint="name the dimension otherwise than the tensors",
            )
        self.meet(term.head)
        return AffineDim(term.head)

    def _attribute_use(self, term: Term) -> AffineExpr:
        decl = self.attributes[term.head]
        rank = 1 if decl.is_list else len(decl.sizes)
        if decl.element.text == "f32":
            raise self.error(
                f"attribute {decl.name} holds floats and stands in an index",
                term,
                expected="an attribute of i32 or i64",
            )
        if len(term.numbers) != rank:
            indices = ", ".join(["0"] * rank)
            raise self.error(
                f"attribute {decl.name} is of type {attribute_type(decl)} and is used with "
                f"{len(term.numbers)} indices",
                term,
                hint=f"write {decl.name}[{indices}]" if rank else f"write {decl.name}",
            )
        for number, size in zip(term.numbers, decl.sizes, strict=False):
            if number >= size:
                raise self.error(
                    f"attribute {decl.name} has no element {list(term.numbers)}",
                    term,
                    expected=f"an index below {size}: it is declared as {attribute_type(decl)}",
                )
        if decl.is_list and term.numbers[0] >= _MOST_VALUES:
            raise self.error(f"{decl.name} is read beyond element {_MOST_VALUES - 1}", term)
        self.read[term.head].add(term.numbers)
        return AffineSymbol(element_name(term.head, term.numbers))

    def text(self, term: Term) -> str:
        """A part of an expression as it was written, on one line."""
        return " ".join(self.part(term.start, term.end).split())

    def part(self, start: int, end: int) -> str:
        """A part of the text."""
        return self.source.text[start:end]


def attribute_type(decl: AttributeDecl) -> AttributeType:
    """The type that an attribute is declared with."""
    return AttributeType(decl.element.text, decl.sizes, decl.is_list, decl.is_optional)


def element_name(name: str, position: tuple[int, ...]) -> str:
    """The symbol of one value of an attribute, spelled as the text spells it."""
    return f"{name}[{', '.join(map(str, position))}]" if position else name


def one_of(names: Iterable[str], kind: str, empty: str) -> str:
    """Return the names of a kind that were expected, or that there are none, for a message."""
    listed = ", ".join(sorted(names))
    return f"{kind}: {listed}" if listed else f"{kind}: {empty}"
