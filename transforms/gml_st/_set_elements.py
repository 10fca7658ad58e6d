"""Reading the elements of a set, and writing them: slices of tensors, views of memrefs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir, memref, tensor
from linalg_ext.gml_st.ir.sets_of_values import subset_of
from linalg_ext.gml_st.ir.types import container_shape, is_element, subset_shape
from linalg_ext.structured.indices import Emitter, IndexReader
from linalg_ext.structured.mixed import Size
from linalg_ext.structured.operands import producer
from linalg_ext.structured.views import type_shape, view_type
from linalg_ext.symbolic.index_sets import Filter, Point, Tile, as_tile

from ._filters import gather_filtered, scatter_filtered


@dataclass(frozen=True)
class Place:
    """A set of some tensor or memref, relative to it.

    Attributes:
        subset: its numbers.
        sizes: what types say of them.
        is_whole: whether it is all there is.
    """

    subset: Tile | Point | Filter
    sizes: tuple[Size, ...]
    is_whole: bool

    @classmethod
    def of(cls, set_: ir.Value) -> Place:
        """The place that a set names; its dynamic sizes are read at the insertion point."""
        op = producer(set_)
        is_whole = op is not None and op.name in ("gml_st.full", "gml_st.space")
        sizes = () if is_element(set_.type) else subset_shape(set_.type).sizes
        return cls(subset_of(set_, IndexReader()), sizes, is_whole)

    @classmethod
    def whole(cls, container: ir.Value) -> Place:
        """All of a tensor or memref."""
        sizes = container_shape(container.type).sizes
        return cls(subset_of(container, IndexReader()), sizes, is_whole=True)

    def read(self, source: ir.Value) -> ir.Value:
        """The elements of a tensor, or a view of a memref; a scalar for a point."""
        is_memref = isinstance(source.type, ir.MemRefType)
        if self.is_whole:
            return source
        if isinstance(self.subset, Filter):
            return gather_filtered(source, self.subset)
        if isinstance(self.subset, Point):
            load: Any = memref.LoadOp if is_memref else tensor.ExtractOp
            return _result(load(source, self._indices(self.subset)))
        return self._view(source, self.subset) if is_memref else self._slice(source, self.subset)

    def write(self, value: ir.Value, destination: ir.Value) -> ir.Value:
        """The tensor with a value in this place."""
        if self.is_whole:
            return value
        if isinstance(self.subset, Filter):
            return scatter_filtered(value, destination, self.subset)
        if isinstance(self.subset, Point):
            return _result(tensor.InsertOp(value, destination, self._indices(self.subset)))
        geometry = self._geometry(self.subset, self.sizes)
        return _result(tensor.InsertSliceOp(value, destination, *geometry))

    def write_in_place(self, value: ir.Value, destination: ir.Value) -> None:
        """Put a value into a memref."""
        if isinstance(self.subset, Filter):
            scatter_filtered(value, destination, self.subset)
        elif isinstance(self.subset, Point):
            memref.StoreOp(value, destination, self._indices(self.subset))
        else:
            memref.CopyOp(value, self.read(destination))

    def parallel_geometry(self) -> tuple[Any, ...]:
        """Offsets, sizes and strides as `tensor.parallel_insert_slice` takes them."""
        tile = as_tile(self.subset)
        sizes = self.sizes if isinstance(self.subset, Tile) else (1,) * tile.rank
        return self._geometry(tile, sizes)

    def _slice(self, source: ir.Value, tile: Tile) -> ir.Value:
        element = ir.ShapedType(source.type).element_type
        type_ = ir.RankedTensorType.get(type_shape(self.sizes), element)
        return _result(tensor.ExtractSliceOp(type_, source, *self._geometry(tile, self.sizes)))

    def _view(self, source: ir.Value, tile: Tile) -> ir.Value:
        type_ = view_type(ir.MemRefType(source.type), tile, self.sizes)
        return _result(memref.SubViewOp(type_, source, *self._geometry(tile, self.sizes)))

    def _indices(self, point: Point) -> list[ir.Value]:
        emitter = Emitter()
        return [emitter.value(index) for index in point.indices]

    def _geometry(self, tile: Tile, known_sizes: Sequence[Size]) -> tuple[Any, ...]:
        """Offsets, sizes and strides as slices and views take them."""
        emitter = Emitter()
        # A size that the type leaves open is an operand, whatever is known of it.
        sizes = [
            emitter.value(number) if static is None else static
            for number, static in zip(tile.sizes, known_sizes, strict=True)
        ]
        groups = [emitter.mixed(tile.offsets), sizes, emitter.mixed(tile.strides)]
        gap = ir.ShapedType.get_dynamic_size()
        values = [[each for each in group if not isinstance(each, int)] for group in groups]
        static = [[each if isinstance(each, int) else gap for each in group] for group in groups]
        return (*values, *map(ir.DenseI64ArrayAttr.get, static))


def _result(op: Any) -> ir.Value:
    value: ir.Value = op.result
    return value
