"""Slices of tensors, and their intersections with parts: extract_slice, insert_slice and pad."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.rules.bodies import given_positions
from linalg_ext.dialects.gml_st.rules.protocol import (
    Rule,
    Take,
    TakeElement,
    Unserved,
    require_unit_strides,
)
from linalg_ext.structured.mixed import OPERAND_SEGMENTS, mixed_operands
from linalg_ext.structured.sizes import (
    insert_slice,
    kept_axes,
    mixed_sizes,
    overlap,
    pad_numbers,
    reduced,
    sizes_of,
    slice_numbers,
    tensor_type,
)
from linalg_ext.symbolic.index_sets import Point, Tile, compose
from linalg_ext.symbolic.integers import Number, clamped, equal, is_eq, maximum, select


class _SliceRule(Rule):
    """An op on a slice, whose type may lack axes of the slice of size 1."""

    def __init__(self, op: ir.Operation, before: int, sliced: ir.Value) -> None:
        super().__init__(op)
        offsets, sizes, strides = slice_numbers(op, before)
        self._slice = Tile(offsets, sizes, strides)
        self._kept = kept_axes(op, sliced.type)

    def _without_parts(self) -> tuple[None, ...]:
        return (None,) * len(self.op.operands)


class ExtractSliceRule(_SliceRule):
    """A part of a slice is a slice of the source."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op, 1, op.results[0])

    def _of_source(self, part: Tile) -> Tile:
        wide = self._widened(part.offsets, 0), self._widened(part.sizes, 1)
        return compose(Tile(*wide, self._widened(part.strides, 1)), self._slice)

    def _widened(self, numbers: Sequence[Number], else_: int) -> list[Number]:
        positions = {axis: position for position, axis in enumerate(self._kept)}
        return [
            numbers[positions[axis]] if axis in positions else else_
            for axis in range(self._slice.rank)
        ]

    def _parts(self, part: Tile) -> Sequence[Tile | None]:
        return (self._of_source(part), *self._without_parts()[1:])

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        value = take(0, self._of_source(part))
        return [reduced(value, self._of_source(part).sizes, self._kept)]

    def _element(self, point: Point, take: TakeElement) -> list[ir.Value]:
        tile = self._of_source(Tile(point.indices, (1,) * point.rank))
        return [take(0, Point(tile.offsets))]


class InsertSliceRule(_SliceRule):
    """A part of the destination, with the intersection with the source put in."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op, 2, op.operands[0])
        self.destinations = (1,)
        if any(is_eq(stride, 1) is not True for stride in self._slice.strides):
            raise Unserved("tensor.insert_slice has no rule for slices with strides")

    def _overlap(self, part: Tile) -> tuple[Tile, list[Number]]:
        """The overlap of a part of the result with the slice, and its offsets in the part."""
        require_unit_strides(self.op, part)
        runs, offsets = [], []
        for axis, size in enumerate(self._slice.sizes):
            offset = part.offset(axis) - self._slice.offset(axis)
            run = overlap(offset, part.size(axis), size)
            runs.append(run)
            # An empty run is put in at offset 0, which is in bounds.
            offsets.append(select(equal(run[1], 0), 0, maximum(run[0] - offset, 0)))
        return Tile([run[0] for run in runs], [run[1] for run in runs]), offsets

    def _of_source(self, run: Tile) -> Tile:
        for axis in range(run.rank):
            if axis not in self._kept and is_eq(run.size(axis), 1) is not True:
                raise Unserved(
                    f"whether a part meets the slice along axis {axis}, which the source of "
                    "tensor.insert_slice lacks, is not known"
                )
        return Tile(
            [run.offset(axis) for axis in self._kept], [run.size(axis) for axis in self._kept]
        )

    def _parts(self, part: Tile) -> Sequence[Tile | None]:
        run, _ = self._overlap(part)
        return (self._of_source(run), part, *self._without_parts()[2:])

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        run, offsets = self._overlap(part)
        source = self._of_source(run)
        return [insert_slice(take(0, source), take(1, part), offsets, run.sizes)]


class PadRule(Rule):
    """`tensor.pad`: along each axis `low` padding, the source, `high` padding."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._low, self._high = pad_numbers(op)
        self._source_sizes = sizes_of(op.operands[0])

    def _source(self, part: Tile) -> Tile:
        """The part of the source that a part of the result meets; of size 0 where it does not."""
        require_unit_strides(self.op, part)
        runs = [
            overlap(part.offset(axis) - low, part.size(axis), size)
            for axis, (low, size) in enumerate(zip(self._low, self._source_sizes, strict=True))
        ]
        return Tile([run[0] for run in runs], [run[1] for run in runs])

    def _parts(self, part: Tile) -> Sequence[Tile | None]:
        return (self._source(part), *[None] * (len(self.op.operands) - 1))

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        source = self._source(part)
        lows = [
            clamped(low - offset, 0, size)
            for low, offset, size in zip(self._low, part.offsets, part.sizes, strict=True)
        ]
        highs = [
            size - low - inner
            for size, low, inner in zip(part.sizes, lows, source.sizes, strict=True)
        ]
        value = take(0, source)
        low, high, static_low, static_high = mixed_operands(mixed_sizes(lows), mixed_sizes(highs))
        attributes = {
            "static_low": static_low,
            "static_high": static_high,
            OPERAND_SEGMENTS: ir.DenseI32ArrayAttr.get([1, len(low), len(high)]),
        }
        if "nofold" in self.op.attributes:
            attributes["nofold"] = self.op.attributes["nofold"]
        new = ir.Operation.create(
            self.op.name,
            results=[tensor_type(part.sizes, self.op.results[0].type)],
            operands=[value, *low, *high],
            attributes=attributes,
            regions=1,
        )
        given_positions(self.op, new, part)
        return list(new.results)
