"""The types of views."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.structured.indices.mixed import Size
from linalg_ext.symbolic.index_sets import Tile


def view_type(
    source: ir.MemRefType, tile: Tile, sizes: Sequence[Size], dims: Sequence[int] | None = None
) -> ir.MemRefType:
    """The type of a tile of a memref, as `memref.subview` infers it.

    Args:
        source: the type of what it is a tile of.
        tile: its numbers; those that are not known are dynamic in the type.
        sizes: what the type says of the sizes, one for each dimension of the tile.
        dims: those that the view keeps, in ascending order; all of them where left out.
    """
    gap = ir.ShapedType.get_dynamic_stride_or_offset()
    strides, offset = source.get_strides_and_offset()
    seen = [
        gap if stride == gap or not isinstance(by, int) else stride * by
        for stride, by in zip(strides, tile.strides, strict=True)
    ]
    for number, stride in zip(tile.offsets, strides, strict=True):
        if number == 0:
            continue
        if isinstance(number, int) and gap not in (stride, offset):
            offset += number * stride
        else:
            offset = gap
    kept = range(tile.rank) if dims is None else dims
    layout = ir.StridedLayoutAttr.get(offset, [seen[dim] for dim in kept])
    shape = type_shape([sizes[dim] for dim in kept])
    return ir.MemRefType.get(shape, source.element_type, layout, source.memory_space)


def open_view_type(source: ir.MemRefType) -> ir.MemRefType:
    """The type of a view of which nothing is known but its rank and its elements."""
    gap = ir.ShapedType.get_dynamic_stride_or_offset()
    layout = ir.StridedLayoutAttr.get(gap, [gap] * source.rank)
    shape = type_shape([None] * source.rank)
    return ir.MemRefType.get(shape, source.element_type, layout, source.memory_space)


def type_shape(sizes: Sequence[Size]) -> list[int]:
    """Sizes as types hold them, with upstream's mark for one that is dynamic."""
    gap = ir.ShapedType.get_dynamic_size()
    return [gap if size is None else size for size in sizes]
