"""The sizes of tensors as numbers, from where the tensors come rather than from the tensors.

A size that is taken from an op's operands outlives the op: fusion can then let go of the op.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from linalg_ext.bindings import ir, memref, tensor
from linalg_ext.structured.constants import integer_constant, result_of
from linalg_ext.structured.extension import integers
from linalg_ext.structured.indices import Emitter, IndexReader
from linalg_ext.structured.maps import groups_of
from linalg_ext.structured.mixed import (
    STATIC_OFFSETS,
    STATIC_SIZES,
    STATIC_STRIDES,
    Index,
    mixed,
    mixed_operands,
    segments,
    type_shape,
)
from linalg_ext.structured.operands import producer
from linalg_ext.symbolic.index_sets import Tile, full
from linalg_ext.symbolic.integers import (
    Number,
    Symbol,
    clamped,
    equal,
    product,
    select,
    substitute,
    symbols_of,
)


@dataclass(frozen=True)
class SizeOf:
    """The key of a symbol: the size of a tensor or memref, which no value stands for yet."""

    tensor: ir.Value
    axis: int

    def __str__(self) -> str:
        return f"size of dimension {self.axis}"


def sizes_of(value: ir.Value) -> tuple[Number, ...]:
    """The sizes of a ranked tensor or memref."""
    return tuple(size_of(value, axis) for axis in range(ir.ShapedType(value.type).rank))


def size_of(value: ir.Value, axis: int) -> Number:
    """The size of a tensor or memref along an axis: a number, a value's, or a `SizeOf` symbol."""
    shape = ir.ShapedType(value.type)
    if not shape.is_dynamic_dim(axis):
        return shape.get_dim_size(axis)
    op = producer(value) if isinstance(value.type, ir.RankedTensorType) else None
    step = None if op is None else _made_size(op, value, axis)
    return Symbol(SizeOf(value, axis), lower=0).number if step is None else step


def dim_of(value: ir.Value, axis: int) -> ir.Value:
    """Build `tensor.dim` or `memref.dim` at the current insertion point."""
    op = tensor.DimOp if isinstance(value.type, ir.RankedTensorType) else memref.DimOp
    size: ir.Value = op(value, integer_constant(ir.IndexType.get(), axis)).result
    return size


def size_at(axes: Iterable[tuple[ir.Value, int]]) -> ir.Value | int | None:
    """The one size of several axes of operands: a number where one of them is static.

    Else a value made at the current insertion point; None where there is no place.
    """
    dynamic: tuple[ir.Value, int] | None = None
    for value, axis in axes:
        shape = ir.ShapedType(value.type)
        if not shape.is_dynamic_dim(axis):
            return shape.get_dim_size(axis)
        dynamic = dynamic or (value, axis)
    return None if dynamic is None else dim_of(*dynamic)


def by_origin(number: Number) -> Number:
    """The number by the sizes of the values that all else is computed from, in the place of ops
    that ask for sizes.

    Two sizes that come from one tensor are then equal, by whatever way they were read.
    """
    origins: dict[Hashable, Number] = {}
    for symbol in symbols_of(number):
        key = _size_read_by(symbol.key) if isinstance(symbol.key, ir.Value) else symbol.key
        if isinstance(key, SizeOf):
            op = producer(key.tensor)
            is_buffer = op is not None and op.name == "bufferization.to_tensor"
            size = size_of(op.operands[0] if op is not None and is_buffer else key.tensor, key.axis)
            if size != symbol.number:
                origins[symbol.key] = by_origin(size)
    return substitute(number, dict(origins)) if origins else number


def _size_read_by(value: ir.Value) -> SizeOf | None:
    """The size that `tensor.dim` or `memref.dim` reads; None for other values."""
    op = producer(value)
    if op is None or op.name not in ("tensor.dim", "memref.dim"):
        return None
    axis = as_number(op.operands[1])
    return SizeOf(op.operands[0], axis) if isinstance(axis, int) else None


