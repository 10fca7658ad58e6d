"""`memref.subview` of a tile of the subset algebra, and of a part along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir, memref
from linalg_ext.errors import ArgumentError
from linalg_ext.structured.indices.emission import Emitter
from linalg_ext.structured.indices.mixed import mixed_attribute
from linalg_ext.structured.indices.sizes import SizeEmitter
from linalg_ext.structured.views.placement import Placement
from linalg_ext.structured.views.types import view_type
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import Number, any_of, at_most, select

from .buffer_sizes import dim


def subview(found: Placement, emitter: Emitter | None = None) -> ir.Value:
    """A part of a memref as a view of its own, at the insertion point.

    Args:
        found: the part.
        emitter: what computes its numbers, and knows those that were computed before.

    Raises:
        ArgumentError: its dimensions are not in the order of those that it is a part of.
    """
    if list(found.dims) != sorted(found.dims):
        raise ArgumentError(
            f"the view has dimensions {found.dims} of what it is a view of",
            expected="ascending ones",
            hint="combine the views before they are transposed",
        )
    tile = _begun_at_0(found.tile)
    sizes = [size if isinstance(size, int) else None for size in tile.sizes]
    type_ = view_type(ir.MemRefType(found.base.type), tile, sizes, found.dims)
    emitter = SizeEmitter() if emitter is None else emitter
    columns = [emitter.mixed(column) for column in (tile.offsets, tile.sizes, tile.strides)]
    dynamic = [[each for each in column if not isinstance(each, int)] for column in columns]
    numbers: list[Any] = [*dynamic, *map(mixed_attribute, columns)]
    view: ir.Value = memref.SubViewOp(type_, found.base, *numbers).result
    return view


def part_along(buffer: Any, axis: int, first: Any, length: Any) -> Any:
    """Return the part of a buffer along an axis, as a view at the insertion point.

    Args:
        buffer: a memref with strides.
        axis: the axis.
        first: where the part begins: a number, or a value of type index.
        length: the number of steps, likewise.
    """
    type_ = buffer.type
    strides, offset = type_.get_strides_and_offset()
    dynamic, unknown = (
        ir.ShapedType.get_dynamic_size(),
        ir.ShapedType.get_dynamic_stride_or_offset(),
    )
    is_static = isinstance(length, int)
    shape: list[int] = list(type_.shape)
    shape[axis] = length if is_static else dynamic
    sizes = [
        length if at == axis else dim(buffer, at)
        for at, size in enumerate(shape)
        if size == dynamic
    ]
    begin = unknown
    if isinstance(first, int) and unknown not in (offset, strides[axis]):
        begin = offset + first * strides[axis]
    layout = ir.StridedLayoutAttr.get(begin, strides)
    offsets = [0] * len(shape)
    offsets[axis] = first if isinstance(first, int) else unknown
    return memref.SubViewOp(
        ir.MemRefType.get(shape, type_.element_type, layout, type_.memory_space),
        buffer,
        [] if isinstance(first, int) else [first],
        sizes,
        [],
        offsets,
        shape,
        [1] * len(shape),
    ).result


def _begun_at_0(tile: Tile) -> Tile:
    """A tile that begins at 0 where it is empty: upstream refuses an empty one at the end."""
    is_empty = any_of(*(at_most(size, 0) for size in tile.sizes))
    offsets: Sequence[Number] = [select(is_empty, 0, offset) for offset in tile.offsets]
    return Tile(offsets, tile.sizes, tile.strides)
