"""The placement of a view in its base, as a tile of the base."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ShapeError
from linalg_ext.structured.extension.attributes import integers
from linalg_ext.structured.indices.mixed import (
    STATIC_OFFSETS,
    STATIC_SIZES,
    STATIC_STRIDES,
    mixed,
    segments,
)
from linalg_ext.structured.indices.sizes import sizes_of
from linalg_ext.structured.indices.values import IndexReader
from linalg_ext.structured.utils.place import place_of
from linalg_ext.structured.utils.values import producer
from linalg_ext.structured.views import view_ops
from linalg_ext.symbolic.index_sets import (
    Tile,
    check_within,
    compose,
    convex_union,
    difference_boxes,
    full,
    intersection,
)
from linalg_ext.symbolic.integers import Number, ceildiv, is_eq, maximum, minimum


@dataclass(frozen=True)
class Placement:
    """The position of a view in a base.

    Attributes:
        base: the view or buffer in which the view lies.
        tile: the part of the base, of the base's rank.
        dims: for each dimension of the view the dimension of the base.
    """

    base: ir.Value
    tile: Tile
    dims: tuple[int, ...]


class ViewReader(IndexReader):
    """Reads index values, and where views lie; each once."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: dict[ir.Value, Placement | None] = {}
        self.bases: dict[ir.Value, ir.Value | None] = {}

    def forget(self, view: ir.Value) -> None:
        """Let go of a view that is about to be erased: another value may get its address."""
        self.steps.pop(view, None)
        self.bases.pop(view, None)


def placement(view: ir.Value, read: ViewReader, base: ir.Value | None = None) -> Placement:
    """Return the placement of a view in a base.

    Without a base, it is the farthest one that the view is known to be a rectangle of.

    Raises:
        SubsetError: the view is known to leave its base.
        ArgumentError: one of the ops on the way has no answer, as for views of two buffers.
    """
    found = Placement(view, full(sizes_of(view)), tuple(range(ir.MemRefType(view.type).rank)))
    is_first = True
    while base is None or found.base != base:
        step = step_of(found.base, read)
        if step is None:
            break
        found, is_first = step if is_first else _within(found, step), False
    return found


def shared_base(one: ir.Value, other: ir.Value, read: ViewReader) -> ir.Value | None:
    """The nearest view that both are rectangles of; None where they are of different buffers."""
    bases = set(_bases(one, read))
    return next((each for each in _bases(other, read) if each in bases), None)


def _bases(view: ir.Value, read: ViewReader) -> Iterator[ir.Value]:
    base: ir.Value | None = view
    while base is not None:
        yield base
        if base not in read.bases:
            read.bases[base] = _base_of(base, read)
        base = read.bases[base]


def _base_of(view: ir.Value, read: ViewReader) -> ir.Value | None:
    """The base that `step_of` tells, without the numbers."""
    op = producer(view)
    if op is None or op.name not in _STEPS:
        return None
    if op.name in view_ops.COMBINATIONS:
        one, other = op.operands
        return shared_base(one, other, read)
    source: ir.Value = op.operands[0]
    return source if isinstance(source.type, ir.MemRefType) else None


def _within(inner: Placement, outer: Placement) -> Placement:
    """A tile of a view, as a tile of what the view is of."""
    whole = full(outer.tile.sizes)
    columns = [list(each) for each in (whole.offsets, whole.sizes, whole.strides)]
    numbers = (inner.tile.offsets, inner.tile.sizes, inner.tile.strides)
    for column, given in zip(columns, numbers, strict=True):
        for dim, number in zip(outer.dims, given, strict=True):
            column[dim] = number
    dims = tuple(outer.dims[dim] for dim in inner.dims)
    return Placement(outer.base, compose(Tile(*columns), outer.tile), dims)


