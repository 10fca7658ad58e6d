"""Gathers and scatters, by rows of indices that only the run knows.

Along indexed dimensions, the operand of a gather and the destination of a scatter stay whole: only
the run knows which places a row reads or writes. Along the rest, windows are cut like the other
tensor. A gather is cut along its rows, too. The rows of a scatter follow one after another, for
several may write to one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from linalg_ext.bindings import arith, ir
from linalg_ext.dialects.gml_st.rules.bodies import on_operands
from linalg_ext.dialects.gml_st.rules.protocol import (
    PARALLEL,
    REDUCTION,
    Domain,
    Pair,
    Rule,
    Take,
    TakeElement,
    Unserved,
    known_size,
    operands_on_parts,
    require_unit_strides,
)
from linalg_ext.structured.destination_ops import Gather, Scatter
from linalg_ext.structured.extension import integers
from linalg_ext.structured.sizes import as_number, overlap, size_of, sizes_of, tensor_type
from linalg_ext.symbolic.index_sets import Point, Tile, tile_of
from linalg_ext.symbolic.integers import Number, at_most, clamped, equal, is_eq, select

_OPERAND, _INDICES, _INIT = range(3)


class GatherRowsRule(Rule):
    """`linalg_ext.gather`. The domain is rows, then the dimensions of the windows.

    Where an index is moved into range depends on the size of the windows, which stay whole.
    """

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self.destinations = (_INIT,)
        self._view = Gather.of(op)

    def _sizes(self) -> Sequence[Number]:
        first, *rest = sizes_of(self._view.init)
        return [known_size(first, size_of(self._view.indices, 0)), *rest]

    def _whole(self, sizes: Sequence[Number]) -> list[int]:
        windows = self._view.windows
        return [
            axis
            for axis in windows.dims[: windows.index_count]
            if axis is not None and is_eq(sizes[axis], 1) is not True
        ]

    def _parts(self, part: Tile) -> Sequence[Tile]:
        windows = self._view.windows
        numbers: list[tuple[Number, Number, Number]] = []
        for dim, axis in enumerate(windows.dims):
            if axis is None or dim < windows.index_count:
                numbers.append((0, size_of(self._view.operand, dim), 1))
            else:
                numbers.append((part.offset(axis), part.size(axis), part.stride(axis)))
        operand = tile_of(numbers)
        rows = Tile((part.offset(0), 0), (part.size(0), windows.index_count), (part.stride(0), 1))
        return operand, rows, part

    def _element(self, point: Point, take: TakeElement) -> list[ir.Value]:
        self._demand_fit()
        view, indices = self._view, []
        for dim, axis in enumerate(view.windows.dims):
            inside: Number = 0 if axis is None else point.indices[axis]
            if dim >= view.windows.index_count:
                indices.append(inside)
                continue
            index = take(_INDICES, Point((point.indices[0], dim)))
            if not isinstance(index.type, ir.IndexType):
                index = arith.IndexCastOp(ir.IndexType.get(), index).result
            window = 1 if axis is None else self.domain.sizes[axis]
            last = size_of(view.operand, dim) - window
            indices.append(clamped(as_number(index), 0, last) + inside)
        return [take(_OPERAND, Point(tuple(indices)))]

    def _equal_sizes(self) -> Iterable[Pair]:
        """There is an index for each row."""
        rows = self.domain.sizes[0]
        return [(size_of(value, 0), rows) for value in (self._view.init, self._view.indices)]

    def _ordered_sizes(self) -> Iterable[Pair]:
        """The sizes of a window and of the operand, in each dimension: no window is larger."""
        sizes = self.domain.sizes
        has_none = equal(sizes[0], 0)
        return [
            (
                select(has_none, 0, 1 if axis is None else sizes[axis]),
                size_of(self._view.operand, dim),
            )
            for dim, axis in enumerate(self._view.windows.dims)
        ]


class GatherRule(Rule):
    """`tensor.gather`."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._gathered = integers(op.attributes["gather_dims"], "gather_dims")
        source = ir.ShapedType(op.operands[0].type).rank
        self._batch = ir.ShapedType(op.operands[1].type).rank - 1
        rank = ir.ShapedType(op.results[0].type).rank - self._batch
        is_reduced = rank != source
        self._axes = [axis for axis in range(source) if not (is_reduced and axis in self._gathered)]
        if len(self._axes) != rank:
            raise Unserved("tensor.gather with a result of this rank")

    def _sizes(self) -> Sequence[Number]:
        rows = sizes_of(self.op.operands[1])[: self._batch]
        return [
            *rows,
            *(
                1 if axis in self._gathered else size_of(self.op.operands[0], axis)
                for axis in self._axes
            ),
        ]

    def _parts(self, part: Tile) -> Sequence[Tile]:
        require_unit_strides(self.op, part)
        offsets: list[Number] = [0] * ir.ShapedType(self.op.operands[0].type).rank
        sizes = list(sizes_of(self.op.operands[0]))
        for dim, axis in enumerate(self._axes, start=self._batch):
            if axis not in self._gathered:
                offsets[axis], sizes[axis] = part.offset(dim), part.size(dim)
        count = size_of(self.op.operands[1], self._batch)
        rows = Tile((*part.offsets[: self._batch], 0), (*part.sizes[: self._batch], count))
        return Tile(offsets, sizes), rows

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        operands = operands_on_parts(parts, self.op.operands, take)
        type_ = tensor_type(part.sizes, self.op.results[0].type)
        return list(on_operands(self.op, operands, [type_]).results)


