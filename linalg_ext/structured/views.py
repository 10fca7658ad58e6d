"""Views of buffers: the place of each in its source, and the memory that it covers.

Upstream's ops on memrefs that move no element, and those of ours that it lacks. The algebra is that
of `linalg_ext.symbolic.index_sets`: every view that is a rectangle of another is a tile of it.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from linalg_ext.bindings import ir, memref
from linalg_ext.errors import (
    ArgumentError,
    ArgumentTypeError,
    ArityError,
    DTypeError,
    ShapeError,
    counted,
)
from linalg_ext.structured.extension import integers
from linalg_ext.structured.indices import Emitter, IndexReader
from linalg_ext.structured.interface_dispatch import as_value
from linalg_ext.structured.maps import groups_of, place_of
from linalg_ext.structured.mixed import (
    STATIC_SIZES,
    STATIC_STRIDES,
    Index,
    mixed_operands,
    segments,
    type_shape,
)
from linalg_ext.structured.operands import producer, static_sizes
from linalg_ext.structured.sizes import SizeEmitter, sizes_of, slice_numbers
from linalg_ext.symbolic.index_sets import (
    Tile,
    check_within,
    compose,
    convex_union,
    difference_boxes,
    full,
    intersection,
)
from linalg_ext.symbolic.integers import (
    Number,
    Operand,
    Symbol,
    any_of,
    as_number,
    at_most,
    ceildiv,
    is_eq,
    maximum,
    minimum,
    select,
    substitute,
)


def view_type(
    source: ir.MemRefType,
    offsets: Sequence[object],
    sizes: Sequence[object],
    strides: Sequence[object],
    dims: Sequence[int] | None = None,
) -> ir.MemRefType:
    """The type of a tile of a memref, as `memref.subview` infers it; values are dynamic.

    Args:
        dims: those that the view keeps, in ascending order; all of them where left out.
    """
    gap = ir.ShapedType.get_dynamic_stride_or_offset()
    source_strides, offset = source.get_strides_and_offset()
    view_strides = [
        gap if stride == gap or not isinstance(by, int) else stride * by
        for stride, by in zip(source_strides, strides, strict=True)
    ]
    for number, stride in zip(offsets, source_strides, strict=True):
        if isinstance(number, int) and number == 0:
            continue
        if isinstance(number, int) and gap not in (stride, offset):
            offset += number * stride
        else:
            offset = gap
    dims_of_view = range(len(sizes)) if dims is None else dims
    layout = ir.StridedLayoutAttr.get(offset, [view_strides[dim] for dim in dims_of_view])
    shape = type_shape([sizes[dim] for dim in dims_of_view])
    return ir.MemRefType.get(shape, source.element_type, layout, source.memory_space)


def tile_view(
    source: ir.Value,
    offsets: Sequence[Index],
    sizes: Sequence[Index],
    strides: Sequence[Index] | None = None,
    dims: Sequence[int] | None = None,
) -> ir.Value:
    """Build `memref.subview` of a tile; see `view_type`. The strides are 1 where left out."""
    steps = [1] * len(sizes) if strides is None else strides
    type_ = view_type(ir.MemRefType(source.type), offsets, sizes, steps, dims)
    view: ir.Value = memref.SubViewOp(type_, source, *mixed_operands(offsets, sizes, steps)).result
    return view


def open_view_type(source: ir.MemRefType, rank: int) -> ir.MemRefType:
    """The type of a view of which nothing is known but its rank, its elements and its memory."""
    gap = ir.ShapedType.get_dynamic_stride_or_offset()
    layout = ir.StridedLayoutAttr.get(gap, [gap] * rank)
    shape = type_shape([None] * rank)
    return ir.MemRefType.get(shape, source.element_type, layout, source.memory_space)


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
    """Return whether a type is a view's: a ranked memref whose layout is strides and an offset."""
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
        raise ArityError(
            f"the op has {counted(len(op.operands), 'operand')}", expected=f"{at + 1} or more"
        )
    return _checked(op.operands[at].type, f"operand {at}")