def with_dims(number: Number) -> Number:
    """The number with an op that reads it in the place of each `SizeOf`, at the insertion point."""
    dims: dict[Hashable, Symbol] = {}
    for symbol in symbols_of(number):
        key = symbol.key
        if isinstance(key, SizeOf) and key not in dims:
            dims[key] = Symbol(dim_of(key.tensor, key.axis), lower=0)
    return substitute(number, dict(dims)) if dims else number


class SizeEmitter(Emitter):
    """An emitter that asks for the sizes of tensors and memrefs too, for each of them once."""

    def _symbol(self, symbol: Symbol) -> ir.Value:
        key = symbol.key
        if isinstance(key, SizeOf) and key not in self._values:
            self._values[key] = dim_of(key.tensor, key.axis)
        return super()._symbol(symbol)


def mixed_sizes(sizes: Sequence[Number]) -> list[Index]:
    """Sizes as the builders of ops take them: integers, and values at the insertion point."""
    return [mixed_size(size) for size in sizes]


def split_sizes(sizes: Sequence[Number]) -> tuple[list[int], list[ir.Value]]:
    """Sizes as the builders of buffers take them: the shape of a type, and the dynamic sizes."""
    operands = mixed_sizes(sizes)
    return type_shape(operands), [size for size in operands if isinstance(size, ir.Value)]


def mixed_size(number: Number) -> Index:
    """A number as the builders of ops take it: an integer, or a value at the insertion point."""
    return number if isinstance(number, int) else value_of(number)


def value_of(number: Number) -> ir.Value:
    """A number as a value of type index, at the insertion point."""
    return Emitter().value(with_dims(number))


def tensor_type(sizes: Sequence[Number], like: ir.Type) -> ir.Type:
    """The type of a tensor of these sizes, of the elements of another."""
    return ir.RankedTensorType.get(type_shape(sizes), ir.ShapedType(like).element_type)


def as_number(index: Index) -> Number:
    """The number that an offset or a size of an op stands for."""
    return IndexReader()(index)


def slice_numbers(
    op: ir.Operation, before: int = 1, read: Callable[[Index], Number] = as_number
) -> tuple[list[Number], list[Number], list[Number]]:
    """Offsets, sizes and strides of an op on slices, after its first `before` operands."""
    columns = ([read(index) for index in column] for column in slice_geometry(op, before))
    offsets, sizes, strides = columns
    return offsets, sizes, strides


def slice_geometry(op: ir.Operation, before: int = 1) -> list[tuple[Index, ...]]:
    """Offsets, sizes and strides of an op on slices as it holds them."""
    groups = segments(op, before + 3)[before:]
    names = (STATIC_OFFSETS, STATIC_SIZES, STATIC_STRIDES)
    return [mixed(op, name, name, group) for name, group in zip(names, groups, strict=True)]


def kept_axes(op: ir.Operation, type_: ir.Type) -> list[int]:
    """The axes of a slice that a type keeps: those of size 1 that it lacks are dropped.

    Which of several that could be dropped are does not matter to the elements.
    """
    shape = ir.ShapedType(type_)
    sizes = integers(op.attributes[STATIC_SIZES], STATIC_SIZES)
    kept_dims: list[int] = []
    for axis, size in enumerate(sizes):
        dim = len(kept_dims)
        must_stay = len(sizes) - axis == shape.rank - dim
        if must_stay or (dim < shape.rank and size == shape.get_dim_size(dim)):
            kept_dims.append(axis)
    return kept_dims


def overlap(offset: Number, size: Number, whole: Number) -> tuple[Number, Number]:
    """Return the offset and the size of the part of a dimension that a run of indices covers.

    An empty part has offset 0: upstream refuses an empty slice at the end of a tensor.

    Args:
        offset: the start of the run; it may lie before the start of the dimension.
        size: the length of the run.
        whole: the length of the dimension.
    """
    begin = clamped(offset, 0, whole)
    length = clamped(offset + size, 0, whole) - begin
    return select(equal(length, 0), 0, begin), length