class ScatterRowsRule(Rule):
    """`linalg_ext.scatter`. The domain is the rows, in order, and the indices of the result."""

    is_cheap = False

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self.destinations = (_INIT,)
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

    def part_for_result(self, result_part: Tile, number: int = 0) -> Tile:
        """The part of the domain that computes a part of the result."""
        rows = self.domain.sizes[0]
        part = Tile(
            (0, *result_part.offsets), (rows, *result_part.sizes), (1, *result_part.strides)
        )
        self.check_part(part)
        return part

    def _parts(self, part: Tile) -> Sequence[Tile]:
        require_unit_strides(self.op, part)
        view, windows = self._view, self._view.windows
        offsets, sizes = [part.offset(0)], [part.size(0)]
        for dim, axis in enumerate(windows.dims):
            if axis is None:
                continue
            length = size_of(view.updates, axis)
            if dim < windows.index_count:
                offsets.append(0)
                sizes.append(length)
                continue
            # One that is longer than the destination is left out whole: no part of it may fit.
            length = select(at_most(length, self.domain.sizes[1 + dim]), length, 0)
            begin, size = overlap(part.offset(1 + dim), part.size(1 + dim), length)
            offsets.append(begin)
            sizes.append(size)
        rows = Tile((part.offset(0), 0), (part.size(0), windows.index_count))
        return rows, Tile(offsets, sizes), self.part_of_result(part)

    def _equal_sizes(self) -> Iterable[Pair]:
        rows = self.domain.sizes[0]
        return [(size_of(value, 0), rows) for value in (self._view.indices, self._view.updates)]


class ScatterRule(Rule):
    """`tensor.scatter`. The domain is the indices of the result; the rows are never cut."""

    is_cheap = False

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self.destinations = (1,)
        self._source, self._init, self._indices = op.operands
        self._scattered = integers(op.attributes["scatter_dims"], "scatter_dims")
        self._batch = ir.ShapedType(self._indices.type).rank - 1
        axes = range(ir.ShapedType(self._init.type).rank)
        window = ir.ShapedType(self._source.type).rank - self._batch
        kept_axes = [axis for axis in axes if axis not in self._scattered]
        self._axes = list(axes) if window == len(axes) else kept_axes
        if len(self._axes) != window:
            raise Unserved("tensor.scatter with a source of this rank")

    def _sizes(self) -> Sequence[Number]:
        return sizes_of(self._init)

    def _whole(self, sizes: Sequence[Number]) -> Sequence[int]:
        return self._scattered

    def _parts(self, part: Tile) -> Sequence[Tile]:
        require_unit_strides(self.op, part)
        own = sizes_of(self._source)
        offsets: list[Number] = [0] * len(own)
        sizes = list(own)
        for dim, axis in enumerate(self._axes, start=self._batch):
            if axis not in self._scattered:
                offsets[dim], sizes[dim] = part.offset(axis), part.size(axis)
        return Tile(offsets, sizes), part, Tile((0,) * (self._batch + 1), sizes_of(self._indices))

    def _equal_sizes(self) -> Iterable[Pair]:
        return [
            (size_of(self._source, dim), size_of(self._init, axis))
            for dim, axis in enumerate(self._axes, start=self._batch)
            if axis not in self._scattered
        ]
