"""A text that is read: its types, the facts about its values, its ops, and the edits to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn, TypeAlias

from linalg_ext.dialects.gml_st.asm.generic_form import DYNAMIC, Piece
from linalg_ext.notations.mlir_text import Edit, Reader, Span, Token
from linalg_ext.notations.source_text import SourceText

TypeText: TypeAlias = Span | str
"""A type as it is written, or as MLIR reads it."""

VALUE_NAME = re.compile(r"%[\w$.-]+")

_ALIAS = re.compile(r"^\s*(![A-Za-z_][\w$]*)\s*=\s*(\S[^\n]*?)\s*(?://[^\n]*)?$", re.MULTILINE)
_OWN_TYPE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|!gml_st\.\w+')
_STATIC = re.compile(r"-?\d+")
_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Op:
    """An op that is being read.

    Attributes:
        name: without its dialect.
        written: as it stands in the text: `subset.tile`.
        place: of its name.
        results: the names of its results, `%a` or `%a:2`.
    """

    name: str
    written: str
    place: Span
    results: tuple[str, ...]

    @property
    def start(self) -> int:
        """The start of its name."""
        return self.place.start


@dataclass(slots=True)
class Mixed:
    """Numbers and values in brackets: `[%i, 0]`."""

    place: Span
    static: list[int | str] = field(default_factory=list)
    dynamic: list[Span] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def sizes(self) -> tuple[str, ...]:
        """As a type names them."""
        return tuple("?" if text.startswith("%") else text for text in self.texts)


class Reading:
    """A text that is read."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.scope = Scope()
        self.edits: list[Edit] = []

    @cached_property
    def _aliases(self) -> dict[str, str]:
        return {alias[1]: alias[2] for alias in _ALIAS.finditer(self.source.text)}

    # Parts of an op.

    def value(self, reader: Reader, of_what: str) -> Span:
        """Take the name of a value."""
        token = reader.next()
        if not token.text.startswith("%"):
            reader.refuse_token(of_what, token, "a value: %x")
        return reader.span(token.start, token.end)

    def values(self, reader: Reader, of_what: str) -> list[Span]:
        """Take values in parentheses."""
        reader.expect("(", of_what)
        values: list[Span] = []
        while not reader.accepts(")"):
            if values:
                reader.expect(",", of_what)
            values.append(self.value(reader, of_what))
        return values

    def typed_values(self, reader: Reader, of_what: str) -> tuple[list[Span], list[Span]]:
        """Take values and their types, `%a, %b : T, U`; nothing if no value follows."""
        if not reader.peek().text.startswith("%"):
            return [], []
        values = [self.value(reader, of_what)]
        while reader.accepts(","):
            values.append(self.value(reader, of_what))
        reader.expect(":", of_what)
        return values, self.types(reader, of_what)

    def mixed(self, reader: Reader, of_what: str) -> Mixed:
        """Take numbers and values in brackets."""
        opening = reader.expect("[", of_what)
        mixed = Mixed(Span("[", opening.start, opening.end))
        while not reader.accepts("]"):
            if mixed.static:
                reader.expect(",", of_what)
            token = reader.next()
            if token.text.startswith("%"):
                mixed.dynamic.append(reader.span(token.start, token.end))
                mixed.static.append(DYNAMIC)
            elif _STATIC.fullmatch(token.text):
                if len(token.text) > _DIGITS or abs(int(token.text)) >= -DYNAMIC:
                    reader.refuse(f"{token.text} is too large", token, "a number of 64 bits")
                mixed.static.append(token.text)
            else:
                reader.refuse_token(of_what, token, "numbers and values: [%i, 4]")
            mixed.texts.append(token.text)
        return mixed

    def numbers(self, reader: Reader, of_what: str) -> Mixed:
        """Take numbers in brackets."""
        mixed = self.mixed(reader, of_what)
        for value in mixed.dynamic:
            reader.refuse(f"{of_what} cannot have {value.text} here", value, "numbers: [0, 2]")
        return mixed

    def attributes(self, reader: Reader) -> Span | None:
        """Take a dictionary of attributes, if there is one; its inside."""
        opening = reader.peek()
        if opening.text != "{":
            return None
        end = reader.balanced()
        self.translate_types(opening.start, end)
        inside = reader.span(opening.end, end - 1)
        return inside if inside.text.strip() else None

    def type(self, reader: Reader, of_what: str) -> Span:
        """Take a type; of functions, too."""
        start = reader.peek().start
        end = _part_of_type(reader, of_what)
        while self.source.text[end - 1] == ")" and reader.accepts("->"):
            end = _part_of_type(reader, of_what)
        self.translate_types(start, end)
        return reader.span(start, end)

    def types(self, reader: Reader, of_what: str) -> list[Span]:
        """Take types with commas between them."""
        types = [self.type(reader, of_what)]
        while reader.accepts(","):
            types.append(self.type(reader, of_what))
        return types

    def translate_types(self, start: int, end: int) -> None:
        """Change the types of `gml_st` in a part of the text."""
        for match in _OWN_TYPE.finditer(self.source.text, start, end):
            if match[0].startswith("!"):
                token = Token(match[0], match.start())
                self.translate_type(token)

    def translate_type(self, token: Token) -> int:
        """Change a type of `gml_st` into one that MLIR reads; gives the offset behind it."""
        end, written = translated_type(self.source, token)
        if written != self.source.text[token.start : end]:
            self.change(token.start, end, [written])
        return end

    # Facts about values.

    def canonical(self, written: TypeText) -> str:
        """A type in the one spelling that can be compared."""
        text = "".join(str(written).split())
        for _ in range(8):
            if text not in self._aliases:
                break
            text = "".join(self._aliases[text].split())
        if is_element(text):
            return ELEMENT
        shape = shaped(text)
        return shape.subset if shape is not None and shape.kind == "subset" else text

    def known_type(self, op: Op, value: Span) -> TypeText:
        """The type of a value that the op does not say."""
        type_ = self.scope[value.text].type
        if type_ is None:
            self.refuse(
                f"{op.written} does not say its types, and that of {value.text} is not known here",
                op.place,
                hint=f"write it behind the op: {op.written} ... : tensor<4xf32> ...",
            )
        return type_

    def said_type(self, reader: Reader, op: Op, value: Span) -> Span:
        """Read the type that a text states for a set, and compare it with the known one."""
        type_ = self.type(reader, op.written)
        stated = self.scope[value.text].type
        if stated is None or not is_set(self.canonical(stated)):
            return type_
        if self.canonical(stated) != self.canonical(type_):
            names = [
                name
                for name, other in self.scope
                if other.type is not None and self.canonical(other.type) == self.canonical(type_)
            ]
            reader.refuse(
                f"{value.text} is a {self.shown(stated)}, and here it is said to be a {type_.text}",
                type_,
                self.shown(stated),
                f"or name a set of that type: {names[0]}" if names else None,
            )
        return type_

    def shown(self, written: TypeText) -> str:
        """A type as people write it."""
        return re.sub(r'<"([^"]*)">', r"<\1>", str(written))

    # Edits.

    def change(self, start: int, end: int, pieces: Sequence[Piece]) -> None:
        """Put pieces in the place of a part of the text."""
        self.edits.append(Edit(start, end, pieces))

    def define(self, op: Op, facts: Facts) -> None:
        """Record the facts about the results of an op."""
        for name in op.results:
            self.scope.define(name, facts)

    def refuse(
        self, message: str, part: Span | Token, expected: str | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise the error that points at a part of the text."""
        Reader(self.source, part.start).refuse(message, part, expected, hint)


def _part_of_type(reader: Reader, of_what: str) -> int:
    return reader.balanced() if reader.peek().text == "(" else reader.type_end(of_what)


def unused_name(name: str, suffix: str, names: Container[str]) -> str:
    """A name of a value that is like another, with a suffix, and is none of `names`."""
    # A name that begins with a digit has nothing but digits.
    stem = f"%v{name[1:]}" if name[1:2].isdigit() else name
    unused = f"{stem}_{suffix}"
    while unused in names:
        unused += "_"
    return unused


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that are known about a value.

    Attributes:
        type: as it is written, or as MLIR reads it; None where it is not known.
        source, source_type: of a set, the tensor or memref that it is a part of.
        strides: of a set, relative to its source; `?` for one that is not known.
        is_whole: True where a set is all of its source.
        constant: the number that the value is.
    """

    type: Span | str | None = None
    source: Span | None = None
    source_type: Span | str | None = None
    strides: tuple[str, ...] | None = None
    is_whole: bool = False
    constant: int | None = None


@dataclass(slots=True)
class Region:
    """A region that is open; or a dictionary, which holds no values.

    Attributes:
        close: called with the offset of the brace that ends it; gives the offset to read on from.
        collect: takes the `gml_st.yield` that ends it, its values, and the offset behind it,
            instead of the reader of such ops elsewhere.
        is_ended: whether its terminator was read.
    """

    close: Callable[[int], int] | None = None
    collect: Callable[[Any, Any, int], None] | None = None
    is_ended: bool = False
    values: dict[str, Facts] = field(default_factory=dict)


class Scope:
    """The regions that are open, innermost last."""

    def __init__(self) -> None:
        self._regions = [Region()]

    @property
    def innermost(self) -> Region:
        """The region that is read now."""
        return self._regions[-1]

    def open(self, region: Region) -> None:
        """A region begins."""
        self._regions.append(region)

    def close(self) -> Region | None:
        """The innermost region ends; None if absent."""
        return self._regions.pop() if len(self._regions) > 1 else None

    def define(self, name: str, facts: Facts | None = None) -> None:
        """A value is defined in the innermost region."""
        self.innermost.values[name.partition(":")[0]] = facts or Facts()

    def __getitem__(self, name: str) -> Facts:
        for region in reversed(self._regions):
            if (facts := region.values.get(name)) is not None:
                return facts
        return Facts()

    def __iter__(self) -> Iterator[tuple[str, Facts]]:
        """All that are visible, the latest first."""
        for region in reversed(self._regions):
            yield from reversed(region.values.items())


SUBSET = "!gml_st.subset"
ELEMENT = "!gml_st.element"

_NAMES = ("subset", "tile", "point", "element")
_DIMENSION = re.compile(r"\s*(\?|\d+)\s*(?:x|(?=$|[,>]))")
_NUMBER = re.compile(r"0|[1-9]\d*|\?")
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_PRINTED = re.compile(rf'{SUBSET}<{_QUOTED.pattern}>|"(?:[^"\\\n]|\\.)*"|//[^\n]*')


@dataclass(frozen=True, slots=True)
class Shaped:
    """A tensor, a memref or a subset, read from its text.

    Attributes:
        kind: `tensor`, `memref` or `subset`.
        sizes: a text each, `?` where it is dynamic.
        element: the element type; empty for a subset of an index space.
    """

    kind: str
    sizes: tuple[str, ...]
    element: str

    @property
    def subset(self) -> str:
        """The type of the subset of all of it, as MLIR reads it."""
        return subset_type(self.sizes, self.element)


def subset_type(sizes: tuple[str, ...], element: str = "") -> str:
    """A subset type as MLIR reads it."""
    return f'{SUBSET}<"{"x".join([*sizes, *filter(None, [element])])}">'


def shaped(text: str) -> Shaped | None:
    """Read a type in either spelling; None where it has no visible shape."""
    kind, _, rest = text.partition("<")
    kind = kind.strip()
    if kind in ("tensor", "memref"):
        sizes, element = _dimensions(rest.rstrip()[:-1])
        element = _without_encoding(element)
        return None if not element or element.startswith("*") else Shaped(kind, sizes, element)
    if kind in (SUBSET, "!gml_st.tile"):
        inside = rest.strip()[:-1].strip()
        return Shaped("subset", *_dimensions(_unquoted(inside)))
    return None


def is_element(text: str) -> bool:
    """Return whether a type is that of a single element, in either spelling."""
    return text.strip() in (ELEMENT, "!gml_st.point")


def is_set(text: str) -> bool:
    """Return whether a type is one of `gml_st`."""
    return text.lstrip().startswith("!gml_st.")


def translated_type(source: SourceText, token: Token) -> tuple[int, str]:
    """A type of `gml_st` as MLIR reads it.

    Args:
        source: the text.
        token: `!gml_st.` and the name.

    Returns:
        The offset behind the type, and its replacement.

    Raises:
        ParseError: there is no such type, or its sizes are none.
    """
    reader = Reader(source, token.end)
    name = token.text.partition(".")[2]
    if name not in _NAMES:
        reader.refuse(
            f"{token.text} is not a type of gml_st",
            token,
            "!gml_st.subset<4x?xf32>, !gml_st.tile<4x?>, !gml_st.point",
        )
    has_shape = reader.peek().text == "<" and reader.peek().start == token.end
    if name in ("point", "element"):
        if has_shape:
            reader.refuse(f"{token.text} is a single element and has no shape", reader.peek())
        return token.end, ELEMENT
    if not has_shape:
        reader.refuse(f"{token.text} has no shape", token, f"{token.text}<4x?xf32>")
    end = reader.balanced()
    inside = reader.span(token.end + 1, end - 1).text.strip()
    written = Span("", token.start, end)
    if quoted := _QUOTED.fullmatch(inside):
        return end, f'{SUBSET}<"{quoted[1]}">'
    sizes, element = _dimensions(inside)
    for size in sizes:
        if not _NUMBER.fullmatch(size):
            reader.refuse(
                f"{size} in {token.text}<{inside}> is not a size", written, "a number, or ?"
            )
    if name == "tile" and element:
        reader.refuse(
            f"{token.text}<{inside}> says an element type, which a tile has not",
            written,
            f"{token.text}<{'x'.join(sizes)}>, or {SUBSET}<{inside}>",
        )
    is_word = re.match(r"[A-Za-z!]", element) is not None
    if (element and not is_word) or re.search(r"x\s*$", inside):
        reader.refuse(
            f"{token.text}<{inside}> is not written as a subset is",
            written,
            f"sizes with an x between them, then the element type: {SUBSET}<4x?xf32>",
        )
    if '"' in element or "\\" in element:
        reader.refuse(f"{element} is not an element type of a subset", written)
    return end, subset_type(sizes, element)


def pretty_types(text: str) -> str:
    """A text as MLIR prints it, its subset types as people write them."""
    return _PRINTED.sub(_pretty, text)


def _pretty(match: re.Match[str]) -> str:
    inside = match[1]
    if inside is None or "\\" in inside or subset_type(*_dimensions(inside)) != match[0]:
        return match[0]
    return f"{SUBSET}<{inside}>"


def product(first: str, second: str) -> str:
    """The product of two numbers of which each may be `?`."""
    is_known = all(re.fullmatch(r"-?\d{1,18}", number) for number in (first, second))
    return str(int(first) * int(second)) if is_known else "?"


def _dimensions(text: str) -> tuple[tuple[str, ...], str]:
    """The sizes at the beginning of a text, and the element type behind them."""
    sizes: list[str] = []
    position = 0
    while match := _DIMENSION.match(text, position):
        sizes.append(match[1])
        position = match.end()
    return tuple(sizes), text[position:].strip()


def _without_encoding(text: str) -> str:
    """An element type without the part after a comma: a layout, an encoding."""
    depth = 0
    for offset, letter in enumerate(text):
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and depth <= 0:
            return text[:offset].strip()
    return text


def _unquoted(text: str) -> str:
    quoted = _QUOTED.fullmatch(text)
    return quoted[1] if quoted else text
