"""Loops over subsets, from the text to MLIR's generic form: `gml_st.loop`, `for` and `parallel`.

    %s = gml_st.loop (%i, %j) = (%c0, %c0) to (%c80, %c60) step (%c4, %c4)
           ins (%in_ = %in: tensor<80x60xf32>) outs (%out_ = %out: tensor<80xf32>)
           iterators["parallel", "sequential"] distribution["block_x", "none"] { ... }
    %f = gml_st.for (%i) = (%c0) to (%c8) step (%c4) outs (%o_ = %o: tensor<8xf32>) { ... }
    %p = gml_st.parallel (%i) = (%c0) to (%c8) step (%c4) { ... } : tensor<8xf32>

All iterators are parallel where `iterators` is left out. The results of a loop are as its outputs
that are tensors, and may be left out of the text but for `parallel`, which has no outputs of its
own. A body that says nothing of its end ends with a terminator without operands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from linalg_ext.gml_st.asm.layout import (
    DISTRIBUTION,
    INPUT_SLOTS,
    ITERATOR_TYPES,
    OUTPUT_SLOTS,
    RESULT_SEGMENTS,
    segment_array,
    slots,
)
from linalg_ext.gml_st.asm.op_reader import Op, Piece, Reading, TypeText, ending, listed, named
from linalg_ext.gml_st.asm.scope import Known, Region
from linalg_ext.gml_st.asm.yields import empty_yield
from linalg_ext.notations.mlir_text import Reader, Span
from linalg_ext.structured.mixed import OPERAND_SEGMENTS

_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')


@dataclass(slots=True)
class Assignments:
    """`(%in_ = %in: tensor<80x60xf32>, ...)`."""

    arguments: list[Span] = field(default_factory=list)
    operands: list[Span] = field(default_factory=list)
    types: list[Span] = field(default_factory=list)


@dataclass(slots=True)
class Head:
    """A loop up to its body."""

    op: Op
    ivs: list[Span]
    bounds: list[list[Span]]
    inputs: Assignments
    outputs: Assignments
    iterators: list[Piece]
    distribution: list[Piece]


def read_loop(reading: Reading, op: Op, reader: Reader) -> int:
    """Read a loop up to its body; the rest is read where the body ends."""
    return open_body(reading, read_head(reading, op, reader), reader)


def open_body(reading: Reading, head: Head, reader: Reader) -> int:
    """Begin to read the body of a loop; where that begins."""
    op = head.op
    opening = reader.peek()
    if opening.text != "{":
        reader.refuse(
            f"{op.written} cannot have {named(opening)} here",
            opening,
            "the body of the loop: { ... }",
        )
    reader.next()
    pieces: list[Piece] = [f'"gml_st.{op.name}"(', *listed(_operands(head)), ") ({"]
    arguments = [*head.ivs, *head.inputs.arguments, *head.outputs.arguments]
    types: list[Piece] = [*["index"] * len(head.ivs), *head.inputs.types, *head.outputs.types]
    if arguments:
        typed: list[Piece] = []
        for name, type_ in zip(arguments, types, strict=True):
            typed += [", "] * bool(typed)
            typed += [name, ": ", type_]
        pieces += [" ^bb0(", *typed, "):"]
    reading.change(op.start, reader.position, pieces)
    region = Region()
    region.close = lambda end: _close(reading, head, region, end)
    reading.scope.open(region)
    for name, type_ in zip(arguments, types, strict=True):
        reading.scope.define(name.text, Known(type_))
    return reader.position


def read_head(reading: Reading, op: Op, reader: Reader) -> Head:
    """Read a loop from behind its name up to its body."""
    ivs = reading.values(reader, op.written)
    bounds = []
    for word, what in (("=", "lower bounds"), ("to", "upper bounds"), ("step", "steps")):
        reader.expect(word, op.written)
        opening = reader.peek()
        bounds.append(reading.values(reader, f"the {what} of {op.written}"))
        if len(bounds[-1]) != len(ivs):
            reader.refuse(
                f"{op.written} has {len(bounds[-1])} {what} for {len(ivs)} induction variable(s)",
                Span("", opening.start, reader.position),
                "one for each",
            )
    inputs, outputs = Assignments(), Assignments()
    iterators: list[Piece] = []
    distribution: list[Piece] = []
    if op.name == "loop" and reader.accepts("ins"):
        inputs = read_assignments(reading, reader, f"ins of {op.written}", INPUT_SLOTS)
    if op.name != "parallel" and reader.accepts("outs"):
        outputs = read_assignments(reading, reader, f"outs of {op.written}", OUTPUT_SLOTS)
    if op.name == "loop":
        iterators = ['"parallel"'] * len(ivs)
        if reader.accepts("iterators"):
            iterators = _texts(reader, f"iterators of {op.written}", len(ivs))
    if op.name != "for" and reader.accepts("distribution"):
        distribution = _texts(reader, f"distribution of {op.written}", len(ivs))
    return Head(op, ivs, bounds, inputs, outputs, iterators, distribution)


def read_assignments(reading: Reading, reader: Reader, of_what: str, room: int) -> Assignments:
    """Take `(%in_ = %in: T, ...)`.

    Raises:
        ParseError: it is not one, or of more operands than there is room for.
    """
    opening = reader.expect("(", of_what)
    found = Assignments()
    while not reader.accepts(")"):
        if found.types:
            reader.expect(",", of_what)
        found.arguments.append(reading.value(reader, of_what))
        reader.expect("=", of_what)
        found.operands.append(reading.value(reader, of_what))
        reader.expect(":", of_what)
        found.types.append(reading.type(reader, of_what))
    if len(found.types) > room:
        reader.refuse(f"{of_what} has {len(found.types)} operands", opening, f"at most {room}")
    return found


def _texts(reader: Reader, of_what: str, count: int) -> list[Piece]:
    """Take strings in brackets; or, as a later version has it, in parentheses, one for all."""
    opening = reader.next()
    if opening.text not in ("[", "("):
        reader.refuse(f"{of_what} cannot have {named(opening)} here", opening, "`[`")
    closing = "]" if opening.text == "[" else ")"
    found: list[Piece] = []
    while not reader.accepts(closing):
        if found:
            reader.expect(",", of_what)
        token = reader.next()
        if not _TEXT.fullmatch(token.text):
            reader.refuse(
                f"{of_what} cannot have {named(token)} here", token, 'texts, as in ["parallel"]'
            )
        found.append(reader.span(token.start, token.end))
    if opening.text == "(" and len(found) == 1:
        return found * count
    if len(found) != count:
        reader.refuse(
            f"{of_what} has {len(found)} entries for {count} induction variable(s)",
            Span("", opening.start, reader.position),
            "one for each",
        )
    return found


def _operands(head: Head) -> list[Span]:
    bounds = [value for bound in head.bounds for value in bound]
    return [*bounds, *head.inputs.operands, *head.outputs.operands]


def _close(reading: Reading, head: Head, region: Region, end: int) -> int:
    """Read what follows the body of a loop, from the offset of its brace; return the end offset."""
    reader = Reader(reading.source, end + 1)
    attributes = reading.attributes(reader)
    after = reader.position if attributes else end + 1
    op = head.op
    results: list[TypeText] = [
        type_ for type_ in head.outputs.types if not reading.canonical(type_).startswith("memref<")
    ]
    if reader.accepts(":"):
        results = [reading.type(reader, op.written)]
        while reader.accepts(","):
            results.append(reading.type(reader, op.written))
        after = reader.position
    if len(results) > OUTPUT_SLOTS:
        reading.refuse(
            f"{op.written} has {len(results)} results", op.place, f"at most {OUTPUT_SLOTS}"
        )
    yields = "yield" if op.name == "loop" else "set_yield"
    pieces: list[Piece] = []
    if not region.is_ended:
        if results:
            reading.refuse(
                f"the body of {op.written} does not end with gml_st.{yields}, which says what it "
                "gives",
                Span("}", end, end + 1),
                f"gml_st.{yields} before this brace",
            )
        pieces.append(empty_yield(yields) + " ")
    given: list[Piece | None] = [
        _listed_attribute(ITERATOR_TYPES, head.iterators) if op.name == "loop" else None,
        _listed_attribute(DISTRIBUTION, head.distribution) if head.distribution else None,
    ]
    operand_types: list[Piece] = ["index"] * (3 * len(head.ivs))
    operand_types += [*head.inputs.types, *head.outputs.types]
    pieces += [
        "})",
        *ending(
            [
                segment_array(OPERAND_SEGMENTS, _segments(head)),
                segment_array(RESULT_SEGMENTS, slots(len(results), OUTPUT_SLOTS)),
                *given,
                attributes,
            ],
            operand_types,
            results,
        ),
    ]
    reading.change(end, after, pieces)
    for position, result in enumerate(results):
        if position < len(op.results):
            reading.scope.define(op.results[position], Known(result))
    return after


def _segments(head: Head) -> list[int]:
    sizes = [len(head.ivs)] * 3
    if head.op.name == "loop":
        sizes += slots(len(head.inputs.types), INPUT_SLOTS)
    if head.op.name != "parallel":
        sizes += slots(len(head.outputs.types), OUTPUT_SLOTS)
    return sizes


def _listed_attribute(name: str, texts: list[Piece]) -> str:
    return f"{name} = [{', '.join(str(text) for text in texts)}]"
