"""One dimension of a tile as a set: an arithmetic progression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linalg_ext.symbolic.index_sets.tile import Tile
from linalg_ext.symbolic.integers import Number, is_le, minimum


class Progression(NamedTuple):
    """The indices `offset + k*stride`, k from 0 to below size; the stride is not 0."""

    offset: Number
    size: Number
    stride: Number

    @property
    def last(self) -> Number:
        """The last index; below the offset where the size is 0."""
        return self.offset + (self.size - 1) * self.stride

    @property
    def is_fixed(self) -> bool:
        """Return whether it is sure to hold one index at most."""
        return is_le(self.size, 1) is True

    def part(self, first: Number, size: Number, every: int = 1) -> Progression:
        """Some of it, by position."""
        return Progression(self.offset + first * self.stride, size, self.stride * every)


def progressions(tile: Tile) -> list[Progression]:
    """Each dimension of a tile. One index by itself has the stride 1, whatever it was given."""
    found = []
    for offset, size, stride in zip(tile.offsets, tile.sizes, tile.strides, strict=True):
        if stride == 0:
            size = minimum(size, 1)
        alone = is_le(size, 1) is True
        found.append(Progression(offset, size, 1 if alone else stride))
    return found


def tile_of(dims: Sequence[Progression]) -> Tile:
    """The tile of some progressions, one for each dimension."""
    return Tile([d.offset for d in dims], [d.size for d in dims], [d.stride for d in dims])