def _checked(type_: ir.Type, subject: str) -> ir.MemRefType:
    if not isinstance(type_, ir.MemRefType) or not _is_strided(type_):
        raise DTypeError(
            f"{subject} is of type {type_}",
            expected="a view: a ranked memref of a strided layout",
            hint="tensors are values, of which tensor.extract_slice takes parts"
            if isinstance(type_, ir.RankedTensorType)
            else None,
        )
    return type_


def _check_alike(
    type_: ir.MemRefType, other: ir.MemRefType, subject: str, other_subject: str, rank: int
) -> None:
    if type_.element_type != other.element_type or type_.memory_space != other.memory_space:
        raise DTypeError(
            f"{subject} is of type {type_}",
            expected=f"the elements and the memory of {other_subject}: {other}",
        )
    if type_.rank != rank:
        raise ShapeError(f"{subject} is of type {type_}", expected=f"rank {rank}")


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
    placed = Placement(view, full(sizes_of(view)), tuple(range(ir.MemRefType(view.type).rank)))
    is_first = True
    while base is None or placed.base != base:
        step = step_of(placed.base, read)
        if step is None:
            break
        placed, is_first = step if is_first else _composed(placed, step), False
    return placed


def shared_base(first: ir.Value, other: ir.Value, read: ViewReader) -> ir.Value | None:
    """The nearest view that both are rectangles of; None where they are of different buffers."""
    bases = set(_bases(first, read))
    return next((base for base in _bases(other, read) if base in bases), None)


def _bases(view: ir.Value, read: ViewReader) -> Iterator[ir.Value]:
    base: ir.Value | None = view
    while base is not None:
        yield base
        if base not in read.bases:
            read.bases[base] = _base_of(base, read)
        base = read.bases[base]


def _base_of(view: ir.Value, read: ViewReader) -> ir.Value | None:
    op = producer(view)
    if op is None or op.name not in _STEPS:
        return None
    if op.name in COMBINATIONS:
        first, other = op.operands
        return shared_base(first, other, read)
    source: ir.Value = op.operands[0]
    return source if isinstance(source.type, ir.MemRefType) else None


def _composed(inner: Placement, outer: Placement) -> Placement:
    """A tile of a view, as a tile of the view's source."""
    part = _with_dims(full(outer.tile.sizes), outer.dims, inner.tile)
    dims = tuple(outer.dims[dim] for dim in inner.dims)
    return Placement(outer.base, compose(part, outer.tile), dims)


def _with_dims(tile: Tile, dims: Sequence[int], part: Tile) -> Tile:
    """A tile with the numbers of `part` in some dimensions."""
    columns = [list(column) for column in (tile.offsets, tile.sizes, tile.strides)]
    for column, numbers in zip(columns, (part.offsets, part.sizes, part.strides), strict=True):
        for dim, number in zip(dims, numbers, strict=True):
            column[dim] = number
    return Tile(*columns)


def step_of(view: ir.Value, read: ViewReader) -> Placement | None:
    """Return the placement of a view in the source of its op, or in the base of both its sources.

    None where it is not a rectangle of that.
    """
    if view not in read.steps:
        op = producer(view)
        is_step = op is not None and op.name in _STEPS
        read.steps[view] = _STEPS[op.name](op, view, read) if op is not None and is_step else None
    return read.steps[view]


def sizes_in(view: ir.Value, read: ViewReader) -> tuple[Number, ...]:
    """The sizes of a view: by its type, else by the operands of its op, else symbols of its own."""
    sizes = sizes_of(view)
    if all(isinstance(size, int) for size in sizes):
        return sizes
    step = step_of(view, read)
    if step is None:
        return sizes
    tile_sizes = [step.tile.size(dim) for dim in step.dims]
    return tuple(a if isinstance(a, int) else b for a, b in zip(sizes, tile_sizes, strict=True))


