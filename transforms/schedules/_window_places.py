"""The loops to take out of an op, so that the rest reads its operands by plain dimensions.

input  (n, oh + kh, 2 * ow + kw, c)     unrolled: kh, kw
place  kh = 0, kw = 2                   input (n, oh, ow, c), a slice of it from 0 and 2 on,
                                        the second by steps of 2
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from linalg_ext.definition.affine import AffineConst, AffineDim, AffineExpr, AffineMap, linear_terms
from linalg_ext.symbolic.integers import Number

from ._facts import DYNAMIC, Loops

_MOST_CANDIDATES = 10
"""The most loops whose combinations are all tried."""

_MANY = 1 << 20
"""The trip count assumed for a loop of unknown trip count."""


@dataclass(frozen=True)
class Axis:
    """The part of one dimension of an operand that is read at one place.

    Attributes:
        dim: the loop dimension along which it is read; None where one element of it is read.
        offset: the first element that is read.
        stride: the distance to the next element.
    """

    dim: str | None
    offset: Number = 0
    stride: int = 1

    @property
    def is_whole(self) -> bool:
        """True where the dimension may be read from end to end; that depends on its size, too."""
        return self.dim is not None and self.offset == 0 and self.stride == 1


@dataclass(frozen=True)
class Places:
    """The loops that are taken out of an op.

    Attributes:
        dims: the dimensions that are unrolled, outermost first.
        counts: the number of copies that each makes.
        looped: the dimensions that become loops around the copies, outermost first.
        kept: the dimensions that stay in the op.
    """

    dims: tuple[str, ...]
    counts: tuple[int, ...]
    looped: tuple[str, ...]
    kept: tuple[str, ...]

    def __iter__(self) -> Iterator[dict[str, int]]:
        """Yield the places that are unrolled, in the order of the loops."""
        for numbers in itertools.product(*map(range, self.counts)):
            yield dict(zip(self.dims, numbers, strict=True))

    def __len__(self) -> int:
        return math.prod(self.counts)

    def left_of(self, map_: AffineMap) -> AffineMap:
        """Return the rest of an indexing map; it is the same at every place."""
        axes = axes_at(map_, dict.fromkeys((*self.dims, *self.looped), 0)) or []
        read = tuple(AffineDim(axis.dim) for axis in axes if axis.dim is not None)
        return AffineMap(self.kept, (), read)


def is_plain(map_: AffineMap) -> bool:
    """Return whether all indices are constants or dimensions, each dimension at most once."""
    dims = [index for index in map_.results if not isinstance(index, AffineConst)]
    return all(isinstance(index, AffineDim) for index in dims) and len(set(dims)) == len(dims)


def axes_at(map_: AffineMap, place: Mapping[str, Number]) -> list[Axis] | None:
    """Return the axes of the slice that is read at a place; None where it is no slice."""
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
    """Choose the loops without which all operands are read by plain dimensions.

    Parallel loops are kept where they can be: each of their places writes its own slice of the
    result. Among the choices left, the one with the fewest copies is taken. The result is None
    where all choices make more copies than `limit`.

    Args:
        maps: the indexing maps of all operands.
        loops: the loops of the op.
        most: the largest trip count of each loop; `DYNAMIC` if unknown.
        limit: the most copies.
        looped: the dimensions that become loops in any case.
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
    """Choose as `places_of` does, with loops of any trip count in place of copies.

    The result is None where no choice leaves plain dimensions.
    """
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
    """Return the best dimensions to take out, besides those that are gone already."""
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
    """Return whether a dimension is part of a computed index, or is an index twice in a map."""
    return any(
        (dim in index.dims and not isinstance(index, AffineDim))
        or [each for each in map_.results if each == AffineDim(dim)][1:]
        for map_ in maps
        for index in map_.results
    )


def reading(maps: Sequence[AffineMap], loops: Loops) -> tuple[int, AffineExpr, list[int]]:
    """Return the first operand that is not read by plain dimensions, its index, and its loops.

    Where the index is a sum with reduction loops, only those loops are returned.
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
