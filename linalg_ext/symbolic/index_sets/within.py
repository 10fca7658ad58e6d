"""Checks that a subset stays inside its superset."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.errors import SubsetError, caller_location
from linalg_ext.symbolic.index_sets.tile import Filter, Point, Subset, Tile
from linalg_ext.symbolic.integers import Number, Operand, as_number, is_le


def check_within(subset: Subset, shape: Sequence[Operand]) -> None:
    """Raise if a subset is known to leave a space; what depends on the run is let pass.

    An empty tile may begin just behind the last index.

    Raises:
        SubsetError: the ranks differ, or an element lies outside; the message says which.
    """
    sizes = [as_number(size) for size in shape]
    if subset.rank != len(sizes):
        raise SubsetError(
            f"a subset of rank {subset.rank} of a superset of rank {len(sizes)}",
            where=caller_location(),
            expected="equal ranks",
            hint="drop_dims takes dimensions away from a subset",
        )
    if isinstance(subset, Filter):
        return
    for dim, available in enumerate(sizes):
        if isinstance(subset, Point):
            _check_index(subset.offset(dim), available, dim)
        else:
            _check_range(subset, available, dim)


def _check_index(index: Number, available: Number, dim: int) -> None:
    if is_le(index, available - 1) is False:
        raise SubsetError(
            f"expected index = {index} to be between 0 and {available - 1}, in dimension {dim}",
            where=caller_location(),
            hint=f"take an index below {available}",
        )


def _check_range(tile: Tile, available: Number, dim: int) -> None:
    offset, size, stride = tile.offset(dim), tile.size(dim), tile.stride(dim)
    is_never_empty = is_le(1, size) is True
    if is_le(offset, available - 1 if is_never_empty else available) is False:
        raise SubsetError(
            f"offset = {offset} is out of bounds in dimension {dim} of size {available}",
            where=caller_location(),
            hint=f"take an offset below {available}",
        )
    if is_never_empty and is_le(tile.last(dim), available - 1) is False:
        raise SubsetError(
            f"offset = {offset} size = {size} stride = {stride} causes access out of bounds "
            f"at {tile.last(dim)} in dimension {dim} of size {available}",
            where=caller_location(),
            hint="take a smaller offset, size or stride: the last element is at offset + "
            f"(size - 1) * stride, and must be below {available}",
        )