def _cast(op: ir.Operation, view: ir.Value, read: ViewReader) -> Placement | None:
    source = op.operands[0]
    if not isinstance(source.type, ir.MemRefType):
        return None
    pairs = zip(sizes_of(view), sizes_in(source, read), strict=True)
    sizes = [a if isinstance(a, int) else b for a, b in pairs]
    return Placement(source, full(sizes), tuple(range(len(sizes))))


def _subview(op: ir.Operation, view: ir.Value, read: ViewReader) -> Placement:
    return Placement(op.operands[0], Tile(*slice_numbers(op, read=read)), _kept_dims(op, view))


def _kept_dims(op: ir.Operation, view: ir.Value) -> tuple[int, ...]:
    """The dimensions that a subview keeps: which of several units are dropped its strides tell."""
    gap = ir.ShapedType.get_dynamic_stride_or_offset()
    sizes, by = (integers(op.attributes[name], name) for name in (STATIC_SIZES, STATIC_STRIDES))
    source, _ = ir.MemRefType(op.operands[0].type).get_strides_and_offset()
    own, _ = ir.MemRefType(view.type).get_strides_and_offset()
    shape = list(ir.MemRefType(view.type).shape)
    fitting = [
        dims
        for dims in itertools.combinations(range(len(sizes)), len(shape))
        if [sizes[dim] for dim in dims] == shape
        and all(size == 1 for dim, size in enumerate(sizes) if dim not in dims)
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
    for position, size, whole in zip(positions, tile_sizes(op), wholes, strict=True):
        first = minimum(read(position) * size, whole)
        offsets.append(first)
        sizes.append(maximum(0, minimum(size, whole - first)))
    return Placement(source, Tile(offsets, sizes), tuple(range(len(sizes))))


def _slice(op: ir.Operation, view: ir.Value, read: ViewReader) -> Placement:
    columns: list[list[Number]] = [[], [], []]
    dims = []
    for dim, index in enumerate(slice_indices(op)):
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


def _range(value: ir.Value, user: ir.Operation) -> Sequence[ir.Value]:
    op = producer(value)
    if op is None or op.name != RANGE:
        raise ArgumentError(
            "a range is an argument of a block",
            where=place_of(user),
            expected="the result of linalg_ext.range",
            hint="pass its three indices on, and make the range where it is used",
        )
    return list(op.operands)


def _combination(op: ir.Operation, view: ir.Value, read: ViewReader) -> Placement:
    first_view, other = op.operands
    base = shared_base(first_view, other, read)
    if base is None:
        raise ArgumentError(
            f"the views of {op.name} may be of two buffers",
            where=place_of(op),
            expected="two views that lead back to one by memref.subview and ops like it",
        )
    first, second = placement(first_view, read, base), placement(other, read, base)
    _check_aligned(op, first, second)
    boxes = _COMBINE[op.name](_tile_of_view(first), _tile_of_view(second))
    number = ir.OpResult(view).result_number
    if len(boxes) > len(op.results):
        raise ArgumentError(
            f"{op.name} of views of several strides has {len(boxes)} boxes, not {len(op.results)}",
            where=place_of(op),
            hint="take the difference of views of one stride",
        )
    rank = len(first.dims)
    box = boxes[number] if number < len(boxes) else Tile((0,) * rank, (0,) * rank)
    return Placement(base, _with_dims(first.tile, first.dims, box), first.dims)


_COMBINE: Mapping[str, Callable[[Tile, Tile], tuple[Tile, ...]]] = {
    INTERSECTION: lambda *tiles: (intersection(*tiles),),
    CONVEX_UNION: lambda *tiles: (convex_union(*tiles),),
    DIFFERENCE: difference_boxes,
}


def _tile_of_view(placed: Placement) -> Tile:
    tile = placed.tile
    columns = (tile.offsets, tile.sizes, tile.strides)
    return Tile(*([column[dim] for dim in placed.dims] for column in columns))


def _check_aligned(op: ir.Operation, first: Placement, second: Placement) -> None:
    """Raise `ShapeError` unless two views have the same dimensions of a base, at one place."""
    if first.dims != second.dims:
        raise ShapeError(
            f"the views of {op.name} have dimensions {first.dims} and {second.dims} of their "
            "buffer",
            where=place_of(op),
            expected="the same, in one order",
            hint="combine the views before they are transposed, or lose a dimension",
        )
    for dim in set(range(first.tile.rank)) - set(first.dims):
        if is_eq(first.tile.offset(dim), second.tile.offset(dim)) is not True:
            raise ShapeError(
                f"the views of {op.name} have no dimension {dim} of their buffer, and "
                f"are at {first.tile.offset(dim)} and {second.tile.offset(dim)} of it",
                where=place_of(op),
                expected="one place, which is known to be the same",
            )


_STEPS: Mapping[str, Callable[[ir.Operation, ir.Value, ViewReader], Placement | None]] = {
    "memref.cast": _cast,
    "memref.subview": _subview,
    "memref.transpose": _transpose,
    TILE: _tile,
    SLICE: _slice,
    **dict.fromkeys(COMBINATIONS, _combination),
}


_SOMEWHERE = 1 << 40
"""An address for arrays that are never read."""


@dataclass(frozen=True, repr=False)
class CoveredMemory:
    """The bytes of a buffer that a view covers.

    Element `[i, j]` of the view begins `offset + i * strides[0] + j * strides[1]` bytes behind the
    first element of the buffer, as those of a NumPy array do.

    Attributes:
        buffer: the buffer that the view leads back to: an argument, an allocation, ...
        shape: how many elements the view has along each dimension.
        offset, strides: in bytes; numbers need not be known.
        element_bytes: the size of an element.
        base: the farthest view that this one is a rectangle of; the buffer, but for reshapes.
        tile: which part of the base, in elements of it; for each dimension of the base.
    """

    buffer: ir.Value
    shape: tuple[Number, ...]
    offset: Number
    strides: tuple[Number, ...]
    element_bytes: int
    base: ir.Value
    tile: Tile

    @property
    def is_known(self) -> bool:
        """Return whether all of its numbers are known."""
        return all(isinstance(n, int) for n in (self.offset, *self.shape, *self.strides))

    def replaced(self, values: Mapping[Any, Operand]) -> CoveredMemory:
        """The same with numbers put in for some of its symbols, by key: an `ir.Value`, mostly."""

        def put(numbers: Sequence[Number]) -> tuple[Number, ...]:
            return tuple(substitute(number, values) for number in numbers)

        (offset,) = put([self.offset])
        tile = Tile(put(self.tile.offsets), put(self.tile.sizes), put(self.tile.strides))
        return replace(
            self, shape=put(self.shape), offset=offset, strides=put(self.strides), tile=tile
        )

    def elements(self) -> Iterator[int]:
        """Return the position of each element, in bytes from the first element of the buffer.

        Raises:
            ArgumentError: a number is not known.
        """
        first, shape, strides = self._numbers()
        ranges = [[k * by for k in range(size)] for size, by in zip(shape, strides, strict=True)]
        return (first + sum(offsets) for offsets in itertools.product(*ranges))

    def overlaps(self, other: CoveredMemory) -> bool | None:
        """Return whether some byte belongs to both; None if unknown.

        Views of different buffers may overlap: the answer is None.
        """
        if self.buffer != other.buffer or not (self.is_known and other.is_known):
            return None
        return np.shares_memory(self._array(), other._array())

    def _array(self) -> np.ndarray[Any, Any]:
        """An array of the same layout somewhere, not to be read."""
        first, shape, strides = self._numbers()
        interface = {
            "version": 3,
            "data": (_SOMEWHERE + first, True),
            "shape": shape,
            "strides": strides,
            "typestr": f"|V{self.element_bytes}",
        }
        return np.asarray(type("Layout", (), {"__array_interface__": interface})())

    def _numbers(self) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        numbers: list[int] = []
        for number in (self.offset, *self.shape, *self.strides):
            if not isinstance(number, int):
                raise ArgumentError(
                    f"{number} is not known, of a view of {self}",
                    hint="put values in for its symbols with `replaced`",
                )
            numbers.append(number)
        rank = len(self.shape)
        return numbers[0], tuple(numbers[1 : 1 + rank]), tuple(numbers[1 + rank :])

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape)) or "one element"
        strides = ", ".join(map(str, self.strides))
        return (
            f"{shape} of {self.element_bytes} bytes, from byte {self.offset}, strides [{strides}]"
            f"; {self.tile} of {self.base.type}"
        )


