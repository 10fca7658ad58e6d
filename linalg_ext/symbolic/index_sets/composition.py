"""Subsets of subsets, and subsets of the same elements with other dimensions.

A tile of a tile is a tile of the root: the offset is `o1 + s1*o2`, the stride `s1*s2`, and the size
that of the inner one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from linalg_ext.errors import SubsetError, caller_location
from linalg_ext.symbolic.index_sets.tile import Point, Tile, checked_dimension
from linalg_ext.symbolic.index_sets.within import check_within
from linalg_ext.symbolic.integers import Number, Operand, substitute

T = TypeVar("T", Tile, Point)


def compose(inner: T, outer: Tile) -> T:
    """A subset of a tile, as a subset of the root.

    Args:
        inner: a tile or a point, relative to `outer`.
        outer: a tile, relative to the root.

    Raises:
        SubsetError: the ranks differ, or `inner` is known to leave `outer`.
    """
    if not isinstance(inner, (Tile, Point)) or not isinstance(outer, Tile):
        raise SubsetError(
            f"a {type(inner).__name__} of a {type(outer).__name__} is no subset of the root",
            where=caller_location(),
            expected="a tile or a point of a tile",
        )
    check_within(inner, outer.sizes)
    starts = inner.offsets if isinstance(inner, Tile) else inner.indices
    offsets = [
        offset + stride * start
        for offset, stride, start in zip(outer.offsets, outer.strides, starts, strict=True)
    ]
    if isinstance(inner, Point):
        return Point(offsets)
    strides = [
        outer_stride * stride
        for outer_stride, stride in zip(outer.strides, inner.strides, strict=True)
    ]
    return Tile(offsets, inner.sizes, strides)


def drop_dims(subset: T, remaining: Sequence[int]) -> T:
    """A subset of the space of some dimensions alone: those that remain, in ascending order.

    Raises:
        SubsetError: a dimension is not there, or the list does not ascend.
    """
    if any(a >= b for a, b in itertools.pairwise(remaining)):
        raise SubsetError(
            f"remaining dimensions {list(remaining)} do not ascend",
            where=caller_location(),
            expected="each dimension once, the smallest first",
            hint="change their order with transpose_dims",
        )
    dims = [checked_dimension(dim, subset.rank) for dim in remaining]
    return _picked(subset, lambda numbers: [numbers[dim] for dim in dims])


def transpose_dims(subset: T, permutation: Sequence[int]) -> T:
    """A subset with its dimensions in another order: dimension d is what `permutation[d]` was.

    Raises:
        SubsetError: the list is no permutation of the dimensions.
    """
    if sorted(permutation) != list(range(subset.rank)):
        raise SubsetError(
            f"{list(permutation)} is no permutation of {subset.rank} dimensions",
            where=caller_location(),
            expected=f"each of {list(range(subset.rank))} once",
        )
    return _picked(subset, lambda numbers: [numbers[dim] for dim in permutation])


def replaced(subset: T, values: Mapping[Any, Operand]) -> T:
    """A subset with numbers put in for some of its symbols, by key.

    Raises:
        SubsetError: what comes out is no tile: a size is negative, for example.
    """
    return _picked(subset, lambda numbers: [substitute(number, values) for number in numbers])


def _picked(subset: T, pick: Callable[[tuple[Number, ...]], list[Number]]) -> T:
    if isinstance(subset, Point):
        return Point(pick(subset.indices))
    return Tile(pick(subset.offsets), pick(subset.sizes), pick(subset.strides))
