"""Ops of the dialect `linalg_ext` on views: range, slice, tile, and sets of two views."""

# No `from __future__ import annotations`: the bindings read the annotations of these classes.

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ext, ir
from linalg_ext.dialects.linalg_ext.dialect import LinalgExt, is_verified
from linalg_ext.errors import ArgumentError, ArityError, DTypeError
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.structured import views as view_ops
from linalg_ext.structured.indices import IndexReader
from linalg_ext.structured.mixed import OPERAND_SEGMENTS
from linalg_ext.structured.operands import as_values, erased_on_error
from linalg_ext.structured.outputs import all_or_nothing
from linalg_ext.structured.views import (
    ViewReader,
    open_view_type,
    placement,
    shared_base,
    view_type,
)

Given = ir.Value | ir.OpView
Number = int | Given


class IndexRangeType(LinalgExt.Type, name="index_range"):
    """`!linalg_ext.index_range`: a first index, an end, and a step."""


class RangeOp(LinalgExt.Operation, name="range", traits=[ext.Pure]):
    """Indices from a first one to below an end, by a step."""

    first: ext.Operand[ir.IndexType]
    end: ext.Operand[ir.IndexType]
    step: ext.Operand[ir.IndexType]
    result: ext.Result[IndexRangeType]


class _ViewOp(LinalgExt.Operation, traits=[ext.Pure]):
    def verify_invariants(self) -> bool:
        """Return whether the op keeps its rules."""
        return is_verified(self, view_ops.check_view_op)


class SliceOp(_ViewOp, name="slice"):
    """A view at an index or a range along each dimension."""

    view: ext.Operand[Any]
    ranges: Sequence[ext.Operand[IndexRangeType]]
    indices: Sequence[ext.Operand[ir.IndexType]]
    result: ext.Result[Any] = ext.result(kw_only=True)


class TileOp(_ViewOp, name="tile"):
    """One of the tiles that a view is cut into."""

    view: ext.Operand[Any]
    positions: Sequence[ext.Operand[ir.IndexType]]
    result: ext.Result[Any] = ext.result(kw_only=True)


class _BoxOp(_ViewOp):
    first: ext.Operand[Any]
    second: ext.Operand[Any]
    result: ext.Result[Any] = ext.result(kw_only=True)


class IntersectionOp(_BoxOp, name="intersection"):
    """The elements of both of two views."""


class ConvexUnionOp(_BoxOp, name="convex_union"):
    """The smallest rectangle that holds two views."""


class DifferenceOp(_ViewOp, name="difference"):
    """The elements of a view that are not in another."""

    first: ext.Operand[Any]
    second: ext.Operand[Any]
    boxes: Sequence[ext.Result[Any]]


def range_(first: Number, end: Number, step: Number = 1) -> ir.Value:
    """Build `linalg_ext.range`: the indices `first`, `first + step`, ... below `end`.

    Args:
        first, end: integers or values of type index.
        step: 1 or more.

    Raises:
        ArgumentError: one is not an index, or is known to be negative.
    """
    numbers = [_index("range", number) for number in (first, end, step)]
    values = [IndexReader()(number) for number in numbers]
    for name, number, least in zip(("first", "end", "step"), values, (0, 0, 1), strict=True):
        if isinstance(number, int) and number < least:
            raise ArgumentError(f"range: {name} is {number}", expected=f"{least} or more")
    return _build(view_ops.RANGE, numbers, [ir.Type.parse(view_ops.RANGE_TYPE)])[0]


def slice(view: Given, indices: Sequence[Number]) -> ir.Value:
    """Build `linalg_ext.slice`: a view at an index, or at a range, along each dimension.

        >>> slice(a, [range_(0, 8, 2), i])

    Args:
        view: a memref of a strided layout.
        indices: for each dimension an index, which drops it, or the result of `range_`.

    Raises:
        ArgumentError: they do not fit the view, or are known to leave it.
    """
    with all_or_nothing():
        source = _view("slice", view)
        values = [_index("slice", index, ranges=True) for index in _sequence("slice", indices)]
        dropped = [dim for dim, value in enumerate(values) if isinstance(value.type, ir.IndexType)]
        ranges = [value for dim, value in enumerate(values) if dim not in dropped]
        attributes: dict[str, ir.Attribute] = {
            view_ops.DROPPED: ir.DenseI64ArrayAttr.get(dropped),
            OPERAND_SEGMENTS: ir.DenseI32ArrayAttr.get([1, len(ranges), len(dropped)]),
        }
        operands = [source, *ranges, *(values[dim] for dim in dropped)]
        return _placed(view_ops.SLICE, operands, len(ranges), attributes)