def covered_memory(view: ir.Value | ir.OpView) -> CoveredMemory:
    """Return the memory that a view covers: a memref, through any number of view ops.

    The ops that are followed are `memref.subview`, `cast`, `transpose`, `expand_shape`,
    `collapse_shape`, `view` and `reshape`, and the ops of `linalg_ext` on views. The result of any
    other op counts as a buffer.

    Raises:
        ArgumentTypeError: the value is not a memref of a strided layout.
        ArgumentError: a view on the way is known to leave its source.
    """
    value = as_value(view)
    if not is_view(value.type):
        raise ArgumentTypeError(
            f"a value of type {value.type} covers no memory that is known",
            expected="a view: a ranked memref of a strided layout",
            hint="tensors have memory after bufferization: take the step bufferize() first"
            if isinstance(value.type, ir.RankedTensorType)
            else None,
        )
    read = ViewReader()
    with value.context:
        placed, layout = placement(value, read), _layout(value, read)
    return CoveredMemory(
        layout.buffer,
        layout.shape,
        layout.offset,
        layout.strides,
        _bytes_of(value),
        placed.base,
        placed.tile,
    )


@dataclass(frozen=True)
class _Layout:
    buffer: ir.Value
    shape: tuple[Number, ...]
    offset: Number
    strides: tuple[Number, ...]