def step_of(view: ir.Value, read: ViewReader) -> Placement | None:
    """Return the placement of a view in the source of its op, or in the base of both its sources.

    None where it is no rectangle of that.
    """
    if view not in read.steps:
        op = producer(view)
        is_step = op is not None and op.name in _STEPS
        read.steps[view] = _STEPS[op.name](op, view, read) if op is not None and is_step else None
    return read.steps[view]


def sizes_in(view: ir.Value, read: ViewReader) -> tuple[Number, ...]:
    """The sizes of a view: by its type, else by what it was taken with, else symbols of its own."""
    sizes = sizes_of(view)
    if all(isinstance(size, int) for size in sizes):
        return sizes
    step = step_of(view, read)
    if step is None:
        return sizes
    taken = [step.tile.size(dim) for dim in step.dims]
    return tuple(a if isinstance(a, int) else b for a, b in zip(sizes, taken, strict=True))


def _cast(op: ir.Operation, view: ir.Value, read: ViewReader) -> Placement | None:
    source = op.operands[0]
    if not isinstance(source.type, ir.MemRefType):
        return None
    pairs = zip(sizes_of(view), sizes_in(source, read), strict=True)
    sizes = [a if isinstance(a, int) else b for a, b in pairs]
    return Placement(source, full(sizes), tuple(range(len(sizes))))


def _subview(op: ir.Operation, view: ir.Value, read: ViewReader) -> Placement:
    groups = segments(op, 4)
    names = (STATIC_OFFSETS, STATIC_SIZES, STATIC_STRIDES)
    columns = [
        [read(each) for each in mixed(op, name, name, group)]
        for name, group in zip(names, groups[1:], strict=True)
    ]
    tile = Tile(*columns)
    return Placement(op.operands[0], tile, _kept(op, view))


def _kept(op: ir.Operation, view: ir.Value) -> tuple[int, ...]:
    """The dimensions that a subview keeps: which of several units are dropped its strides tell."""
    gap = ir.ShapedType.get_dynamic_stride_or_offset()
    taken, by = (integers(op.attributes[each], each) for each in (STATIC_SIZES, STATIC_STRIDES))
    source, _ = ir.MemRefType(op.operands[0].type).get_strides_and_offset()
    own, _ = ir.MemRefType(view.type).get_strides_and_offset()
    shape = list(ir.MemRefType(view.type).shape)
    fitting = [
        dims
        for dims in itertools.combinations(range(len(taken)), len(shape))
        if [taken[dim] for dim in dims] == shape
        and all(size == 1 for dim, size in enumerate(taken) if dim not in dims)
    ]
    for dims in fitting:
        steps = [(source[dim], by[dim]) for dim in dims]
        if [gap if gap in step else step[0] * step[1] for step in steps] == own:
            return dims
    return fitting[0]


def _transpose(op: ir.Operation, view: ir.Value, read: ViewReader) -> Placement:
    order = ir.AffineMapAttr(op.attributes["permutation"]).value
    dims = tuple(ir.AffineDimExpr(result).position for result in order.results)
    return Placement(op.operands[0], full(sizes_in(op.operands[0], read)), dims)


def _tile(op: ir.Operation, view: ir.Value, read: ViewReader) -> Placement:
    source, *positions = op.operands
    offsets, sizes = [], []
    wholes = sizes_in(source, read)
    for position, size, whole in zip(positions, view_ops.tile_sizes(op), wholes, strict=True):
        first = minimum(read(position) * size, whole)
        offsets.append(first)
        sizes.append(maximum(0, minimum(size, whole - first)))
    return Placement(source, Tile(offsets, sizes), tuple(range(len(sizes))))


def _slice(op: ir.Operation, view: ir.Value, read: ViewReader) -> Placement:
    columns: list[list[Number]] = [[], [], []]
    dims = []
    for dim, index in enumerate(view_ops.slice_indices(op)):
        if isinstance(index.type, ir.IndexType):
            numbers: tuple[Number, Number, Number] = (read(index), 1, 1)
        else:
            first, end, step = map(read, _range(index, op))
            numbers = (first, maximum(0, ceildiv(end - first, step)), step)
            dims.append(dim)
        for column, number in zip(columns, numbers, strict=True):
            column.append(number)
    tile = Tile(*columns)
    check_within(tile, sizes_in(op.operands[0], read))
    return Placement(op.operands[0], tile, tuple(dims))


