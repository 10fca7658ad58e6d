"""Intersection, convex union, difference, containment and emptiness.

In each dimension a tile is an arithmetic progression. Two of them with strides s and t meet in one
with stride lcm(s, t), or not at all; where it starts follows from the Chinese remainder theorem.
Strides that are not known are taken together only if they are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, lcm
from typing import NamedTuple

from linalg_ext.errors import SubsetError, caller_location
from linalg_ext.symbolic.index_sets.tile import Filter, Subset, Tile, as_tile
from linalg_ext.symbolic.integers import (
    Number,
    Truth,
    all_of,
    any_of,
    at_most,
    below,
    ceildiv,
    clamped,
    decided,
    equal,
    floordiv,
    is_eq,
    is_le,
    known_divisor,
    maximum,
    minimum,
    modulo,
    select,
)


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
    dims = []
    for offset, size, stride in zip(tile.offsets, tile.sizes, tile.strides, strict=True):
        if stride == 0:
            size = minimum(size, 1)
        alone = is_le(size, 1) is True
        dims.append(Progression(offset, size, 1 if alone else stride))
    return dims


def tile_of(dims: Sequence[tuple[Number, Number, Number]]) -> Tile:
    """The tile of the offset, the size and the stride of each dimension."""
    return Tile(*([dim[field] for dim in dims] for field in range(3)))


def intersection(a: Subset, b: Subset) -> Tile:
    """The elements that are in both; a size of 0 where there are none.

    Raises:
        SubsetError: the ranks differ, a stride is not known and the other one is not equal to it,
            or one of them is a filter.
    """
    return tile_of([_shared(x, y) for x, y in _paired(a, b)])


def convex_union(a: Subset, b: Subset) -> Tile:
    """The smallest tile that holds both; an empty one adds nothing.

    Raises:
        SubsetError: the ranks differ, or one of them is a filter.
    """
    pairs = _paired(a, b)
    no_a, no_b = emptiness(a), emptiness(b)
    return tile_of([_spanned(x, y, no_a, no_b) for x, y in pairs])


def difference(a: Subset, b: Subset) -> tuple[Tile, ...]:
    """The elements of `a` that are not in `b`, as disjoint tiles; those known to be empty left out.

    For each dimension one tile before `b` and one behind it; where b takes every k-th index of a
    alone, k - 1 more for the indices between.

    Raises:
        SubsetError: as for `intersection`, or k is not known.
    """
    return tuple(tile for tile in difference_boxes(a, b) if is_empty(tile) is not True)


def difference_boxes(a: Subset, b: Subset) -> tuple[Tile, ...]:
    """As `difference`, with the empty tiles: how many there are depends on strides alone.

    Two for each dimension, the one before `b` first, where b takes every index of a that it spans.
    """
    pairs = _paired(a, b)
    common = [_intersected(x, y) for x, y in pairs]
    boxes: list[Tile] = []
    for dim, (own, shared) in enumerate(zip((x for x, _ in pairs), common, strict=True)):
        behind = [x for x, _ in pairs[dim + 1 :]]
        boxes += [tile_of([*common[:dim], part, *behind]) for part in _remaining(own, shared)]
    return tuple(boxes)


def contains(outer: Subset, inner: Subset) -> bool | None:
    """Return whether `outer` contains every element of `inner`; None where it depends."""
    return decided(containment(outer, inner))


def containment(outer: Subset, inner: Subset) -> Truth:
    """Return whether every element of `inner` is in `outer`, if need be as a condition for the run.

    Raises:
        SubsetError: as for `intersection`.
    """
    inside = []
    for out, own in _paired(outer, inner):
        shared = common(own, out)
        inside.append(at_most(own.size, shared.size))
    return any_of(emptiness(inner), all_of(*inside))


def is_empty(subset: Subset) -> bool | None:
    """Return whether there is no element: always, never, or it depends (None)."""
    return decided(emptiness(subset))


def emptiness(subset: Subset) -> Truth:
    """Return whether there is no element, if need be as a condition for the run.

    Raises:
        SubsetError: it is a filter, which only the run can count.
    """
    return any_of(*(at_most(size, 0) for size in _checked(subset).sizes))


def _checked(subset: Subset) -> Tile:
    if isinstance(subset, Filter):
        raise SubsetError(
            "the elements of a filter are known at run time only",
            where=caller_location(),
            hint="take as_tile(filter), the whole space, as its upper bound",
        )
    return as_tile(subset)


def _paired(a: Subset, b: Subset) -> list[tuple[Progression, Progression]]:
    if a.rank != b.rank:
        raise SubsetError(
            f"a subset of rank {a.rank} and one of rank {b.rank} have no root in common",
            where=caller_location(),
            expected="equal ranks",
        )
    return list(zip(progressions(_checked(a)), progressions(_checked(b)), strict=True))


def _shared(a: Progression, b: Progression) -> Progression:
    """Return the intersection of two progressions; an empty one lies anywhere in the root."""
    if not a.stride == b.stride == 1:
        return common(a, b)
    # Its end is `end` again, whatever it begins with: sets of sets stay small.
    end = minimum(a.offset + a.size, b.offset + b.size)
    start = minimum(maximum(below(a.offset, end), below(b.offset, end)), end)
    return Progression(start, end - start, 1)


def common(a: Progression, b: Progression) -> Progression:
    """Return the intersection of two progressions; an empty one lies in the first of them."""
    # Neighbours have every index between them: then a stride that is not known may be the other's.
    is_picked = a.stride == 1 and not isinstance(b.stride, int)
    return _intersected(b, a) if is_picked else _intersected(a, b)


def _intersected(a: Progression, b: Progression) -> Progression:
    if a.stride == b.stride == 1:
        first, end = maximum(a.offset, b.offset), minimum(a.offset + a.size, b.offset + b.size)
        # An empty one stays at the end of a.
        start = minimum(first, a.offset + a.size)
        return Progression(start, maximum(0, end - first), 1)
    every, position, do_meet = _alignment(a, b)
    # Positions of a: those that b's range spans, from the first that b takes itself.
    lowest = clamped(ceildiv(b.offset - a.offset, a.stride), 0, a.size)
    highest = clamped(floordiv(b.last - a.offset, a.stride) + 1, lowest, a.size)
    first = lowest
    if every > 1:
        first = minimum(lowest + modulo(position - lowest, every), a.size)
    count = maximum(0, ceildiv(highest - first, every))
    return a.part(select(do_meet, first, 0), select(do_meet, count, 0), every)


def _alignment(a: Progression, b: Progression) -> tuple[int, Number, Truth]:
    """Return the positions of `a` that `b`, taken without limits, also has.

    They are every k-th position. The result is k, the first position modulo k, and a condition: the
    progressions have an index in common at all.
    """
    distance = b.offset - a.offset
    if not isinstance(a.stride, int) or not isinstance(b.stride, int):
        if is_eq(a.stride, b.stride):
            return 1, 0, equal(modulo(distance, a.stride), 0)
        if b.stride == 1:
            return 1, 0, True
        unknown = a.stride if not isinstance(a.stride, int) else b.stride
        raise SubsetError(
            f"strides {a.stride} and {b.stride}: which indices meet is known at run time only",
            where=caller_location(),
            expected="strides that are numbers, or equal",
            hint=f"put a number in for {unknown}",
        )
    common = gcd(a.stride, b.stride)
    every = lcm(a.stride, b.stride) // a.stride
    # a.stride * position = distance (mod b.stride)
    inverse = pow(a.stride // common, -1, every) if every > 1 else 0
    position = modulo(floordiv(distance, common) * inverse, every)
    return every, position, equal(modulo(distance, common), 0)


def _remaining(own: Progression, shared: Progression) -> list[Progression]:
    """The parts of a dimension that an intersection leaves: before, behind, between."""
    every = 1
    if isinstance(own.stride, int) and isinstance(shared.stride, int):
        every = shared.stride // own.stride
    first = floordiv(shared.offset - own.offset, own.stride)
    end = first + shared.size
    if every > 1:
        end = select(at_most(shared.size, 0), first, first + (shared.size - 1) * every + 1)
    parts = [own.part(0, first), own.part(end, own.size - end)]
    for shift in range(1, every):
        # Between the first that is taken and the last, each of the other residues.
        parts.append(own.part(first + shift, maximum(0, shared.size - 1), every))
    return parts


def _spanned(a: Progression, b: Progression, no_a: Truth, no_b: Truth) -> Progression:
    if no_a is True or no_b is True:
        return a if no_a is not True else b
    first = select(no_a, b.offset, select(no_b, a.offset, minimum(a.offset, b.offset)))
    last = select(no_a, b.last, select(no_b, a.last, maximum(a.last, b.last)))
    stride = _common_stride(a, b)
    return Progression(
        first, select(all_of(no_a, no_b), 0, floordiv(last - first, stride) + 1), stride
    )


def _common_stride(a: Progression, b: Progression) -> Number:
    """The largest stride that is sure to reach every index of both."""
    if a.stride == b.stride and is_eq(modulo(b.offset - a.offset, a.stride), 0):
        return a.stride
    # One index by itself may be reached by any stride.
    strides = [
        known_divisor(progression.stride) for progression in (a, b) if not progression.is_fixed
    ]
    return gcd(known_divisor(b.offset - a.offset), *strides) or 1
