"""Groups as people write them: what must change in a text for MLIR to read them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from linalg_ext.errors import ParseError
from linalg_ext.gml_st.asm.layout import number_array, segment_array, slots
from linalg_ext.gml_st.asm.loops import Assignments, read_assignments
from linalg_ext.gml_st.asm.op_reader import Piece, Reading, listed, named
from linalg_ext.notations.mlir_text import CodeFilter, Edit, Reader, Span
from linalg_ext.notations.source_text import SourceText
from linalg_ext.structured.group import GROUP_NAMES as GROUPS
from linalg_ext.structured.group import (
    INIT_SLOTS,
    INPUT_SLOTS,
    LABEL,
    OPERAND_SEGMENTS,
    PRESERVE,
    RESULT_SEGMENTS,
    TILING,
    YIELD,
)

_NAME = re.compile(rf'(?<![\w$.#!%@^"-])linalg_ext\.({"|".join((*GROUPS, YIELD))})\b(?!\s*=)')
_YIELD = f"linalg_ext.{YIELD}"
_SIZE = re.compile(r"\d{1,18}")
_FORM = (
    'linalg_ext.group "label" tiling [8, 64] preserve attributes {...} ins(%a = %x: T) '
    "outs(%o = %e: T) { ... linalg_ext.group_yield %r : T }"
)


def changes(source: SourceText) -> list[Edit]:
    """Return the edits by which MLIR can read the groups of a text.

    Raises:
        ParseError: a mistake in one of them; points at it.
    """
    if "linalg_ext." not in source.text:
        return []
    code = CodeFilter(source.text)
    reading = Reading(source)
    edits: list[Edit] = []
    for found in _NAME.finditer(source.text):
        if not code.is_code(found.start()):
            continue
        reader = Reader(source, found.end())
        try:
            if found[1] == YIELD:
                edits.append(_yield(reading, found.start(), reader))
            else:
                edits += _group(reading, found.start(), found[1], reader)
        except ParseError as error:
            error.hint = error.hint or f"write {_FORM}"
            raise
    return edits


def _yield(reading: Reading, start: int, reader: Reader) -> Edit:
    values: list[Span] = []
    types: list[Span] = []
    end = reader.position
    if reader.peek().text.startswith("%"):
        values = [reading.value(reader, _YIELD)]
        while reader.accepts(","):
            values.append(reading.value(reader, _YIELD))
        reader.expect(":", _YIELD)
        types = [reading.type(reader, _YIELD)]
        while reader.accepts(","):
            types.append(reading.type(reader, _YIELD))
        end = reader.position
    if len(types) != len(values) or len(values) > INIT_SLOTS:
        reader.refuse(
            f"{YIELD} has {len(values)} value(s) and {len(types)} type(s)",
            Span("", start, end),
            f"a type for each value, {INIT_SLOTS} at most",
        )
    segments = segment_array(OPERAND_SEGMENTS, slots(len(values), INIT_SLOTS))
    pieces = [f'"linalg_ext.{YIELD}"(', *listed(values), f") {{{segments}}} : ("]
    return Edit(start, end, [*pieces, *listed(types), ") -> ()"])


def _group(reading: Reading, start: int, name: str, reader: Reader) -> Iterator[Edit]:
    """The head of a group, and what follows its body."""
    written = f"linalg_ext.{name}"
    said = [*_said(reader, written), *_notes(reader)]
    ins, outs = Assignments(), Assignments()
    if reader.accepts("ins"):
        ins = read_assignments(reading, reader, f"ins of {written}", INPUT_SLOTS)
    if reader.accepts("outs"):
        outs = read_assignments(reading, reader, f"outs of {written}", INIT_SLOTS)
    opening = reader.peek()
    if opening.text != "{":
        reader.refuse(
            f"{written} cannot have {named(opening)} here",
            opening,
            "the body of the group: { ... }",
        )
    end = reader.balanced()
    types = [*ins.types, *outs.types]
    head: list[Piece] = [f'"linalg_ext.{name}"(', *listed([*ins.operands, *outs.operands])]
    head.append(") ({")
    typed = zip([*ins.arguments, *outs.arguments], types, strict=True)
    arguments: list[list[Piece]] = [[argument, ": ", type_] for argument, type_ in typed]
    if arguments:
        head += [" ^bb0(", *_joined(arguments), "):"]
    yield Edit(start, opening.end, head)
    closing = end - 1
    if not _is_ended(reader.source, opening.end, closing):
        reader.refuse(
            f"the body of {written} does not end with {_YIELD}, which says what it gives",
            Span("}", closing, end),
            f"{_YIELD} before this brace",
        )
    results = _results(reading, reader, outs, written)
    counted = [
        segment_array(
            OPERAND_SEGMENTS,
            [*slots(len(ins.types), INPUT_SLOTS), *slots(len(outs.types), INIT_SLOTS)],
        ),
        segment_array(RESULT_SEGMENTS, slots(len(outs.types), INIT_SLOTS)),
    ]
    given: list[list[Piece]] = [[each] for each in (*said, *counted)]
    tail = ["}) {", *_joined(given), "} : (", *listed(types), ") -> (", *listed(outs.types), ")"]
    yield Edit(closing, results, tail)


def _is_ended(source: SourceText, begin: int, end: int) -> bool:
    """Return whether the terminator of a group stands in its body, not in that of another."""
    reader = Reader(source, begin)
    while (token := reader.peek()).start < end and token.text:
        if token.text.strip('"') == _YIELD:
            return True
        if token.text in ("(", "[", "{", "<"):
            reader.balanced()
        else:
            reader.next()
    return False


def _said(reader: Reader, name: str) -> list[Piece]:
    """The label, the tiling and `preserve`, as attributes."""
    said: list[Piece] = []
    label = reader.peek()
    if label.text.startswith('"'):
        reader.next()
        said += [f"{LABEL} = {label.text}"]
    if reader.accepts(TILING):
        reader.expect("[", TILING)
        sizes: list[int | str] = []
        while not reader.accepts("]"):
            if sizes:
                reader.expect(",", TILING)
            size = reader.next()
            if not _SIZE.fullmatch(size.text):
                reader.refuse(
                    f"the tiling of {name} cannot have {named(size)} here",
                    size,
                    "sizes, as in [8, 64], 0 for a dimension that is not tiled",
                )
            sizes.append(size.text)
        said.append(number_array(TILING, sizes))
    if reader.accepts(PRESERVE):
        said.append(PRESERVE)
    return said


def _notes(reader: Reader) -> list[Piece]:
    if not reader.accepts("attributes"):
        return []
    opening = reader.peek()
    if opening.text != "{":
        reader.refuse(f"attributes cannot have {named(opening)} here", opening, "{name = value}")
    end = reader.balanced()
    inside = reader.span(opening.end, end - 1)
    return [inside] if inside.text.strip() else []


def _results(reading: Reading, reader: Reader, outs: Assignments, name: str) -> int:
    """Check the types of a group's results against its destinations; return where they end."""
    end = reader.position
    if not reader.accepts(":"):
        return end
    types = [reading.type(reader, name)]
    while reader.accepts(","):
        types.append(reading.type(reader, name))
    for type_, expected in zip(types, outs.types, strict=False):
        if _bare(type_) != _bare(expected):
            reader.refuse(
                f"{name} gives {type_.text}", type_, f"the type of its destination: {expected.text}"
            )
    if len(types) != len(outs.types):
        reader.refuse(
            f"{name} gives {len(types)} result(s)",
            types[-1],
            f"one for each destination, which are {len(outs.types)}",
        )
    return reader.position


def _bare(type_: Span) -> str:
    return "".join(type_.text.split())


def _joined(items: Sequence[Sequence[Piece]]) -> list[Piece]:
    pieces: list[Piece] = []
    for item in items:
        pieces += [", ", *item] if pieces else item
    return pieces