def tile(view: Given, positions: Sequence[Number], sizes: Sequence[int]) -> ir.Value:
    """Build `linalg_ext.tile`: tile number `positions` of a view cut into tiles of `sizes`.

        >>> tile(a, [i, j], sizes=[32, 32])

    The last tile along a dimension may be shorter; one behind it is empty.

    Args:
        view: a memref of a strided layout.
        positions: the number of the tile along each dimension, from 0.
        sizes: of all tiles but the last, 1 or more for each dimension.

    Raises:
        ArgumentError: they do not fit the view.
    """
    tile_sizes = [size for size in _sequence("tile", sizes) if isinstance(size, int) and size > 0]
    if len(tile_sizes) != len(sizes):
        raise ArgumentError(f"tile: sizes are {list(sizes)}", expected="integers, 1 or more each")
    attributes: dict[str, ir.Attribute] = {view_ops.SIZES: ir.DenseI64ArrayAttr.get(tile_sizes)}
    with all_or_nothing():
        values = [_index("tile", position) for position in _sequence("tile", positions)]
        return _placed(view_ops.TILE, [_view("tile", view), *values], len(values), attributes)


def intersection(first: Given, second: Given) -> ir.Value:
    """Build `linalg_ext.intersection`: the elements of both of two views of one buffer."""
    return _combined(view_ops.INTERSECTION, first, second, 1)[0]


def convex_union(first: Given, second: Given) -> ir.Value:
    """Build `linalg_ext.convex_union`: the smallest view that holds two views of one buffer."""
    return _combined(view_ops.CONVEX_UNION, first, second, 1)[0]


def difference(first: Given, second: Given) -> tuple[ir.Value, ...]:
    """Build `linalg_ext.difference`: the elements of a view that are not in another of one buffer.

    Disjoint views, two for each dimension; some of them may turn out to be empty.
    """
    rank = ir.ShapedType(_view("difference", first).type).rank
    return tuple(_combined(view_ops.DIFFERENCE, first, second, 2 * rank))


def _combined(name: str, first: Given, second: Given, count: int) -> list[ir.Value]:
    short = name.partition(".")[2]
    values = [_view(short, view) for view in (first, second)]
    types = [ir.MemRefType(value.type) for value in values]
    if types[0].rank == types[1].rank and shared_base(values[0], values[1], ViewReader()) is None:
        raise ArgumentError(
            f"{short}: the views may be of two buffers",
            expected="two views that lead back to one by memref.subview and ops like it",
        )
    return _build(name, values, [open_view_type(types[0], types[0].rank)] * count)


def _placed(
    name: str, operands: list[ir.Value], rank: int, attributes: dict[str, ir.Attribute]
) -> ir.Value:
    """Build an op whose view is a tile of its first operand; its type has all static facts."""
    source = ir.MemRefType(operands[0].type)
    type_ = open_view_type(source, rank)
    (draft,) = _build(name, operands, [type_], attributes)
    # An op is placed by its operands: its type is the last to be known.
    placed = placement(draft, ViewReader(), operands[0])
    tile = placed.tile
    inferred = view_type(source, tile.offsets, tile.sizes, tile.strides, placed.dims)
    if inferred == type_:
        return draft
    ir.OpResult(draft).owner.operation.erase()
    return _build(name, operands, [inferred], attributes)[0]


def _build(
    name: str,
    operands: Sequence[ir.Value],
    types: Sequence[ir.Type],
    attributes: dict[str, ir.Attribute] | None = None,
) -> list[ir.Value]:
    op = ir.Operation.create(
        name, results=list(types), operands=list(operands), attributes=attributes or {}
    )
    if name != view_ops.RANGE:
        with erased_on_error(op, name.partition(".")[2]):
            view_ops.check_view_op(op)
    return list(op.results)


def _view(name: str, operand: Given) -> ir.Value:
    (value,) = as_values(name, [operand])
    ensure_dialects(value.context)
    if not view_ops.is_view(value.type):
        raise DTypeError(
            f"{name}: operand is of type {value.type}",
            expected="a view: a ranked memref of a strided layout",
        )
    return value


def _sequence(name: str, entries: Sequence[Number]) -> Sequence[Number]:
    if isinstance(entries, Sequence) and not isinstance(entries, str):
        return entries
    raise ArityError(
        f"{name}: {entries!r} is not a list", expected="one for each dimension: [i, 0]"
    )


def _index(name: str, index: Number, *, ranges: bool = False) -> ir.Value:
    if isinstance(index, int) and not isinstance(index, bool):
        if index < 0:
            raise ArgumentError(f"{name}: index {index}", expected="0 or more")
        value: ir.Value = arith.constant(ir.IndexType.get(), index)
        ensure_dialects(value.context)
        return value
    (value,) = as_values(name, [index])
    ensure_dialects(value.context)
    if isinstance(value.type, ir.IndexType) or (ranges and str(value.type) == view_ops.RANGE_TYPE):
        return value
    raise DTypeError(
        f"{name}: an index is of type {value.type}",
        expected="an int or an index" + (", or the result of range_" if ranges else ""),
    )
