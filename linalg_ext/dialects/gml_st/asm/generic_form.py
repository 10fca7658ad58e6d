"""Ops in MLIR's generic form: taken apart, written another way, and written so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from linalg_ext.dialects.gml_st.ir.op_views import (
    ACCUMULATOR_FLAGS,
    DISTRIBUTION,
    ITERATOR_TYPES,
    PERMUTATION,
    REMAINING_DIMS,
    RESULT_SEGMENTS,
    STATIC_INDICES,
)
from linalg_ext.errors import ParseError
from linalg_ext.notations.mlir_text import CodeFilter, Edit, Reader, Span, apply_edits
from linalg_ext.notations.source_text import SourceText
from linalg_ext.structured.mixed import (
    OPERAND_SEGMENTS,
    STATIC_OFFSETS,
    STATIC_SIZES,
    STATIC_STRIDES,
)

DYNAMIC = -(2**63)
"""Stands in an array of numbers for one that an operand gives."""

GENERATED = frozenset(
    (
        STATIC_OFFSETS,
        STATIC_SIZES,
        STATIC_STRIDES,
        STATIC_INDICES,
        REMAINING_DIMS,
        PERMUTATION,
        ITERATOR_TYPES,
        DISTRIBUTION,
        ACCUMULATOR_FLAGS,
        OPERAND_SEGMENTS,
        RESULT_SEGMENTS,
    )
)
"""The attributes that stand elsewhere in the readable form."""


Piece: TypeAlias = Span | str
"""A part of the source, or new text."""

_ARRAY = re.compile(r"array<i\w+(?::\s*([^>]*))?>")


@dataclass(slots=True)
class Block:
    """The one block of a region.

    Attributes:
        arguments: their names and types.
        body: all behind its label, up to the brace that ends it.
    """

    arguments: list[tuple[str, str]]
    body: Span


@dataclass(slots=True)
class GenericOp:
    """An op in the generic form.

    Attributes:
        name: without its dialect.
        start, end: its place, from its name to its result types.
        block: of its region; None if the region is empty.
        attributes: by name, as they are written.
    """

    name: str
    start: int
    end: int
    operands: list[str]
    block: Block | None
    attributes: dict[str, str]
    types: list[str]
    results: list[str]

    def array(self, name: str) -> list[str]:
        """The entries of an attribute `array<i64: 1, 2>`.

        Raises:
            ValueError: there is none.
        """
        match = _ARRAY.fullmatch(self.attributes.get(name, ""))
        if match is None:
            raise ValueError(name)
        return [entry.strip() for entry in match[1].split(",")] if match[1] else []

    def mixed(self, name: str, values: Sequence[str]) -> str:
        """`[%i, 4]` of the numbers of an attribute and the values in its gaps.

        Raises:
            ValueError: there are more or fewer values than gaps.
        """
        numbers = self.array(name)
        dynamic = iter(values)
        entries = [next(dynamic, "") if number == str(DYNAMIC) else number for number in numbers]
        if len(values) != numbers.count(str(DYNAMIC)):
            raise ValueError(name)
        return f"[{', '.join(entries)}]"

    def segments(self, *rooms: int) -> list[list[tuple[str, str]]]:
        """The operands with their types, in groups of as many segments as are given.

        Raises:
            ValueError: the segments are others, or do not count the operands.
        """
        sizes = [int(size) for size in self.array(OPERAND_SEGMENTS)]
        if len(sizes) != sum(rooms) or sum(sizes) != len(self.operands) or min(sizes) < 0:
            raise ValueError(OPERAND_SEGMENTS)
        counts = iter(sizes)
        values = iter(zip(self.operands, self.types, strict=True))
        return [[*islice(values, sum(islice(counts, room)))] for room in rooms]

    def flags(self, count: int) -> list[bool]:
        """Return for each value whether it is accumulated.

        Without flags, all are accumulated if there is a region.

        Raises:
            ValueError: there are more or fewer flags than values, or flags and region contradict.
        """
        if ACCUMULATOR_FLAGS not in self.attributes:
            return [self.block is not None] * count
        flags = [flag == "true" for flag in self.array(ACCUMULATOR_FLAGS)]
        if len(flags) != count or any(flags) != (self.block is not None):
            raise ValueError(ACCUMULATOR_FLAGS)
        return flags

    @property
    def notes(self) -> str:
        """The attributes that nothing else says, as ` {name = value}`."""
        notes = [
            f"{name} = {value}" if value else name
            for name, value in self.attributes.items()
            if name not in GENERATED
        ]
        return f" {{{', '.join(notes)}}}" if notes else ""


Printer = Callable[[SourceText, GenericOp], Sequence[Span | str]]
"""Writes one op another way. A ValueError leaves it as it is."""


def rewritten(text: str, names: re.Pattern[str], printers: Mapping[str, Printer]) -> str:
    """A text as MLIR prints it, ops in the generic form written another way.

    An op that is not as it must be stays: the generic form shows all of it.

    Args:
        text: of a module.
        names: finds the quoted name of an op that may be written so; its group is the name alone.
        printers: by that name; an op that has none stays.
    """
    source = SourceText(text, "-")
    # Only a string or comment that holds such a name is looked at.
    code = CodeFilter(text)
    edits: list[Edit] = []
    for match in names.finditer(text):
        name = match[1]
        if name not in printers or not code.is_code(match.start()):
            continue
        try:
            op = read_generic(source, match.start(), name)
            edits.append(Edit(op.start, op.end, printers[name](source, op)))
        except (ParseError, ValueError):
            continue
    return apply_edits(source, edits, keeps_lines=False).text


def read_generic(source: SourceText, start: int, name: str) -> GenericOp:
    """Take an op apart.

    Args:
        source: the text.
        start: where its quoted name begins.
        name: without its dialect.

    Raises:
        ParseError: it is not as MLIR prints it.
        ValueError: its region has several blocks.
    """
    reader = Reader(source, source.text.index("(", start))
    operands = [span.text for span in _read_list(reader)]
    block = None
    if reader.accepts("("):
        block = _block(reader)
        reader.expect(")", name)
    attributes = _attributes(reader) if reader.peek().text == "{" else {}
    reader.expect(":", name)
    types = [span.text for span in _read_list(reader)]
    reader.expect("->", name)
    has_several = reader.peek().text == "("
    results = [span.text for span in _read_list(reader)] if has_several else [_type(reader).text]
    if len(types) != len(operands):
        raise ValueError("types")
    return GenericOp(name, start, reader.position, operands, block, attributes, types, results)


def _block(reader: Reader) -> Block | None:
    text = reader.source.text
    begin = reader.peek().end
    end = reader.balanced() - 1
    inner = Reader(reader.source, begin)
    if inner.peek().start == end:
        return None
    arguments: list[tuple[str, str]] = []
    if inner.peek().text.startswith("^"):
        inner.next()
        if inner.accepts("("):
            while not inner.accepts(")"):
                name = inner.next().text
                inner.expect(":", "an argument")
                arguments.append((name, _type(inner).text))
                inner.accepts(",")
        inner.expect(":", "a block")
        begin = inner.position
    body = text[begin:end]
    outside = "".join(text for text, _ in statements(reader.source, begin, end))
    if re.search(r"^\s*\^", outside, re.MULTILINE):
        raise ValueError("blocks")
    return Block(arguments, Span(body, begin, end))


def statements(source: SourceText, begin: int, end: int) -> list[tuple[str, Span]]:
    """The ops of a block as MLIR prints them, each on lines of its own.

    Returns:
        For each, the text outside of brackets, and all of it.
    """
    reader = Reader(source, begin)
    ops: list[tuple[str, Span]] = []
    start, outside = begin, ""

    def finish() -> None:
        if outside:
            end_ = reader.position
            ops.append((outside, Span(source.text[start:end_], start, end_)))

    while (token := reader.peek()).start < end and token.text:
        gap = source.text[reader.position : token.start]
        if "\n" in gap and outside:
            finish()
            start, outside = reader.position, ""
        outside += gap + token.text
        reader.skip()
    finish()
    return ops


def _attributes(reader: Reader) -> dict[str, str]:
    reader.expect("{", "attributes")
    attributes: dict[str, str] = {}
    while not reader.accepts("}"):
        name = reader.next().text
        value = ""
        if reader.accepts("="):
            start = end = reader.peek().start
            while reader.peek().text not in (",", "}", ""):
                end = reader.skip()
            value = reader.source.text[start:end]
        attributes[name] = value
        if reader.peek().text != "}":
            reader.expect(",", "attributes")
    return attributes


def _read_list(reader: Reader) -> list[Span]:
    reader.expect("(", "a list")
    items: list[Span] = []
    while not reader.accepts(")"):
        items.append(_type(reader))
        if reader.peek().text != ")":
            reader.expect(",", "a list")
    return items


def _type(reader: Reader) -> Span:
    token = reader.peek()
    end = reader.balanced() if token.text == "(" else reader.next().end
    if token.text == "(" and reader.accepts("->"):
        end = _type(reader).end
    elif reader.peek().text == "<":
        end = reader.balanced()
    return reader.span(token.start, end)


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
    dictionary = listed(attribute for attribute in attributes if attribute is not None)
    return [
        *([" {", *dictionary, "}"] if dictionary else []),
        " : (",
        *listed(operand_types),
        ") -> (",
        *listed(result_types),
        ")",
    ]


def listed(pieces: Iterable[Piece]) -> list[Piece]:
    """Pieces with commas between them."""
    return joined([piece] for piece in pieces)


def joined(items: Iterable[Sequence[Piece]]) -> list[Piece]:
    """Items of several pieces each, with commas between them."""
    pieces: list[Piece] = []
    for item in items:
        pieces += [", ", *item] if pieces else item
    return pieces


def block_head(arguments: Iterable[tuple[Piece, Piece]]) -> list[Piece]:
    """The label of the one block of a region with its typed arguments; nothing without any."""
    typed = joined([name, ": ", type_] for name, type_ in arguments)
    return [" ^bb0(", *typed, "):"] if typed else []


def slots(count: int, room: int) -> list[int]:
    """The segments of `count` values in optional slots."""
    return [1] * count + [0] * (room - count)


def segment_array(name: str, sizes: Iterable[int]) -> str:
    """`operandSegmentSizes = array<i32: 1, 2>`."""
    return f"{name} = array<i32: {', '.join(map(str, sizes))}>"


def number_array(name: str, numbers: Iterable[int | str]) -> str:
    """`static_sizes = array<i64: 4, 8>`."""
    listed = ", ".join(map(str, numbers))
    return f"{name} = array<i64{': ' if listed else ''}{listed}>"


def flag_array(flags: Iterable[bool]) -> str:
    """`accumulator_flags = array<i1: true, false>`."""
    listed = ", ".join("true" if flag else "false" for flag in flags)
    return f"{ACCUMULATOR_FLAGS} = array<i1{': ' if listed else ''}{listed}>"