@dataclass(frozen=True)
class _StrideOf:
    """The key of a symbol: the stride of a buffer, in elements, which its type does not say."""

    buffer: ir.Value
    axis: int


def _layout(view: ir.Value, read: ViewReader) -> _Layout:
    step = step_of(view, read)
    if step is not None:
        of_base = _layout(step.base, read)
        moved = zip(step.tile.offsets, of_base.strides, strict=True)
        offset = of_base.offset + sum((at * by for at, by in moved), start=as_number(0))
        return _Layout(
            of_base.buffer,
            tuple(step.tile.size(dim) for dim in step.dims),
            offset,
            tuple(step.tile.stride(dim) * of_base.strides[dim] for dim in step.dims),
        )
    op = producer(view)
    if op is not None and op.name in _RESHAPES:
        return _RESHAPES[op.name](op, view, read)
    return _Layout(view, sizes_of(view), 0, _own_strides(view))


def _own_strides(view: ir.Value) -> tuple[Number, ...]:
    """The strides of a buffer by its type, in bytes."""
    type_ = ir.MemRefType(view.type)
    bytes_ = _bytes_of(view)
    if type_.affine_map == ir.AffineMap.get_identity(type_.rank):
        return _row_major(sizes_of(view), bytes_)
    gap = ir.ShapedType.get_dynamic_stride_or_offset()
    strides, _ = type_.get_strides_and_offset()
    return tuple(
        Symbol(_StrideOf(view, axis), name=f"stride {axis}").number * bytes_
        if stride == gap
        else stride * bytes_
        for axis, stride in enumerate(strides)
    )


def _row_major(sizes: Sequence[Number], stride: Number) -> tuple[Number, ...]:
    """The strides of dimensions in row-major order, where the last one has `stride`."""
    strides: list[Number] = []
    for size in reversed(sizes):
        strides.insert(0, stride)
        stride = stride * size
    return tuple(strides)


