"""Which loops are to be taken out of an op, so that what is left is read by plain dimensions.

input  (n, oh + kh, 2 * ow + kw, c)     unrolled: kh, kw
place  kh = 0, kw = 2                   input (n, oh, ow, c), a slice of it from 0 and 2 on,
                                        the second by steps of 2
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from linalg_ext.definition.affine import AffineConst, AffineDim, AffineExpr, AffineMap
from linalg_ext.definition.linear_forms import linear_terms
from linalg_ext.symbolic.integers import Number

from ._facts import DYNAMIC, Loops

_MOST_CANDIDATES = 10
"""Loops that are tried to be taken out in all their combinations."""

_MANY = 1 << 20
"""How often a loop runs of which that is not known."""


@dataclass(frozen=True)
class Axis:
    """How one dimension of an operand is read at one place.

    Attributes:
        dim: the dimension that it is read along; None where one element of it is read.
        offset: the first element that is read.
        stride: how far it is to the next one.
    """

    dim: str | None
    offset: Number = 0
    stride: int = 1

    @property
    def is_whole(self) -> bool:
        """Whether it may be read from end to end: whether it is, its size says."""
        return self.dim is not None and self.offset == 0 and self.stride == 1


@dataclass(frozen=True)
class Places:
    """Which loops are taken out of an op.

    Attributes:
        dims: those that are unrolled, outermost first.
        counts: how many copies each makes.
        looped: those that become loops around the copies, outermost first.
        kept: the dimensions that are left.
    """

    dims: tuple[str, ...]
    counts: tuple[int, ...]
    looped: tuple[str, ...]
    kept: tuple[str, ...]

    def __iter__(self) -> Iterator[dict[str, int]]:
        """The places that are unrolled, in the order of the loops."""
        for numbers in itertools.product(*map(range, self.counts)):
            yield dict(zip(self.dims, numbers, strict=True))

    def __len__(self) -> int:
        return math.prod(self.counts)

    def left_of(self, map_: AffineMap) -> AffineMap:
        """What is left of an indexing map, whichever the place is."""
        axes = axes_at(map_, dict.fromkeys((*self.dims, *self.looped), 0)) or []
        read = tuple(AffineDim(axis.dim) for axis in axes if axis.dim is not None)
        return AffineMap(self.kept, (), read)


def is_plain(map_: AffineMap) -> bool:
    """Whether all indices are dimensions, each at most once, or constants."""
    dims = [index for index in map_.results if not isinstance(index, AffineConst)]
    return all(isinstance(index, AffineDim) for index in dims) and len(set(dims)) == len(dims)


def axes_at(map_: AffineMap, place: Mapping[str, Number]) -> list[Axis] | None:
    """How an operand is read where some dimensions are numbers; None: not as a slice."""
    axes = [_axis(index, place) for index in map_.results]
    found = [axis for axis in axes if axis is not None]
    dims = [axis.dim for axis in found if axis.dim is not None]
    return found if len(found) == len(axes) and len(set(dims)) == len(dims) else None


def _axis(index: AffineExpr, place: Mapping[str, Number]) -> Axis | None:
    known: dict[AffineExpr, AffineExpr | int] = {
        AffineDim(dim): number for dim, number in place.items() if isinstance(number, int)
    }
    index = index.substitute(known)
    numbers: dict[AffineExpr, Number] = {AffineDim(dim): place[dim] for dim in place}
    match [dim for dim in index.dims if dim not in place]:
        case []:
            return Axis(None, index.evaluate(numbers))
        case [dim]:
            terms = linear_terms(index)
            if terms is not None and terms[0][dim] > 0:
                offset = index.evaluate(numbers | {AffineDim(dim): 0})
                return Axis(dim, offset, terms[0][dim])
    return None


def places_of(
    maps: Sequence[AffineMap],
    loops: Loops,
    most: Sequence[int],
    *,
    limit: int,
    looped: Collection[str] = (),
) -> Places | None:
    """The loops without which all is read by plain dimensions; None: they make too many copies.

    Parallel loops are kept where they can be: each of their places writes a slice of the result of
    its own. Of what is left to choose from, the fewest copies are made.

    Args:
        maps: of all operands.
        loops: of the op.
        most: how often each loop runs at most; `DYNAMIC` where that is not known.
        limit: of copies.
        looped: the dimensions that become loops, whatever else is chosen.
    """
    of_name = dict(zip(maps[0].dims, most, strict=True))
    chosen = _chosen(maps, loops, of_name, looped, limit)
    if chosen is None:
        return None
    dims = tuple(dim for dim in of_name if dim in chosen)
    kept = tuple(dim for dim in of_name if dim not in (*dims, *looped))
    around = tuple(dim for dim in of_name if dim in looped)
    return Places(dims, tuple(of_name[dim] for dim in dims), around, kept)


def in_loops(
    maps: Sequence[AffineMap], loops: Loops, most: Sequence[int], looped: Collection[str]
) -> Places | None:
    """The same with loops in the place of copies, however often they run; None: there are none."""
    sizes = [_MANY if size == DYNAMIC else size for size in most]
    of_name = dict(zip(maps[0].dims, sizes, strict=True))
    chosen = _chosen(maps, loops, of_name, looped, None)
    if chosen is None:
        return None
    around = tuple(dim for dim in of_name if dim in (*chosen, *looped))
    return Places((), (), around, tuple(dim for dim in of_name if dim not in around))


def _chosen(
    maps: Sequence[AffineMap],
    loops: Loops,
    most: Mapping[str, int],
    gone: Collection[str],
    limit: int | None,
) -> tuple[str, ...] | None:
    """The dimensions that are best taken out, beside those that are gone already."""
    open_ = [dim for dim in most if dim not in gone and _is_candidate(dim, maps)]
    names = list(most)
    best: tuple[tuple[int, int, int], tuple[str, ...]] | None = None
    for count in range(min(len(open_), _MOST_CANDIDATES) + 1):
        for chosen in itertools.combinations(open_[-_MOST_CANDIDATES:], count):
            counts = [most[dim] for dim in chosen]
            if DYNAMIC in counts or (limit is not None and math.prod(counts) > limit):
                continue
            place = dict.fromkeys((*chosen, *gone), 0)
            if any(axes_at(map_, place) is None for map_ in maps):
                continue
            parallel = [most[d] for d in chosen if names.index(d) not in loops.reductions]
            key = (math.prod(parallel), math.prod(counts), count)
            if best is None or key < best[0]:
                best = key, chosen
    return None if best is None else best[1]


def _is_candidate(dim: str, maps: Sequence[AffineMap]) -> bool:
    """Whether a dimension stands in an index that is no plain one, or twice in a map."""
    return any(
        (dim in index.dims and not isinstance(index, AffineDim))
        or [each for each in map_.results if each == AffineDim(dim)][1:]
        for map_ in maps
        for index in map_.results
    )


def reading(maps: Sequence[AffineMap], loops: Loops) -> tuple[int, AffineExpr, list[int]]:
    """The first operand that is read by no plain dimensions, at which index, and its loops.

    The loops are those of reductions, where there are any in a sum.
    """
    for number, map_ in enumerate(maps):
        for index in map_.results:
            if not isinstance(index, AffineDim | AffineConst):
                own = [map_.dims.index(dim) for dim in index.dims]
                is_sum = linear_terms(index) is not None
                summed = [n for n in own if n in loops.reductions and is_sum]
                return number, index, summed or own
    number = next(number for number, map_ in enumerate(maps) if not is_plain(map_))
    repeated = next(i for i in maps[number].results if maps[number].results.count(i) > 1)
    return number, repeated, [maps[number].dims.index(dim) for dim in repeated.dims]
