"""State shared by the readers of single ops: the text, its known values, and the edits to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn, TypeAlias

from linalg_ext.gml_st.asm.layout import DYNAMIC
from linalg_ext.gml_st.asm.scope import Known, Scope
from linalg_ext.gml_st.asm.types import ELEMENT, is_element, is_set, shaped, translated_type
from linalg_ext.notations.mlir_text import Edit, Reader, Span, Token
from linalg_ext.notations.source_text import SourceText

Piece: TypeAlias = Span | str
TypeText: TypeAlias = Span | str
"""A type as it is written, or as MLIR reads it."""

_ALIAS = re.compile(r"^\s*(![A-Za-z_][\w$]*)\s*=\s*(\S[^\n]*?)\s*(?://[^\n]*)?$", re.MULTILINE)
_OWN_TYPE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|!gml_st\.\w+')
_TYPE = re.compile(r"!?[A-Za-z_][\w$.]*")
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
        return {found[1]: found[2] for found in _ALIAS.finditer(self.source.text)}

    # Parts of an op.

    def value(self, reader: Reader, of_what: str) -> Span:
        """Take the name of a value."""
        token = reader.next()
        if not token.text.startswith("%"):
            reader.refuse(f"{of_what} cannot have {named(token)} here", token, "a value: %x")
        return reader.span(token.start, token.end)

    def values(self, reader: Reader, of_what: str) -> list[Span]:
        """Take values in parentheses."""
        reader.expect("(", of_what)
        found: list[Span] = []
        while not reader.accepts(")"):
            if found:
                reader.expect(",", of_what)
            found.append(self.value(reader, of_what))
        return found

    def mixed(self, reader: Reader, of_what: str) -> Mixed:
        """Take numbers and values in brackets."""
        opening = reader.expect("[", of_what)
        found = Mixed(Span("[", opening.start, opening.end))
        while not reader.accepts("]"):
            if found.static:
                reader.expect(",", of_what)
            token = reader.next()
            if token.text.startswith("%"):
                found.dynamic.append(reader.span(token.start, token.end))
                found.static.append(DYNAMIC)
            elif _STATIC.fullmatch(token.text):
                if len(token.text) > _DIGITS or abs(int(token.text)) >= -DYNAMIC:
                    reader.refuse(f"{token.text} is too large", token, "a number of 64 bits")
                found.static.append(token.text)
            else:
                what = f"{of_what} cannot have {named(token)} here"
                reader.refuse(what, token, "numbers and values: [%i, 4]")
            found.texts.append(token.text)
        return found

    def numbers(self, reader: Reader, of_what: str) -> list[str]:
        """Take numbers in brackets."""
        found = self.mixed(reader, of_what)
        for value in found.dynamic:
            reader.refuse(f"{of_what} cannot have {value.text} here", value, "numbers: [0, 2]")
        return [str(number) for number in found.static]

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
        end = self._part_of_type(reader, of_what)
        while self.source.text[end - 1] == ")" and reader.accepts("->"):
            end = self._part_of_type(reader, of_what)
        self.translate_types(start, end)
        return reader.span(start, end)

    def _part_of_type(self, reader: Reader, of_what: str) -> int:
        if reader.peek().text == "(":
            return reader.balanced()
        word = reader.next()
        if not _TYPE.fullmatch(word.text):
            what = f"{of_what} cannot have {named(word)} here"
            reader.refuse(what, word, "a type, as tensor<4xf32>")
        return reader.balanced() if reader.peek().text == "<" else word.end

    def translate_types(self, start: int, end: int) -> None:
        """Change the types of `gml_st` in a part of the text."""
        for found in _OWN_TYPE.finditer(self.source.text, start, end):
            if found[0].startswith("!"):
                token = Token(found[0], found.start())
                self.translate_type(token)

    def translate_type(self, at: Token) -> int:
        """Change a type of `gml_st` into what MLIR reads; gives the offset behind it."""
        end, written = translated_type(self.source, at)
        if written != self.source.text[at.start : end]:
            self.change(at.start, end, [written])
        return end

    # What is known.

    def canonical(self, written: TypeText) -> str:
        """A type in the one spelling that can be compared."""
        text = "".join(str(written).split())
        for _ in range(8):
            if text not in self._aliases:
                break
            text = "".join(self._aliases[text].split())
        if is_element(text):
            return ELEMENT
        found = shaped(text)
        return found.subset if found is not None and found.kind == "subset" else text

    def known_type(self, op: Op, value: Span) -> TypeText:
        """The type of a value that the op does not say."""
        known = self.scope[value.text].type
        if known is None:
            self.refuse(
                f"{op.written} does not say its types, and that of {value.text} is not known here",
                op.place,
                hint=f"write it behind the op: {op.written} ... : tensor<4xf32> ...",
            )
        return known

    def said_type(self, reader: Reader, op: Op, value: Span) -> Span:
        """Take the type of a set, which is what is known of it."""
        said = self.type(reader, op.written)
        known = self.scope[value.text].type
        if known is None or not is_set(self.canonical(known)):
            return said
        if self.canonical(known) != self.canonical(said):
            others = [
                name
                for name, other in self.scope
                if other.type is not None and self.canonical(other.type) == self.canonical(said)
            ]
            reader.refuse(
                f"{value.text} is a {self.shown(known)}, and here it is said to be a {said.text}",
                said,
                self.shown(known),
                f"or name a set of that type: {others[0]}" if others else None,
            )
        return said

    def shown(self, written: TypeText) -> str:
        """A type as people write it."""
        return re.sub(r'<"([^"]*)">', r"<\1>", str(written))

    # What changes.

    def change(self, start: int, end: int, pieces: Sequence[Piece]) -> None:
        """Put pieces in the place of a part of the text."""
        self.edits.append(Edit(start, end, pieces))

    def define(self, op: Op, known: Known) -> None:
        """Say what is known of the results of an op."""
        for name in op.results:
            self.scope.define(name, known)

    def refuse(
        self, what: str, at: Span | Token, expected: str | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise the error that points at a part of the text."""
        Reader(self.source, at.start).refuse(what, at, expected, hint)


def generic(
    name: str,
    operands: Sequence[Piece],
    attributes: Sequence[Piece | None],
    operand_types: Sequence[Piece],
    result_types: Sequence[Piece],
    *,
    region: str = "",
) -> list[Piece]:
    """An op in MLIR's generic form."""
    return [
        f'"gml_st.{name}"(',
        *listed(operands),
        f"){region}",
        *ending(attributes, operand_types, result_types),
    ]


def ending(
    attributes: Sequence[Piece | None],
    operand_types: Sequence[Piece],
    result_types: Sequence[Piece],
) -> list[Piece]:
    """Return the text behind the regions of an op: attributes, operand types and result types."""
    given = listed(attribute for attribute in attributes if attribute is not None)
    return [
        *([" {", *given, "}"] if given else []),
        " : (",
        *listed(operand_types),
        ") -> (",
        *listed(result_types),
        ")",
    ]


def listed(pieces: Iterable[Piece]) -> list[Piece]:
    """Pieces with commas between them."""
    found: list[Piece] = []
    for piece in pieces:
        found += [", ", piece] if found else [piece]
    return found


def named(token: Token) -> str:
    """A token as a message names it."""
    return f"`{token.text}`" if token.text else "the end of the text"
