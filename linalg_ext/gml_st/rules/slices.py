"""`tensor.extract_slice` and `tensor.insert_slice`: slices of slices, and what slices meet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from linalg_ext.bindings import ir
from linalg_ext.gml_st.rules.protocol import (
    PARALLEL,
    Domain,
    Rule,
    Take,
    TakeElement,
    Unserved,
    require_unit_strides,
)
from linalg_ext.structured.sizes import (
    insert_slice,
    kept_axes,
    met,
    reduced,
    sizes_of,
    slice_numbers,
)
from linalg_ext.symbolic.index_sets import Point, Tile, compose
from linalg_ext.symbolic.integers import Number, equal, is_eq, maximum, select


class _SliceRule(Rule):
    """An op on a slice, whose type may lack axes of the slice of size 1."""

    def __init__(self, op: ir.Operation, before: int, sliced: ir.Value) -> None:
        super().__init__(op)
        offsets, sizes, strides = slice_numbers(op, before)
        self._slice = Tile(offsets, sizes, strides)
        self._kept = kept_axes(op, sliced.type)

    @cached_property
    def domain(self) -> Domain:
        """The indices of the result."""
        sizes = sizes_of(self.op.results[0])
        return Domain(sizes, (PARALLEL,) * len(sizes))

    def _others(self) -> tuple[None, ...]:
        return (None,) * len(self.op.operands)


class ExtractSliceRule(_SliceRule):
    """A part of a slice is a slice of the source."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op, 1, op.results[0])

    def _of_source(self, part: Tile) -> Tile:
        wide = self._widened(part.offsets, 0), self._widened(part.sizes, 1)
        return compose(Tile(*wide, self._widened(part.strides, 1)), self._slice)

    def _widened(self, numbers: Sequence[Number], else_: int) -> list[Number]:
        places = {axis: at for at, axis in enumerate(self._kept)}
        return [
            numbers[places[axis]] if axis in places else else_ for axis in range(self._slice.rank)
        ]

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """Return the part of each operand that a part of the domain needs."""
        return (self._of_source(part), *self._others()[1:])

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        taken = take(0, self._of_source(part))
        return [reduced(taken, self._of_source(part).sizes, self._kept)]

    def build_element(self, point: Point, take: TakeElement) -> list[ir.Value]:
        """The op at one point, on scalars."""
        tile = self._of_source(Tile(point.indices, (1,) * point.rank))
        return [take(0, Point(tile.offsets))]


class InsertSliceRule(_SliceRule):
    """A part of the result is that of the destination, with what it meets of the source put in."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op, 2, op.operands[0])
        self.destinations = (1,)
        if any(is_eq(stride, 1) is not True for stride in self._slice.strides):
            raise Unserved("tensor.insert_slice has no rule for slices with strides")

    def _met(self, part: Tile) -> tuple[Tile, list[Number]]:
        """The part of the slice that a part of the result meets, and where it goes in the part."""
        require_unit_strides(self.op, part)
        runs, places = [], []
        for axis, size in enumerate(self._slice.sizes):
            offset = part.offset(axis) - self._slice.offset(axis)
            run = met(offset, part.size(axis), size)
            runs.append(run)
            # Where nothing is met, nothing is put in, and that at a place which exists.
            places.append(select(equal(run[1], 0), 0, maximum(run[0] - offset, 0)))
        return Tile([run[0] for run in runs], [run[1] for run in runs]), places

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

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """Return the part of each operand that a part of the domain needs."""
        run, _ = self._met(part)
        return (self._of_source(run), part, *self._others()[2:])

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        run, places = self._met(part)
        source = self._of_source(run)
        return [insert_slice(take(0, source), take(1, part), places, run.sizes)]