def pad_numbers(op: ir.Operation) -> tuple[list[Number], list[Number]]:
    """Return the padding that a `tensor.pad` adds before and after its source, along each axis."""
    _, low, high = segments(op, 3)
    return (
        [as_number(index) for index in mixed(op, "static_low", "low", low)],
        [as_number(index) for index in mixed(op, "static_high", "high", high)],
    )


def _made_size(op: ir.Operation, value: ir.Value, axis: int) -> Number | None:
    """The size of a dynamic dimension of a result, from the operands of the op; None if unknown."""
    if op.name in ("linalg.pack", "linalg.unpack"):
        return size_of(op.operands[1], axis)  # others follow: a padding value, dynamic tiles
    if op.name.startswith(("linalg.", "linalg_ext.")):
        number = ir.OpResult(value).result_number
        return size_of(op.operands[len(op.operands) - len(op.results) + number], axis)
    match op.name:
        case "tensor.empty" | "tensor.splat" | "tensor.generate":
            sizes = list(op.operands)[1 if op.name == "tensor.splat" else 0 :]
            return as_number(sizes[_dynamic_before(value.type, axis)])
        case "tensor.cast" | "tensor.insert_slice":
            return size_of(op.operands[0 if op.name == "tensor.cast" else 1], axis)
        case "tensor.extract_slice":
            _, sizes_, _ = slice_numbers(op)
            return sizes_[kept_axes(op, value.type)[axis]]
        case "tensor.expand_shape":
            return as_number(list(op.operands)[1 + _dynamic_before(value.type, axis)])
        case "tensor.collapse_shape":
            return product(size_of(op.operands[0], dim) for dim in groups_of(op)[axis])
        case "tensor.pad":
            low, high = pad_numbers(op)
            return low[axis] + size_of(op.operands[0], axis) + high[axis]
    size = _RESULT_SIZES.get(op.name)
    return None if size is None else size(op, value, axis)


ResultSize: TypeAlias = Callable[[ir.Operation, ir.Value, int], Number | None]
"""The size of a result of an op along an axis; None where it is not known."""

_RESULT_SIZES: dict[str, ResultSize] = {}


def add_result_sizes(op_name: str, size: ResultSize) -> None:
    """Add an op of a dialect above: the sizes of its results from its operands."""
    _RESULT_SIZES[op_name] = size


def _dynamic_before(type_: ir.Type, axis: int) -> int:
    shape = ir.ShapedType(type_)
    return sum(shape.is_dynamic_dim(other) for other in range(axis))


def extract_slice(source: ir.Value, tile: Tile, kept_dims: Sequence[int] | None = None) -> ir.Value:
    """`tensor.extract_slice` of a tile, at the insertion point, without axes that are not kept."""
    sizes = tile.sizes if kept_dims is None else [tile.sizes[axis] for axis in kept_dims]
    numbers = _slice_operands(tile.offsets, tile.sizes, tile.strides)
    return result_of(tensor.ExtractSliceOp(tensor_type(sizes, source.type), source, *numbers))


def insert_slice(
    source: ir.Value, into: ir.Value, offsets: Sequence[Number], sizes: Sequence[Number]
) -> ir.Value:
    """`tensor.insert_slice` of neighbours, at the insertion point."""
    return result_of(
        tensor.InsertSliceOp(source, into, *_slice_operands(offsets, sizes, [1] * len(sizes)))
    )


def reduced(value: ir.Value, sizes: Sequence[Number], kept_dims: Sequence[int]) -> ir.Value:
    """A tensor without the axes of size 1 that are not kept."""
    return value if len(kept_dims) == len(sizes) else extract_slice(value, full(sizes), kept_dims)


def _slice_operands(*columns: Sequence[Number]) -> tuple[Any, ...]:
    return mixed_operands(*map(mixed_sizes, columns))
