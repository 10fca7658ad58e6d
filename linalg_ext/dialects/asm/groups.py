"""Groups as people write them, turned into MLIR that this build's parser reads, and back.

    %r = linalg_ext.group "softmax" tiling [8, 0] preserve
           ins(%a = %x: tensor<4x4xf32>) outs(%o = %e: tensor<4x4xf32>) {
      %s = linalg.softmax dimension(1) ins(%a : tensor<4x4xf32>)
                                       outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
      linalg_ext.group_yield %s : tensor<4x4xf32>
    }

The name before the equals sign in `ins` and `outs` is the argument of the block. All clauses may be
left out: the label, the tiling, `preserve`, further `attributes {name = value}`, `ins`, `outs`, and
`: tensor<4x4xf32>` behind the body, which says the results once more: they are of the types of
`outs`. `linalg_ext.isolated_group` is written alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from linalg_ext.dialects.gml_st.asm.generic_form import (
    GenericOp,
    Piece,
    block_head,
    ending,
    listed,
    number_array,
    rewritten,
    segment_array,
    slots,
)
from linalg_ext.dialects.gml_st.asm.loops import Assignments, read_assignments
from linalg_ext.dialects.gml_st.asm.reading import Reading
from linalg_ext.errors import ParseError, counted
from linalg_ext.notations.mlir_text import CodeFilter, Edit, Reader, Span
from linalg_ext.notations.source_text import SourceText
from linalg_ext.structured.group import (
    CLAUSES,
    INIT_SLOTS,
    INPUT_SLOTS,
    LABEL,
    OPERAND_SEGMENTS,
    PRESERVE,
    RESULT_SEGMENTS,
    TILING,
    YIELD,
)
from linalg_ext.structured.group import GROUP_NAMES as GROUPS

__all__ = ["changes", "pretty"]


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
    for match in _NAME.finditer(source.text):
        if not code.is_code(match.start()):
            continue
        reader = Reader(source, match.end())
        try:
            if match[1] == YIELD:
                edits.append(_yield(reading, match.start(), reader))
            else:
                edits += _group(reading, match.start(), match[1], reader)
        except ParseError as error:
            error.hint = error.hint or f"write {_FORM}"
            raise
    return edits


def _yield(reading: Reading, start: int, reader: Reader) -> Edit:
    values, types = reading.typed_values(reader, _YIELD)
    end = reader.position
    if len(types) != len(values) or len(values) > INIT_SLOTS:
        reader.refuse(
            f"{YIELD} has {counted(len(values), 'value')} and {counted(len(types), 'type')}",
            Span("", start, end),
            f"a type for each value, {INIT_SLOTS} at most",
        )
    segments = segment_array(OPERAND_SEGMENTS, slots(len(values), INIT_SLOTS))
    pieces = [f'"linalg_ext.{YIELD}"(', *listed(values), ")", *ending([segments], types, [])]
    return Edit(start, end, pieces)


def _group(reading: Reading, start: int, name: str, reader: Reader) -> Iterator[Edit]:
    """The edits of the head of a group and of the text behind its body."""
    written = f"linalg_ext.{name}"
    attributes = [*_clauses(reader, written), *_notes(reader)]
    ins, outs = Assignments(), Assignments()
    if reader.accepts("ins"):
        ins = read_assignments(reading, reader, f"ins of {written}", INPUT_SLOTS)
    if reader.accepts("outs"):
        outs = read_assignments(reading, reader, f"outs of {written}", INIT_SLOTS)
    opening = reader.peek()
    if opening.text != "{":
        reader.refuse_token(written, opening, "the body of the group: { ... }")
    end = reader.balanced()
    types = [*ins.types, *outs.types]
    head: list[Piece] = [f'"linalg_ext.{name}"(', *listed([*ins.operands, *outs.operands])]
    head += [") ({", *block_head(zip([*ins.arguments, *outs.arguments], types, strict=True))]
    yield Edit(start, opening.end, head)
    closing = end - 1
    if not _is_ended(reader.source, opening.end, closing):
        reader.refuse(
            f"the body of {written} does not end with {_YIELD}, which names its results",
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
    tail = ["})", *ending([*attributes, *counted], types, outs.types)]
    yield Edit(closing, results, tail)


def _is_ended(source: SourceText, begin: int, end: int) -> bool:
    """Return whether the terminator of a group stands in its body, not in that of another."""
    reader = Reader(source, begin)
    while (token := reader.peek()).start < end and token.text:
        if token.text.strip('"') == _YIELD:
            return True
        reader.skip()
    return False


def _clauses(reader: Reader, name: str) -> list[Piece]:
    """The label, the tiling and `preserve`, as attributes."""
    clauses: list[Piece] = []
    label = reader.peek()
    if label.text.startswith('"'):
        reader.next()
        clauses += [f"{LABEL} = {label.text}"]
    if reader.accepts(TILING):
        reader.expect("[", TILING)
        sizes: list[int | str] = []
        while not reader.accepts("]"):
            if sizes:
                reader.expect(",", TILING)
            size = reader.next()
            if not _SIZE.fullmatch(size.text):
                expected = "sizes, as in [8, 64], 0 for a dimension that is not tiled"
                reader.refuse_token(f"the tiling of {name}", size, expected)
            sizes.append(size.text)
        clauses.append(number_array(TILING, sizes))
    if reader.accepts(PRESERVE):
        clauses.append(PRESERVE)
    return clauses


def _notes(reader: Reader) -> list[Piece]:
    if not reader.accepts("attributes"):
        return []
    opening = reader.peek()
    if opening.text != "{":
        reader.refuse_token("attributes", opening, "{name = value}")
    end = reader.balanced()
    inside = reader.span(opening.end, end - 1)
    return [inside] if inside.text.strip() else []


def _results(reading: Reading, reader: Reader, outs: Assignments, name: str) -> int:
    """Check the types of a group's results against its destinations; return where they end."""
    end = reader.position
    if not reader.accepts(":"):
        return end
    types = reading.types(reader, name)
    for type_, expected in zip(types, outs.types, strict=False):
        if _bare(type_) != _bare(expected):
            reader.refuse(
                f"{name} gives {type_.text}", type_, f"the type of its destination: {expected.text}"
            )
    if len(types) != len(outs.types):
        reader.refuse(
            f"{name} gives {counted(len(types), 'result')}",
            types[-1],
            f"one for each destination, which are {len(outs.types)}",
        )
    return reader.position