def _range(value: ir.Value, op: ir.Operation) -> Sequence[ir.Value]:
    made = producer(value)
    if made is None or made.name != view_ops.RANGE:
        raise ArgumentError(
            "a range is an argument of a block",
            where=place_of(op),
            expected="the result of linalg_ext.range",
            hint="pass its three indices on, and make the range where it is used",
        )
    return list(made.operands)


def _combination(op: ir.Operation, view: ir.Value, read: ViewReader) -> Placement:
    one, other = op.operands
    base = shared_base(one, other, read)
    if base is None:
        raise ArgumentError(
            f"the views of {op.name} may be of two buffers",
            where=place_of(op),
            expected="two views that lead back to one by memref.subview and ops like it",
        )
    first, second = placement(one, read, base), placement(other, read, base)
    _check_aligned(op, first, second)
    boxes = _COMBINE[op.name](_picked(first), _picked(second))
    number = ir.OpResult(view).result_number
    if len(boxes) > len(op.results):
        raise ArgumentError(
            f"{op.name} of views of several strides has {len(boxes)} boxes, not {len(op.results)}",
            where=place_of(op),
            hint="take the difference of views of one stride",
        )
    rank = len(first.dims)
    box = boxes[number] if number < len(boxes) else Tile((0,) * rank, (0,) * rank)
    columns = [list(each) for each in (first.tile.offsets, first.tile.sizes, first.tile.strides)]
    for column, numbers in zip(columns, (box.offsets, box.sizes, box.strides), strict=True):
        for dim, each in zip(first.dims, numbers, strict=True):
            column[dim] = each
    return Placement(base, Tile(*columns), first.dims)


_COMBINE: Mapping[str, Callable[[Tile, Tile], tuple[Tile, ...]]] = MappingProxyType(
    {
        view_ops.INTERSECTION: lambda one, other: (intersection(one, other),),
        view_ops.CONVEX_UNION: lambda one, other: (convex_union(one, other),),
        view_ops.DIFFERENCE: difference_boxes,
    }
)


def _picked(placed: Placement) -> Tile:
    tile = placed.tile
    columns = (tile.offsets, tile.sizes, tile.strides)
    return Tile(*([column[dim] for dim in placed.dims] for column in columns))


def _check_aligned(op: ir.Operation, first: Placement, second: Placement) -> None:
    """Raise `ShapeError` unless two views have the same dimensions of a base, at one place."""
    if first.dims != second.dims:
        raise ShapeError(
            f"the views of {op.name} have dimensions {first.dims} and {second.dims} of what they "
            "are views of",
            where=place_of(op),
            expected="the same, in one order",
            hint="combine the views before they are transposed, or lose a dimension",
        )
    for dim in set(range(first.tile.rank)) - set(first.dims):
        if is_eq(first.tile.offset(dim), second.tile.offset(dim)) is not True:
            raise ShapeError(
                f"the views of {op.name} have no dimension {dim} of what they are views of, and "
                f"are at {first.tile.offset(dim)} and {second.tile.offset(dim)} of it",
                where=place_of(op),
                expected="one place, which is known to be the same",
            )


_STEPS: Mapping[str, Callable[[ir.Operation, ir.Value, ViewReader], Placement | None]] = (
    MappingProxyType(
        {
            "memref.cast": _cast,
            "memref.subview": _subview,
            "memref.transpose": _transpose,
            view_ops.TILE: _tile,
            view_ops.SLICE: _slice,
            view_ops.INTERSECTION: _combination,
            view_ops.CONVEX_UNION: _combination,
            view_ops.DIFFERENCE: _combination,
        }
    )
)
