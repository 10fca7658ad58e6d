"""Reading the elements of a set, and writing them: slices of tensors, views of memrefs.

The elements of a `gml_st.filter` go one by one; each row of its indices is checked at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, cf, ir, linalg, memref, tensor
from linalg_ext.dialects import gml_st
from linalg_ext.dialects.gml_st.ir.sets import subset_of
from linalg_ext.dialects.gml_st.ir.types import container_shape, is_element, is_whole, subset_shape
from linalg_ext.errors import ArgumentTypeError
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.indices import Emitter, IndexReader
from linalg_ext.structured.loops import counted
from linalg_ext.structured.mixed import Index, Size, mixed_operands, type_shape
from linalg_ext.structured.sizes import size_at
from linalg_ext.structured.views import tile_view
from linalg_ext.symbolic.index_sets import Filter, Point, Tile, as_tile
from linalg_ext.symbolic.integers import Number


@dataclass(frozen=True)
class SubsetAccess:
    """The access to the elements that a set names in a tensor or memref.

    Attributes:
        subset: its numbers.
        sizes: the sizes that types state.
        is_whole: whether it is all there is.
    """

    subset: Tile | Point | Filter
    sizes: tuple[Size, ...]
    is_whole: bool

    @classmethod
    def of(cls, set_: ir.Value) -> SubsetAccess:
        """Return the access by a set; its dynamic sizes are read at the insertion point."""
        sizes = () if is_element(set_.type) else subset_shape(set_.type).sizes
        return cls(subset_of(set_, IndexReader()), sizes, is_whole(set_))

    @classmethod
    def whole(cls, container: ir.Value) -> SubsetAccess:
        sizes = container_shape(container.type).sizes
        return cls(subset_of(container, IndexReader()), sizes, is_whole=True)

    def read(self, source: ir.Value) -> ir.Value:
        """Return the elements of a tensor, or a view of a memref; a scalar for a point."""
        is_memref = isinstance(source.type, ir.MemRefType)
        if self.is_whole:
            return source
        if isinstance(self.subset, Filter):
            return gather_filtered(source, self.subset)
        if isinstance(self.subset, Point):
            load: Any = memref.LoadOp if is_memref else tensor.ExtractOp
            return _result(load(source, self._indices(self.subset)))
        geometry = self._geometry(self.subset, self.sizes)
        if is_memref:
            return tile_view(source, *geometry)
        element = ir.ShapedType(source.type).element_type
        slice_type = ir.RankedTensorType.get(type_shape(self.sizes), element)
        return _result(tensor.ExtractSliceOp(slice_type, source, *mixed_operands(*geometry)))

    def write(self, value: ir.Value, destination: ir.Value) -> ir.Value:
        if self.is_whole:
            return value
        if isinstance(self.subset, Filter):
            return scatter_filtered(value, destination, self.subset)
        if isinstance(self.subset, Point):
            return _result(tensor.InsertOp(value, destination, self._indices(self.subset)))
        geometry = self._geometry(self.subset, self.sizes)
        return _result(tensor.InsertSliceOp(value, destination, *mixed_operands(*geometry)))

    def write_in_place(self, value: ir.Value, destination: ir.Value) -> None:
        if isinstance(self.subset, Filter):
            scatter_filtered(value, destination, self.subset)
        elif isinstance(self.subset, Point):
            memref.StoreOp(value, destination, self._indices(self.subset))
        else:
            memref.CopyOp(value, self.read(destination))

    def parallel_geometry(self) -> tuple[Any, ...]:
        """Return the operands of `tensor.parallel_insert_slice` behind the tensors."""
        tile = as_tile(self.subset)
        sizes = self.sizes if isinstance(self.subset, Tile) else (1,) * tile.rank
        return mixed_operands(*self._geometry(tile, sizes))

    def _indices(self, point: Point) -> list[ir.Value]:
        emitter = Emitter()
        return [emitter.value(index) for index in point.indices]

    def _geometry(
        self, tile: Tile, known_sizes: Sequence[Size]
    ) -> tuple[list[Index], list[Index], list[Index]]:
        """Return the offsets, the sizes and the strides, at the insertion point."""
        emitter = Emitter()
        sizes = _sizes_as_typed(tile.sizes, known_sizes, emitter)
        return emitter.mixed(tile.offsets), sizes, emitter.mixed(tile.strides)


def _sizes_as_typed(
    sizes: Sequence[Number], typed: Sequence[Size], emitter: Emitter
) -> list[Index]:
    """Return sizes as a type has them: a value for each dynamic one, even if it is known."""
    return [
        emitter.value(number) if static_size is None else static_size
        for number, static_size in zip(sizes, typed, strict=True)
    ]


def set_of(superset: ir.Value, subset: Tile | Point, type_: ir.Type, emitter: Emitter) -> ir.Value:
    """Return a tile or a point of a superset as a set of it, with the sizes of a type."""
    if isinstance(subset, Point):
        return gml_st.point(superset, emitter.mixed(subset.indices))
    sizes = _sizes_as_typed(subset.sizes, subset_shape(type_).sizes, emitter)
    return gml_st.tile(
        superset, emitter.mixed(subset.offsets), sizes, emitter.mixed(subset.strides)
    )


def _result(op: Any) -> ir.Value:
    value: ir.Value = op.result
    return value


Body = Callable[[Sequence[ir.Value], ir.Value], ir.Value]
"""A function from an index and the carried value to the next carried value."""

OUT_OF_BOUNDS = "an index of a gml_st.filter is out of bounds"


def gather_filtered(source: ir.Value, filter_: Filter) -> ir.Value:
    """Return a tensor like the source, with its elements at the indices and zeros elsewhere."""
    element = ir.ShapedType(source.type).element_type
    empty = tensor.EmptyOp(_extents(source), element).result
    zeros: ir.Value = linalg.fill(number_constant(0, element), outs=[empty])

    def copied(index: Sequence[ir.Value], filled: ir.Value) -> ir.Value:
        return tensor.InsertOp(tensor.ExtractOp(source, index).result, filled, index).result

    return _over_rows(filter_, source, zeros, copied)


def scatter_filtered(value: ir.Value, destination: ir.Value, filter_: Filter) -> ir.Value:
    """Return the destination with the value's elements at the indices; write to a memref."""

    def extracted(index: Sequence[ir.Value]) -> ir.Value:
        is_memref = isinstance(value.type, ir.MemRefType)
        return (memref.LoadOp if is_memref else tensor.ExtractOp)(value, index).result

    def inserted(index: Sequence[ir.Value], into: ir.Value) -> ir.Value:
        return tensor.InsertOp(extracted(index), into, index).result

    def stored(index: Sequence[ir.Value], into: ir.Value) -> ir.Value:
        memref.StoreOp(extracted(index), into, index)
        return into

    if isinstance(destination.type, ir.MemRefType):
        return _over_rows(filter_, destination, None, stored)
    return _over_rows(filter_, destination, destination, inserted)


