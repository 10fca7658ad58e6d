"""Which loops of an op are to be unrolled, so that what is left is read by plain dimensions.

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
from linalg_ext.definition.shapes import linear_terms

from ._facts import DYNAMIC, Loops

_MOST_CANDIDATES = 10
"""Loops that are tried to be unrolled in all their combinations."""


@dataclass(frozen=True)
class Axis:
    """How one dimension of an operand is read at one place.

    Attributes:
        dim: the dimension that it is read along; None where one element of it is read.
        offset: the first element that is read.
        stride: how far it is to the next one.
    """

    dim: str | None
    offset: int = 0
    stride: int = 1

    @property
    def is_whole(self) -> bool:
        """Whether it may be read from end to end: whether it is, its size says."""
        return self.dim is not None and not self.offset and self.stride == 1


@dataclass(frozen=True)
class Places:
    """Which loops are unrolled.

    Attributes:
        dims: their names, outermost first.
        counts: how many copies each makes.
        kept: the dimensions that are left.
    """

    dims: tuple[str, ...]
    counts: tuple[int, ...]
    kept: tuple[str, ...]

    def __iter__(self) -> Iterator[dict[str, int]]:
        """The places, in the order of the loops."""
        for numbers in itertools.product(*map(range, self.counts)):
            yield dict(zip(self.dims, numbers, strict=True))

    def __len__(self) -> int:
        return math.prod(self.counts)

    def left_of(self, map_: AffineMap) -> AffineMap:
        """What is left of an indexing map, whichever the place is."""
        axes = axes_at(map_, dict.fromkeys(self.dims, 0)) or []
        read = tuple(AffineDim(axis.dim) for axis in axes if axis.dim is not None)
        return AffineMap(self.kept, (), read)


def is_plain(map_: AffineMap) -> bool:
    """Whether all indices are dimensions, each at most once, or constants."""
    dims = [index for index in map_.results if not isinstance(index, AffineConst)]
    return all(isinstance(index, AffineDim) for index in dims) and len(set(dims)) == len(dims)


def axes_at(map_: AffineMap, place: Mapping[str, int]) -> list[Axis] | None:
    """How an operand is read where some dimensions are numbers; None: not as a slice."""
    numbers: dict[AffineExpr, AffineExpr | int] = {AffineDim(d): n for d, n in place.items()}
    axes = [_axis(index.substitute(numbers)) for index in map_.results]
    found = [axis for axis in axes if axis is not None]
    dims = [axis.dim for axis in found if axis.dim is not None]
    return found if len(found) == len(axes) and len(set(dims)) == len(dims) else None


def _axis(index: AffineExpr) -> Axis | None:
    terms = linear_terms(index)
    if terms is None:
        return None
    (factors, offset) = terms
    match [(dim, factor) for dim, factor in factors.items() if factor]:
        case []:
            return Axis(None, offset)
        case [(dim, factor)] if factor > 0:
            return Axis(dim, offset, factor)
    return None


def places_of(
    maps: Sequence[AffineMap], loops: Loops, most: Sequence[int], *, limit: int
) -> Places | None:
    """The loops whose unrolling leaves plain dimensions; None where they make too many copies.

    Parallel loops are kept where they can be: each of their places writes a slice of the result of
    its own. Of what is left to choose from, the fewest copies are made.

    Args:
        maps: of all operands.
        loops: of the op.
        most: how often each loop runs at most; `DYNAMIC` where that is not known.
        limit: of copies.
    """
    names = maps[0].dims
    of_name = dict(zip(names, most, strict=True))
    open_ = [dim for dim in names if _is_candidate(dim, maps)]
    best: tuple[tuple[int, int, int], Collection[str]] | None = None
    if len(open_) > _MOST_CANDIDATES:
        open_ = [dim for dim in open_ if 0 < of_name[dim] <= limit][:_MOST_CANDIDATES]
    for count in range(len(open_) + 1):
        for chosen in itertools.combinations(open_, count):
            counts = [of_name[dim] for dim in chosen]
            if DYNAMIC in counts or math.prod(counts) > limit:
                continue
            place = dict.fromkeys(chosen, 0)
            if any(axes_at(map_, place) is None for map_ in maps):
                continue
            parallel = [of_name[d] for d in chosen if names.index(d) not in loops.reductions]
            key = (math.prod(parallel), math.prod(counts), count)
            if best is None or key < best[0]:
                best = key, chosen
    if best is None:
        return None
    dims = tuple(dim for dim in names if dim in best[1])
    kept = tuple(dim for dim in names if dim not in dims)
    return Places(dims, tuple(of_name[dim] for dim in dims), kept)


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
