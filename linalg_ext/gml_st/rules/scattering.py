"""`linalg_ext.scatter` and `tensor.scatter`: all rows one after another, on a part of each window.

Only the run knows where a row writes, and rows may write to the same place: along what is indexed
the destination stays whole. Along the rest, windows and destination are cut alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from linalg_ext.bindings import ir
from linalg_ext.gml_st.rules.bodies import on_operands
from linalg_ext.gml_st.rules.demands import demand, known_size
from linalg_ext.gml_st.rules.protocol import (
    PARALLEL,
    REDUCTION,
    Domain,
    Rule,
    Take,
    Unserved,
    require_unit_strides,
)
from linalg_ext.structured.destination_ops import Scatter
from linalg_ext.structured.extension import integers
from linalg_ext.structured.sizes import met, size_of, sizes_of
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import Number, at_most, select

INDICES, UPDATES, INIT = range(3)


class ScatterRowsRule(Rule):
    """`linalg_ext.scatter`. The domain is the rows, in order, and the indices of the result."""

    is_cheap = False

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self.destinations = (INIT,)
        self._view = Scatter.of(op)

    @cached_property
    def domain(self) -> Domain:
        """Rows, then the indices of the result."""
        view = self._view
        rows = known_size(size_of(view.updates, 0), size_of(view.indices, 0))
        sizes = (rows, *sizes_of(view.init))
        kinds = (REDUCTION, *(PARALLEL,) * (len(sizes) - 1))
        return Domain(sizes, kinds, frozenset(range(1, 1 + view.windows.index_count)))

    def part_of_result(self, part: Tile, number: int = 0) -> Tile:
        """The part of the result that a part of the domain computes."""
        return Tile(part.offsets[1:], part.sizes[1:], part.strides[1:])

    def part_for_result(self, wanted: Tile, number: int = 0) -> Tile:
        """The part of the domain that computes a part of the result."""
        rows = self.domain.sizes[0]
        part = Tile((0, *wanted.offsets), (rows, *wanted.sizes), (1, *wanted.strides))
        self.check_part(part)
        return part

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """Return the part of each operand that a part of the domain needs."""
        self.check_part(part)
        require_unit_strides(self.op, part)
        view, windows = self._view, self._view.windows
        offsets, sizes = [part.offset(0)], [part.size(0)]
        for dim, place in enumerate(windows.dims):
            if place is None:
                continue
            length = size_of(view.updates, place)
            if dim < windows.index_count:
                offsets.append(0)
                sizes.append(length)
                continue
            # One that is longer than the destination is left out whole: no part of it may fit.
            length = select(at_most(length, self.domain.sizes[1 + dim]), length, 0)
            begin, size = met(part.offset(1 + dim), part.size(1 + dim), length)
            offsets.append(begin)
            sizes.append(size)
        rows = Tile((part.offset(0), 0), (part.size(0), windows.index_count))
        return rows, Tile(offsets, sizes), self.part_of_result(part)

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        parts = self.operand_parts(part)
        rows = self.domain.sizes[0]
        demand(
            self.op,
            equal=[(size_of(each, 0), rows) for each in (self._view.indices, self._view.updates)],
        )
        operands = [take(at, each) for at, each in enumerate(parts) if each is not None]
        return list(on_operands(self.op, operands, [operands[INIT].type]).results)


class ScatterRule(Rule):
    """`tensor.scatter`. The domain is the indices of the result; the rows are never cut."""

    is_cheap = False

    _SOURCE, _INIT, _INDICES = range(3)

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self.destinations = (self._INIT,)
        self._source, self._init, self._indices = op.operands
        self._scattered = integers(op.attributes["scatter_dims"], "scatter_dims")
        self._batch = ir.ShapedType(self._indices.type).rank - 1
        axes = range(ir.ShapedType(self._init.type).rank)
        window = ir.ShapedType(self._source.type).rank - self._batch
        kept = [axis for axis in axes if axis not in self._scattered]
        self._axes = list(axes) if window == len(axes) else kept
        if len(self._axes) != window:
            raise Unserved("tensor.scatter with a source of this rank")

    @cached_property
    def domain(self) -> Domain:
        """The indices of the result."""
        sizes = sizes_of(self._init)
        return Domain(sizes, (PARALLEL,) * len(sizes), frozenset(self._scattered))

    def part_for_result(self, wanted: Tile, number: int = 0) -> Tile:
        """The part of the domain that computes a part of the result."""
        self.check_part(wanted)
        return wanted

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """Return the part of each operand that a part of the domain needs."""
        self.check_part(part)
        require_unit_strides(self.op, part)
        own = sizes_of(self._source)
        offsets: list[Number] = [0] * len(own)
        sizes = list(own)
        for at, axis in enumerate(self._axes, start=self._batch):
            if axis not in self._scattered:
                offsets[at], sizes[at] = part.offset(axis), part.size(axis)
        return Tile(offsets, sizes), part, Tile((0,) * (self._batch + 1), sizes_of(self._indices))

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        parts = self.operand_parts(part)
        demand(self.op, equal=self._equal_sizes())
        operands = [take(at, each) for at, each in enumerate(parts) if each is not None]
        return list(on_operands(self.op, operands, [operands[self._INIT].type]).results)

    def _equal_sizes(self) -> Sequence[tuple[Number, Number]]:
        return [
            (size_of(self._source, at), size_of(self._init, axis))
            for at, axis in enumerate(self._axes, start=self._batch)
            if axis not in self._scattered
        ]