def _bare(type_: Span) -> str:
    return "".join(type_.text.split())


_GENERIC = re.compile(rf'"linalg_ext\.({"|".join((*GROUPS, YIELD))})"(?=\()')
_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_WIDE = 100
"""Columns of a line; operands that need more have a line each."""

_STEP = 4
"""By how many blanks the clauses stand behind the line that a group begins in."""


def pretty(text: str) -> str:
    """A text as MLIR prints it, its groups as people write them."""
    if '"linalg_ext.' not in text:
        return text
    return rewritten(
        text, _GENERIC, {**dict.fromkeys(GROUPS, _printed_group), YIELD: _printed_yield}
    )


def _printed_yield(_: SourceText, op: GenericOp) -> list[Span | str]:
    (values,) = op.segments(INIT_SLOTS)
    named, types = ", ".join(op.operands), ", ".join(op.types)
    return [f"linalg_ext.{YIELD} {named} : {types}" if values else f"linalg_ext.{YIELD}"]


def _printed_group(source: SourceText, op: GenericOp) -> list[Span | str]:
    if op.block is None:
        raise ValueError(op.name)
    ins, outs = op.segments(INPUT_SLOTS, INIT_SLOTS)
    arguments = [name for name, _ in op.block.arguments]
    if len(arguments) != len(ins) + len(outs) or op.results != [type_ for _, type_ in outs]:
        raise ValueError(op.name)
    begin = source.text.rfind("\n", 0, op.start) + 1
    line = source.text[begin : op.start]
    clause = "\n" + " " * (len(line) - len(line.lstrip()) + _STEP)
    pieces: list[Span | str] = [f"linalg_ext.{op.name}{_printed_attributes(op)}"]
    for word, group, names in (
        ("ins", ins, arguments[: len(ins)]),
        ("outs", outs, arguments[len(ins) :]),
    ):
        if group:
            operands = [f"{n} = {v}: {t}" for n, (v, t) in zip(names, group, strict=True)]
            short = f"{clause}{word}({', '.join(operands)})"
            between = f",{clause} {' ' * len(word)}"
            is_long = len(short) > _WIDE
            pieces.append(f"{clause}{word}({between.join(operands)})" if is_long else short)
    return [*pieces, " {", op.block.body, "}"]


def _printed_attributes(op: GenericOp) -> str:
    """Return the attributes of a group: its label, its tiling, `preserve`, and the others."""
    text = ""
    if LABEL in op.attributes:
        text += f" {op.attributes[LABEL]}"
    if TILING in op.attributes:
        text += f" {TILING} [{', '.join(op.array(TILING))}]"
    if PRESERVE in op.attributes:
        text += f" {PRESERVE}"
    if op.attributes.get(PRESERVE) or not _TEXT.fullmatch(op.attributes.get(LABEL, '""')):
        raise ValueError(op.name)
    notes = [f"{n} = {v}" if v else n for n, v in op.attributes.items() if n not in CLAUSES]
    return text + (f" attributes {{{', '.join(notes)}}}" if notes else "")
