"""The ops of `linalg_ext` on views, as they are read: names, attributes, rules.

    range         first, end and step of indices: a value that `slice` takes
    slice         a view at an index or a range along each dimension; an index drops the dimension
    tile          one of the tiles that a view is cut into, by its number along each dimension
    intersection  the elements of both of two views of one buffer
    convex_union  the smallest rectangle that holds both
    difference    the elements of the first that are not in the second: a list of views

The origin is the list of metadata ops in MLIR's linalg documents of 2020 and 2024.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, ShapeError
from linalg_ext.structured.extension.attributes import integers
from linalg_ext.structured.indices.mixed import segments
from linalg_ext.structured.utils.operands import static_sizes

RANGE = "linalg_ext.range"
SLICE = "linalg_ext.slice"
TILE = "linalg_ext.tile"
INTERSECTION = "linalg_ext.intersection"
CONVEX_UNION = "linalg_ext.convex_union"
DIFFERENCE = "linalg_ext.difference"

COMBINATIONS = frozenset({INTERSECTION, CONVEX_UNION, DIFFERENCE})
VIEW_OPS = frozenset({SLICE, TILE, *COMBINATIONS})
"""The ops that give views."""

RANGE_TYPE = "!linalg_ext.index_range"
SIZES, DROPPED = "sizes", "dropped_dims"


def is_view(type_: ir.Type) -> bool:
    """Return whether a type is that of a view: a ranked memref whose layout is strides and an
    offset.
    """
    return isinstance(type_, ir.MemRefType) and _is_strided(type_)


def _is_strided(type_: ir.MemRefType) -> bool:
    try:
        type_.get_strides_and_offset()
    except (ir.MLIRError, RuntimeError, ValueError):
        return False
    return True


def tile_sizes(op: ir.Operation) -> tuple[int, ...]:
    """The sizes of the tiles that `linalg_ext.tile` cuts its view into.

    Raises:
        ArgumentError: they are missing, too many or too few, or not positive.
    """
    if SIZES not in op.attributes:
        raise ArgumentError(f"{SIZES} is missing", expected="array<i64: ...>")
    sizes = integers(op.attributes[SIZES], SIZES)
    rank = _view(op, 0).rank
    if len(sizes) != rank or any(size < 1 for size in sizes):
        raise ArgumentError(
            f"{SIZES} are {list(sizes)}", expected=f"{rank} numbers, each of them 1 or more"
        )
    return sizes


def slice_indices(op: ir.Operation) -> list[ir.Value]:
    """Return the operand of each dimension of a `linalg_ext.slice`: an index or a range.

    An index drops its dimension.

    Raises:
        ArgumentError: `dropped_dims` does not fit the view, or the indices.
    """
    _, ranges, indices = segments(op, 3)
    dropped = integers(op.attributes[DROPPED], DROPPED) if DROPPED in op.attributes else ()
    rank = _view(op, 0).rank
    fits = list(dropped) == sorted({dim for dim in dropped if 0 <= dim < rank})
    if not fits or len(dropped) != len(indices) or len(ranges) + len(indices) != rank:
        raise ArityError(
            f"{DROPPED} = {list(dropped)} with {len(ranges)} ranges and {len(indices)} indices",
            expected=f"an index for each dimension that is dropped, a range for each other of the "
            f"{rank}",
        )
    left, right = iter(ranges), iter(indices)
    return [next(right) if dim in dropped else next(left) for dim in range(rank)]


def check_view_op(op: ir.Operation) -> None:
    """Raise `ArgumentError` unless an op keeps the rules of its kind."""
    source = _view(op, 0)
    if op.name in COMBINATIONS:
        other = _view(op, 1)
        if len(op.operands) != 2:
            raise ArityError(f"the op has {len(op.operands)} operands", expected="two views")
        _check_alike(other, source, "the second view", "the first", source.rank)
        rank, count = source.rank, 2 * source.rank if op.name == DIFFERENCE else 1
    elif op.name == SLICE:
        kinds = [str(value.type) for value in slice_indices(op)]
        rank, count = kinds.count(RANGE_TYPE), 1
    else:
        tile_sizes(op)
        if len(op.operands) != source.rank + 1:
            raise ArityError(
                f"{len(op.operands) - 1} positions for a view of rank {source.rank}",
                expected="one for each dimension",
            )
        rank, count = source.rank, 1
    if len(op.results) != count:
        raise ArityError(f"the op gives {len(op.results)} views", expected=f"{count}")
    for result in op.results:
        _check_alike(_checked(result.type, "a result"), source, "a result", "the view", rank)
    if op.name == TILE:
        for size, tile in zip(static_sizes(op.results[0]), tile_sizes(op), strict=True):
            if size is not None and size > tile:
                raise ShapeError(f"a result of size {size} of a tile of size {tile}")


def _view(op: ir.Operation, at: int) -> ir.MemRefType:
    if at >= len(op.operands):
        raise ArityError(f"the op has {len(op.operands)} operand(s)", expected=f"{at + 1} or more")
    return _checked(op.operands[at].type, f"operand {at}")


def _checked(type_: ir.Type, what: str) -> ir.MemRefType:
    if not isinstance(type_, ir.MemRefType) or not _is_strided(type_):
        raise DTypeError(
            f"{what} is of type {type_}",
            expected="a view: a ranked memref of a strided layout",
            hint="tensors are values, of which tensor.extract_slice takes parts"
            if isinstance(type_, ir.RankedTensorType)
            else None,
        )
    return type_


def _check_alike(
    one: ir.MemRefType, other: ir.MemRefType, what: str, wanted: str, rank: int
) -> None:
    if one.element_type != other.element_type or one.memory_space != other.memory_space:
        raise DTypeError(
            f"{what} is of type {one}", expected=f"the elements and the memory of {wanted}: {other}"
        )
    if one.rank != rank:
        raise ShapeError(f"{what} is of type {one}", expected=f"rank {rank}")
