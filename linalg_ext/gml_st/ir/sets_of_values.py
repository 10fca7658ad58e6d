"""Sets on IR as subsets of the algebra: `subset_of(value)`, relative to the root."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.gml_st.ir.op_views import (
    DropDimsView,
    FilterView,
    FullView,
    PairView,
    PointView,
    SpaceView,
    TileView,
    TransposeDimsView,
)
from linalg_ext.gml_st.ir.roots import called
from linalg_ext.gml_st.ir.types import is_container, subset_shape
from linalg_ext.structured.mixed import Index
from linalg_ext.structured.operands import producer
from linalg_ext.structured.outputs import size_at
from linalg_ext.symbolic.index_sets import (
    Filter,
    Point,
    Subset,
    Tile,
    as_tile,
    compose,
    convex_union,
    difference_boxes,
    drop_dims,
    full,
    intersection,
    transpose_dims,
)
from linalg_ext.symbolic.integers import Number

T = TypeVar("T", Tile, Point)

ToNumber = Callable[[Index], Number]
"""The function that turns an index into a number, or a symbol for it."""


def subset_of(set_: ir.Value, number_of: ToNumber) -> Subset:
    """Return the subset that a set names, relative to its root; for a tensor or memref, all of it.

    Dynamic sizes of a root are read at the current insertion point.

    Raises:
        ArgumentError: the set is made by no op of `gml_st`.
    """
    if is_container(set_.type):
        return full(_sizes(set_, number_of))
    op = producer(set_)
    if op is None or op.name not in _READERS:
        raise ArgumentError(
            f"a set is {called(set_)}",
            expected="the result of an op of gml_st",
            hint="make it where it is used; its offsets and sizes may be arguments",
        )
    return _READERS[op.name](op, set_, number_of)


def _space(op: ir.Operation, _: ir.Value, number_of: ToNumber) -> Subset:
    return full(_numbers(SpaceView.of(op).sizes, number_of))


def _full(op: ir.Operation, _: ir.Value, number_of: ToNumber) -> Subset:
    return full(_sizes(FullView.of(op).source, number_of))


def _filter(op: ir.Operation, _: ir.Value, number_of: ToNumber) -> Subset:
    view = FilterView.of(op)
    return Filter(tuple(_sizes(view.source, number_of)), view.indices)


def _tile(op: ir.Operation, _: ir.Value, number_of: ToNumber) -> Subset:
    view = TileView.of(op)
    numbers = (view.offsets, view.sizes, view.strides)
    tile = Tile(*(_numbers(each, number_of) for each in numbers))
    return _within(tile, view.superset, number_of)


def _point(op: ir.Operation, _: ir.Value, number_of: ToNumber) -> Subset:
    view = PointView.of(op)
    return _within(Point(_numbers(view.indices, number_of)), view.superset, number_of)


def _within(inner: T, superset: ir.Value, number_of: ToNumber) -> T:
    """The same relative to the root: nothing to do where the superset is all of it."""
    op = producer(superset)
    is_root = is_container(superset.type) or (op is not None and op.name in _WHOLES)
    if is_root:
        return inner
    return compose(inner, as_tile(subset_of(superset, number_of)))


_WHOLES = ("gml_st.space", "gml_st.full")


def _drop_dims(op: ir.Operation, _: ir.Value, number_of: ToNumber) -> Subset:
    view = DropDimsView.of(op)
    subset = _rectangle(view.set, number_of)
    dims = view.remaining_dims
    # A tile of a tile, a point of a point: types want one call for each.
    if isinstance(subset, Tile):
        return drop_dims(subset, dims)
    return drop_dims(subset, dims)


def _transpose_dims(op: ir.Operation, _: ir.Value, number_of: ToNumber) -> Subset:
    view = TransposeDimsView.of(op)
    subset = _rectangle(view.set, number_of)
    dims = view.permutation
    if isinstance(subset, Tile):
        return transpose_dims(subset, dims)
    return transpose_dims(subset, dims)


def _rectangle(set_: ir.Value, number_of: ToNumber) -> Tile | Point:
    subset = subset_of(set_, number_of)
    if isinstance(subset, Filter):
        raise ArgumentError("a gml_st.filter is no rectangle", expected="a tile or a point")
    return subset


def _intersection(op: ir.Operation, _: ir.Value, number_of: ToNumber) -> Subset:
    return intersection(*pair_of(op, number_of))


def _convex_union(op: ir.Operation, _: ir.Value, number_of: ToNumber) -> Subset:
    return convex_union(*pair_of(op, number_of))


def _difference(op: ir.Operation, set_: ir.Value, number_of: ToNumber) -> Subset:
    boxes = difference_boxes(*pair_of(op, number_of))
    position = ir.OpResult(set_).result_number
    if len(boxes) > len(op.results):
        raise ArgumentError(
            f"gml_st.difference of sets of several strides has {len(boxes)} boxes, "
            f"not {len(op.results)}",
            hint="take the difference of sets of one stride",
        )
    # A dimension that the second set spans whole leaves fewer boxes: the others are empty.
    rank = subset_shape(set_.type).rank
    return boxes[position] if position < len(boxes) else Tile((0,) * rank, (0,) * rank)


_READERS: dict[str, Callable[[ir.Operation, ir.Value, ToNumber], Subset]] = {
    "gml_st.space": _space,
    "gml_st.full": _full,
    "gml_st.tile": _tile,
    "gml_st.filter": _filter,
    "gml_st.point": _point,
    "gml_st.drop_dims": _drop_dims,
    "gml_st.transpose_dims": _transpose_dims,
    "gml_st.intersection": _intersection,
    "gml_st.convex_union": _convex_union,
    "gml_st.difference": _difference,
}


def pair_of(op: ir.Operation, number_of: ToNumber) -> tuple[Subset, Subset]:
    """The two sets of `gml_st.intersection`, `contains`, ..."""
    view = PairView.of(op)
    return subset_of(view.first, number_of), subset_of(view.second, number_of)


def _numbers(indices: Sequence[Index], number_of: ToNumber) -> list[Number]:
    return [number_of(index) for index in indices]


def _sizes(container: ir.Value, number_of: ToNumber) -> list[Number]:
    rank = subset_shape(container.type).rank
    sizes = (size_at([(container, dim)]) for dim in range(rank))
    return [number_of(size) for size in sizes if size is not None]
