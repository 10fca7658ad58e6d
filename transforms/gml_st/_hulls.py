"""Parts of a result that overlap, and the one part that holds them all.

What a stencil reads of the stencil before it is one tile, shifted by an element this way and that:
computed once with a rim, it does for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.symbolic.index_sets import Point, Tile
from linalg_ext.symbolic.integers import is_eq, upper


def hull_of(parts: Sequence[Tile | Point]) -> Tile | None:
    """The smallest tile that holds tiles which overlap; None where they may not, or are one."""
    tiles = [part for part in parts if isinstance(part, Tile)]
    if len(tiles) < len(parts) or len(set(tiles)) < 2:
        return None
    first = tiles[0]
    offsets, sizes = [], []
    for dim in range(first.rank):
        span = _span(tiles, dim)
        if span is None:
            return None
        low, high = span
        offsets.append(first.offset(dim) + low)
        sizes.append(first.size(dim) + high - low)
    return Tile(offsets, sizes)


def _span(tiles: Sequence[Tile], dim: int) -> tuple[int, int] | None:
    """From where to where tiles go, beside the begin and the end of the first; None: not known.

    None, too, where one begins behind the end of another.
    """
    begin, end = (tiles[0].offset(dim), tiles[0].offset(dim) + tiles[0].size(dim))
    begins = [tile.offset(dim) - begin for tile in tiles]
    ends = [tile.offset(dim) + tile.size(dim) - end for tile in tiles]
    shifts = [each for each in begins if isinstance(each, int)]
    grown = [each for each in ends if isinstance(each, int)]
    if len(shifts) < len(tiles) or len(grown) < len(tiles):
        return None
    if any(is_eq(tile.stride(dim), 1) is not True for tile in tiles):
        return None
    length = upper(tiles[0].size(dim))
    spread = max(shifts) - min(shifts)
    if spread and (length is None or spread >= length):
        return None
    return min(shifts), max(grown)


def within(part: Tile | Point, hull: Tile) -> Tile:
    """A part as a part of the tile that holds it."""
    if isinstance(part, Point):
        raise AssertionError("a hull is of tiles")
    offsets = [one - other for one, other in zip(part.offsets, hull.offsets, strict=True)]
    return Tile(offsets, part.sizes)
