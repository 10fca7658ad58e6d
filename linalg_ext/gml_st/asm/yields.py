"""Terminators of loop bodies, from the text to MLIR's generic form.

    gml_st.yield %r to %tile : tensor<4xf32> to !gml_st.subset<4xf32>
    gml_st.yield %whole, %other : tensor<80xf32>, tensor<8xf32>
    gml_st.set_yield %r into %out[%tile] acc (%new, %old: tensor<4xf32>) {
      ...
      gml_st.yield %sum : tensor<4xf32>
    } : tensor<4xf32> into tensor<8xf32>[!gml_st.subset<4xf32>]

Both take several values, with commas between them. `acc` gives the region that combines the new
value with the old one. In the generic form one region holds all these combinations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from linalg_ext.gml_st.asm.layout import OUTPUT_SLOTS, flag_array, segment_array, slots
from linalg_ext.gml_st.asm.op_reader import Op, Piece, Reading, ending, generic, listed
from linalg_ext.gml_st.asm.renaming import rename_locals
from linalg_ext.gml_st.asm.scope import Known, Region
from linalg_ext.notations.mlir_text import Reader, Span
from linalg_ext.structured.mixed import OPERAND_SEGMENTS


@dataclass(slots=True)
class Accumulator:
    """`acc (%new, %old: tensor<4xf32>) { ... }`: its arguments, and where its body begins, ends."""

    new: Span
    old: Span
    type: Span
    begin: int
    end: int


@dataclass(slots=True)
class Item:
    """One value that is yielded."""

    value: Span
    destination: Span | None = None
    subset: Span | None = None
    accumulator: Accumulator | None = None
    type: Span | None = None
    destination_type: Span | None = None
    subset_type: Span | None = None


def empty_yield(name: str) -> str:
    """A terminator without operands."""
    groups = 2 if name == "yield" else 3
    segments = segment_array(OPERAND_SEGMENTS, [0] * groups * OUTPUT_SLOTS)
    return f'"gml_st.{name}"() ({{}}) {{{segments}, {flag_array(())}}} : () -> ()'


def yield_pieces(
    values: Sequence[Piece],
    types: Sequence[Piece],
    subsets: Sequence[Piece] = (),
    subset_types: Sequence[Piece] = (),
) -> list[Piece]:
    """`gml_st.yield` without accumulators."""
    counts = (len(values), len(subsets))
    segments = [size for count in counts for size in slots(count, OUTPUT_SLOTS)]
    return generic(
        "yield",
        [*values, *subsets],
        [segment_array(OPERAND_SEGMENTS, segments), flag_array([False] * len(values))],
        [*types, *subset_types],
        [],
        region=" ({})",
    )


def read_yield(reading: Reading, op: Op, reader: Reader) -> int:
    """Read `gml_st.yield` or `gml_st.set_yield`, up to its first body if it has one."""
    region = reading.scope.innermost
    region.is_ended = True
    attributes = reading.attributes(reader)
    items = _items(reading, op, reader) if reader.peek().text.startswith("%") else []
    _check(reading, op, items)
    end = reader.position
    if region.collect is not None:
        region.collect(op, items, end)
        return end
    accumulators = [item.accumulator for item in items if item.accumulator is not None]
    if accumulators:
        return _Bodies(reading, op, items, accumulators, attributes, end).open(0)
    operands, types, segments = _operands(op, items)
    given = [
        segment_array(OPERAND_SEGMENTS, segments),
        flag_array([False] * len(items)),
        attributes,
    ]
    reading.change(op.start, end, generic(op.name, operands, given, types, [], region=" ({})"))
    return end


def _items(reading: Reading, op: Op, reader: Reader) -> list[Item]:
    """Read the yielded values. A colon leads to the types of all values since the last colon."""
    items: list[Item] = []
    typed = 0
    while not items or reader.accepts(","):
        items.append(_item(reading, op, reader))
        if reader.accepts(":"):
            for item in items[typed:]:
                if item is not items[typed]:
                    reader.expect(",", f"the types of {op.written}")
                _types(reading, op, reader, item)
            typed = len(items)
    for item in items[typed:]:
        reading.refuse(
            f"{op.written} does not say the type of {item.value.text}",
            item.value,
            hint=f"{op.written} {item.value.text} ... : tensor<4xf32> ...",
        )
    return items


def _check(reading: Reading, op: Op, items: list[Item]) -> None:
    for item in items:
        if (item.subset is None) != (items[0].subset is None):
            reading.refuse(
                f"{op.written} says a subset of some of its values and none of {item.value.text}"
                if item.subset is None
                else f"{op.written} says the subset {item.subset.text} and none of other values",
                item.value,
                "a subset of each value, or none at all for whole tensors",
            )
    if len(items) > OUTPUT_SLOTS:
        reading.refuse(f"{op.written} has {len(items)} values", op.place, f"at most {OUTPUT_SLOTS}")


def _item(reading: Reading, op: Op, reader: Reader) -> Item:
    item = Item(reading.value(reader, op.written))
    if op.name == "set_yield":
        reader.expect("into", op.written)
        item.destination = reading.value(reader, op.written)
        reader.expect("[", op.written)
        item.subset = reading.value(reader, op.written)
        reader.expect("]", op.written)
    elif reader.accepts("to"):
        item.subset = reading.value(reader, op.written)
    if reader.accepts("acc"):
        item.accumulator = _accumulator(reading, op, reader)
    return item


def _accumulator(reading: Reading, op: Op, reader: Reader) -> Accumulator:
    of_what = f"acc of {op.written}"
    reader.expect("(", of_what)
    new = reading.value(reader, of_what)
    reader.expect(",", of_what)
    old = reading.value(reader, of_what)
    reader.expect(":", of_what)
    type_ = reading.type(reader, of_what)
    reader.expect(")", of_what)
    opening = reader.peek()
    if opening.text != "{":
        reader.refuse(f"{of_what} has no body", opening, "{ ... gml_st.yield %combined : ... }")
    return Accumulator(new, old, type_, opening.end, reader.balanced())


def _types(reading: Reading, op: Op, reader: Reader, item: Item) -> None:
    item.type = reading.type(reader, op.written)
    if op.name == "set_yield":
        reader.expect("into", f"the types of {op.written}")
        item.destination_type = reading.type(reader, op.written)
        reader.expect("[", f"the types of {op.written}")
        item.subset_type = reading.said_type(reader, op, item.subset or item.value)
        reader.expect("]", f"the types of {op.written}")
    elif item.subset is not None:
        reader.expect("to", f"the types of {op.written}")
        item.subset_type = reading.said_type(reader, op, item.subset)


def _operands(op: Op, items: list[Item]) -> tuple[list[Span], list[Span], list[int]]:
    """The operands of the generic form, their types, and their segments."""
    groups: list[tuple[list[Span | None], list[Span | None]]] = [
        ([item.value for item in items], [item.type for item in items])
    ]
    if op.name == "set_yield":
        groups.append(
            ([item.destination for item in items], [item.destination_type for item in items])
        )
    groups.append(([item.subset for item in items], [item.subset_type for item in items]))
    values = [[value for value in group if value is not None] for group, _ in groups]
    types = [[type_ for type_ in group if type_ is not None] for _, group in groups]
    segments = [size for group in values for size in slots(len(group), OUTPUT_SLOTS)]
    return [*chain(*values)], [*chain(*types)], segments


class _Bodies:
    """The bodies of `acc` of an op, which become one region."""

    def __init__(
        self,
        reading: Reading,
        op: Op,
        items: list[Item],
        accumulators: list[Accumulator],
        attributes: Span | None,
        end: int,
    ) -> None:
        self._reading = reading
        self._op = op
        self._items = items
        self._accumulators = accumulators
        self._attributes = attributes
        self._end = end
        self._combined: list[Item] = []
        rename_locals(reading, [(each.new.start, each.end) for each in accumulators])

    def open(self, index: int) -> int:
        """Begin to read a body; where that begins."""
        reading, accumulator = self._reading, self._accumulators[index]
        if index == 0:
            operands, _, _ = _operands(self._op, self._items)
            arguments: list[Piece] = []
            for each in self._accumulators:
                arguments += [", "] * bool(arguments)
                arguments += [each.new, ": ", each.type, ", ", each.old, ": ", each.type]
            reading.change(
                self._op.start,
                accumulator.begin,
                [f'"gml_st.{self._op.name}"(', *listed(operands), ") ({ ^bb0(", *arguments, "):"],
            )
        region = Region()
        region.close = lambda at: self._close(index, region, at)
        if len(self._accumulators) > 1:
            region.collect = self._collect
        reading.scope.open(region)
        for name in (accumulator.new, accumulator.old):
            reading.scope.define(name.text, Known(accumulator.type))
        return accumulator.begin

    def _collect(self, op: Op, items: list[Item], end: int) -> None:
        """Take what a body combines; the last one yields it all."""
        if len(items) != 1 or items[0].subset is not None or items[0].accumulator is not None:
            self._reading.refuse(
                f"a body of acc ends with {len(items)} value(s), or with a subset",
                op.place,
                "one value: gml_st.yield %combined : tensor<4xf32>",
            )
        self._combined += items
        is_last = len(self._combined) == len(self._accumulators)
        values = [item.value for item in self._combined]
        types = [item.type for item in self._combined if item.type is not None]
        self._reading.change(op.start, end, yield_pieces(values, types) if is_last else [])

    def _close(self, index: int, region: Region, at: int) -> int:
        reading = self._reading
        is_combined = len(self._combined) > index or len(self._accumulators) == 1
        if not (region.is_ended and is_combined):
            reading.refuse(
                f"a body of acc of {self._op.written} does not end with gml_st.yield",
                Span("}", at, at + 1),
                "gml_st.yield %combined : tensor<4xf32> before this brace",
            )
        if index + 1 < len(self._accumulators):
            reading.change(at, self._accumulators[index + 1].begin, [])
            return self.open(index + 1)
        _, types, segments = _operands(self._op, self._items)
        flags = flag_array([item.accumulator is not None for item in self._items])
        given = [segment_array(OPERAND_SEGMENTS, segments), flags, self._attributes]
        reading.change(at, self._end, ["})", *ending(given, types, [])])
        return self._end