def _expanded(op: ir.Operation, view: ir.Value, read: ViewReader) -> _Layout:
    source = _layout(op.operands[0], read)
    sizes_of_view = sizes_of(view)
    sizes = iter(list(op.operands)[1:])
    shape = tuple(size if isinstance(size, int) else read(next(sizes)) for size in sizes_of_view)
    strides: list[Number] = []
    for group, stride in zip(groups_of(op), source.strides, strict=True):
        strides += _row_major([shape[dim] for dim in group], stride)
    if not source.strides:
        strides = [_bytes_of(view)] * len(shape)
    return replace(source, shape=shape, strides=tuple(strides))


def _collapsed(op: ir.Operation, view: ir.Value, read: ViewReader) -> _Layout:
    source = _layout(op.operands[0], read)
    shape, strides = [], []
    for group in groups_of(op):
        shape.append(reduce(operator.mul, [source.shape[dim] for dim in group], as_number(1)))
        # The stride of a dimension of one element is arbitrary: the last longer dimension counts.
        longer = [dim for dim in group if source.shape[dim] != 1] or list(group)
        strides.append(source.strides[longer[-1]])
    return replace(source, shape=tuple(shape), strides=tuple(strides))


def _reshaped(op: ir.Operation, view: ir.Value, read: ViewReader) -> _Layout:
    source = _layout(op.operands[0], read)
    sizes = sizes_of(view)
    return replace(source, shape=sizes, strides=_row_major(sizes, _bytes_of(view)))


def _viewed(op: ir.Operation, view: ir.Value, read: ViewReader) -> _Layout:
    buffer, shift, *dynamic = op.operands
    source, sizes = _layout(buffer, read), iter(dynamic)
    shape = tuple(size if isinstance(size, int) else read(next(sizes)) for size in sizes_of(view))
    strides = _row_major(shape, _bytes_of(view))
    return replace(source, shape=shape, offset=source.offset + read(shift), strides=strides)


def _bytes_of(view: ir.Value) -> int:
    return _element_bytes(ir.MemRefType(view.type).element_type)


def _element_bytes(type_: ir.Type) -> int:
    """Return the bytes between two neighbours of a type in memory, as LLVM lays them out."""
    if isinstance(type_, ir.VectorType):
        count = int(np.prod(type_.shape))
        # A vector takes as much as its elements, up to a power of two.
        return 1 << max(0, count * _element_bytes(type_.element_type) - 1).bit_length()
    if isinstance(type_, ir.ComplexType):
        return 2 * _element_bytes(type_.element_type)
    if isinstance(type_, ir.IndexType):
        return 8
    if isinstance(type_, ir.IntegerType | ir.FloatType):
        bits = type_.width
        return 1 << max(0, (bits + 7) // 8 - 1).bit_length()
    raise ArgumentTypeError(f"elements of type {type_} have no size that is known")


_RESHAPES: Mapping[str, Callable[[ir.Operation, ir.Value, ViewReader], _Layout]] = {
    "memref.expand_shape": _expanded,
    "memref.collapse_shape": _collapsed,
    "memref.reshape": _reshaped,
    "memref.view": _viewed,
}


def subview(placed: Placement, emitter: Emitter | None = None) -> ir.Value:
    """A part of a memref as a view of its own, at the insertion point.

    Args:
        emitter: the emitter of its numbers, which knows those that were computed before.

    Raises:
        ArgumentError: its dimensions are not in the order of those that it is a part of.
    """
    if list(placed.dims) != sorted(placed.dims):
        raise ArgumentError(
            f"the view has dimensions {placed.dims} of its buffer",
            expected="ascending ones",
            hint="combine the views before they are transposed",
        )
    tile = placed.tile
    # Upstream refuses an empty tile at the end.
    is_empty = any_of(*(at_most(size, 0) for size in tile.sizes))
    firsts = [select(is_empty, 0, offset) for offset in tile.offsets]
    emitter = SizeEmitter() if emitter is None else emitter
    offsets, sizes, strides = map(emitter.mixed, (firsts, tile.sizes, tile.strides))
    return tile_view(placed.base, offsets, sizes, strides, placed.dims)
