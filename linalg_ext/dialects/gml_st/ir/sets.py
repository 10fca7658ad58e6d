"""Sets on live IR: their roots, the values they depend on, and subsets of the algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.ir.op_views import (
    DIMS_OPS,
    DimsView,
    FilterView,
    PairView,
    PointView,
    SpaceView,
    TileView,
    operand_of,
)
from linalg_ext.dialects.gml_st.ir.types import is_container, is_element, is_whole, subset_shape
from linalg_ext.errors import ArgumentError
from linalg_ext.structured.mixed import Index, Size
from linalg_ext.structured.operands import producer
from linalg_ext.structured.sizes import size_at
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


def called(value: ir.Value) -> str:
    """Return the description of a value for errors: its name is unknown while text is parsed."""
    op = producer(value)
    if op is None:
        return f"argument {ir.BlockArgument(value).arg_number} of the block"
    return f"the result of {op.name}"


def root_of(set_: ir.Value) -> ir.Value | None:
    """The tensor or memref that a set is of, or the result of `gml_st.space`.

    None where it is of a space that no value stands for (after `gml_st.drop_dims`, ...), or
    where the set comes from somewhere else.
    """
    # The bindings take a while to give the type of a set: it is asked for last.
    op = producer(set_)
    if op is not None and op.name in _OF_THE_SAME_ROOT:
        superset = operand_of(op, 0)
        return superset if is_container(superset.type) else root_of(superset)
    is_root = op is not None and op.name == "gml_st.space"
    return set_ if is_root or is_container(set_.type) else None


_OF_THE_SAME_ROOT = frozenset(
    f"gml_st.{name}"
    for name in ("full", "filter", "tile", "point", "intersection", "convex_union", "difference")
)
"""Ops that give sets of the root of their first operand."""


def root_sizes(set_: ir.Value) -> tuple[Size, ...] | None:
    """The sizes of the whole that a set is a part of, those that are known; None if none is.

    Those of a `gml_st.space` are numbers alone: a value is dynamic, as in a type.
    """
    root = root_of(set_)
    if root is not None:
        return subset_shape(root.type).sizes
    op = producer(set_)
    if op is None:
        return None
    if op.name in DIMS_OPS:
        view = DimsView.of(op)
        sizes = root_sizes(view.set)
        return None if sizes is None else tuple(sizes[dim] for dim in view.dims)
    if op.name in ("gml_st.tile", "gml_st.point"):
        return root_sizes(op.operands[0])
    return None


def rank_of(set_: ir.Value) -> int | None:
    """The number of dimensions of a set; None for an element that comes from somewhere else."""
    if not is_element(set_.type):
        return subset_shape(set_.type).rank
    op = producer(set_)
    if op is not None and op.name == "gml_st.point":
        return rank_of(PointView.of(op).superset)
    return len(DimsView.of(op).dims) if op is not None and op.name in DIMS_OPS else None


def is_filter(set_: ir.Value) -> bool:
    """Return whether a set is one of `gml_st.filter`, whose elements are not a rectangle."""
    op = producer(set_)
    return op is not None and op.name == "gml_st.filter"


def dependences(value: ir.Value, arguments: Sequence[ir.Value]) -> set[int]:
    """On which of some arguments of a block a value depends, by their positions.

    All of them where that cannot be told: behind an op with regions, an argument of a block inside,
    or another argument of the same block, whose elements an iteration may have changed.
    """
    if not arguments:
        return set()
    block = _home(arguments[0])
    depended: set[int] = set()
    visited: set[ir.Value] = set()
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if current in visited:
            continue
        visited.add(current)
        op = producer(current)
        if op is None:
            own = {position for position, argument in enumerate(arguments) if argument == current}
            if not own and is_inside(_home(current), block):
                return set(range(len(arguments)))
            depended |= own
        elif is_inside(op.block, block):
            if len(op.regions):
                return set(range(len(arguments)))
            waiting += _read_operands(op)
    return depended


_READ_SHAPES = ("gml_st.tile", "gml_st.point", "gml_st.full", "tensor.dim", "memref.dim")


def _read_operands(op: ir.Operation) -> list[ir.Value]:
    """The operands whose values the results depend on: not operands whose shape alone is read."""
    if op.name == "gml_st.filter":
        return [FilterView.of(op).indices]
    reads_shapes = op.name in _READ_SHAPES
    return [operand for operand in op.operands if not (reads_shapes and is_container(operand.type))]


def is_defined_inside(value: ir.Value, block: ir.Block) -> bool:
    """Return whether a value is an argument of a block or of one inside it, or made in one."""
    return is_inside(_home(value), block)


def _home(value: ir.Value) -> ir.Block:
    """The block that has a value as an argument, or contains its op."""
    owner = value.owner
    return owner if isinstance(owner, ir.Block) else owner.operation.block


def is_inside(inner: ir.Block, outer: ir.Block) -> bool:
    """Return whether a block is another one, or in a region inside that."""
    while inner != outer:
        owner = inner.owner
        if owner is None or owner.operation.name in ("builtin.module", "func.func"):
            return False
        inner = owner.operation.block
    return True


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
    subset = None if op is None else _subset_made(op, set_, number_of)
    if subset is None:
        raise ArgumentError(
            f"a set is {called(set_)}",
            expected="the result of an op of gml_st",
            hint="make it where it is used; its offsets and sizes may be arguments",
        )
    return subset


def _subset_made(op: ir.Operation, set_: ir.Value, number_of: ToNumber) -> Subset | None:
    """The subset that an op creates; None if it creates no sets."""
    match op.name:
        case "gml_st.space":
            return full(_numbers(SpaceView.of(op).sizes, number_of))
        case "gml_st.full":
            return full(_sizes(operand_of(op, 0), number_of))
        case "gml_st.filter":
            filter_ = FilterView.of(op)
            return Filter(tuple(_sizes(filter_.source, number_of)), filter_.indices)
        case "gml_st.tile":
            tile = TileView.of(op)
            numbers = (tile.offsets, tile.sizes, tile.strides)
            inner = Tile(*(_numbers(indices, number_of) for indices in numbers))
            return _relative_to_root(inner, tile.superset, number_of)
        case "gml_st.point":
            point = PointView.of(op)
            return _relative_to_root(
                Point(_numbers(point.indices, number_of)), point.superset, number_of
            )
        case "gml_st.drop_dims" | "gml_st.transpose_dims":
            view = DimsView.of(op)
            subset = _rectangle(view.set, number_of)
            rearrange = drop_dims if op.name == "gml_st.drop_dims" else transpose_dims
            # A tile of a tile, a point of a point: types want one call for each.
            if isinstance(subset, Tile):
                return rearrange(subset, view.dims)
            return rearrange(subset, view.dims)
        case "gml_st.intersection":
            return intersection(*pair_of(op, number_of))
        case "gml_st.convex_union":
            return convex_union(*pair_of(op, number_of))
        case "gml_st.difference":
            return _difference(op, set_, number_of)
    return None


def _relative_to_root(inner: T, superset: ir.Value, number_of: ToNumber) -> T:
    """The same relative to the root: nothing to do where the superset is all of it."""
    if is_whole(superset):
        return inner
    return compose(inner, as_tile(subset_of(superset, number_of)))


def _rectangle(set_: ir.Value, number_of: ToNumber) -> Tile | Point:
    subset = subset_of(set_, number_of)
    if isinstance(subset, Filter):
        raise ArgumentError("a gml_st.filter is not a rectangle", expected="a tile or a point")
    return subset


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