def _over_rows(filter_: Filter, whole: ir.Value, carried: ir.Value | None, body: Body) -> ir.Value:
    """Loop over the indices around a body; return the carried value, or `whole` without one."""
    indices = filter_.indices
    if not isinstance(indices, ir.Value):
        raise ArgumentTypeError(f"the indices of a filter are {indices!r}", expected="a value")

    def step(row: ir.Value, before: list[ir.Value]) -> list[ir.Value]:
        index = [_coordinate(indices, row, dim) for dim in range(ir.ShapedType(whole.type).rank)]
        for dim, coordinate in enumerate(index):
            # A negative index is larger than every size as an unsigned number.
            inside = arith.CmpIOp(arith.CmpIPredicate.ult, coordinate, _extent(whole, dim)).result
            cf.AssertOp(inside, OUT_OF_BOUNDS)
        result = body(index, *(before or [whole]))
        return [result] if before else []

    after = counted(0, _extent(indices, 0), [] if carried is None else [carried], step)
    return after[0] if after else whole


def _coordinate(indices: ir.Value, row: ir.Value, dim: int) -> ir.Value:
    is_flat = ir.ShapedType(indices.type).rank == 1
    where = [row] if is_flat else [row, Emitter().value(dim)]
    coordinate: ir.Value = tensor.ExtractOp(indices, where).result
    if not isinstance(coordinate.type, ir.IndexType):
        coordinate = arith.IndexCastOp(ir.IndexType.get(), coordinate).result
    return coordinate


def _extent(container: ir.Value, dim: int) -> ir.Value:
    size = size_at([(container, dim)])
    return size if isinstance(size, ir.Value) else Emitter().value(size or 0)


def _extents(container: ir.Value) -> list[ir.Value | int]:
    rank = ir.ShapedType(container.type).rank
    sizes = (size_at([(container, dim)]) for dim in range(rank))
    return [size for size in sizes if size is not None]
