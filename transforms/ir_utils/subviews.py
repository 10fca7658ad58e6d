"""`memref.subview` of a tile whose numbers are those of the subset algebra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir, memref
from linalg_ext.errors import ArgumentError
from linalg_ext.structured.indices import Emitter
from linalg_ext.structured.mixed import mixed_attribute
from linalg_ext.structured.sizes import SizeEmitter
from linalg_ext.structured.views import Placement, view_type
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import Number, any_of, at_most, select


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


def _begun_at_0(tile: Tile) -> Tile:
    """A tile that begins at 0 where it is empty: upstream refuses an empty one at the end."""
    is_empty = any_of(*(at_most(size, 0) for size in tile.sizes))
    offsets: Sequence[Number] = [select(is_empty, 0, offset) for offset in tile.offsets]
    return Tile(offsets, tile.sizes, tile.strides)
