"""The preimage of a tile under an affine map: which iterations touch a part of an operand.

An index of one loop, `oh*2 + 1`, asks for a progression of the loop, and so do `i floordiv q` (runs
of q) and `i mod q` (a progression for each remainder). An index of several loops, `oh*2 + kh*3`,
asks for a band that no tile is; where the loops but one are short and known, it is given as a tile
for each of their iterations, otherwise as the smallest tile that holds it, which is said.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from linalg_ext.definition.affine import (
    AffineBinary,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineMap,
    constant_value,
    terms_of,
)
from linalg_ext.errors import SubsetError, caller_location
from linalg_ext.symbolic.index_sets.progressions import Progression, progressions, tile_of
from linalg_ext.symbolic.index_sets.relations import common, convex_union, is_empty
from linalg_ext.symbolic.index_sets.tile import Subset, Tile, as_tile
from linalg_ext.symbolic.integers import ceildiv, clamped, floordiv, is_eq, is_le, maximum, modulo

MOST_TILES = 256
"""Beyond this number of tiles an answer is the one tile that holds them all."""


@dataclass(frozen=True)
class Preimage:
    """The part of a domain that an affine map takes into a tile.

    Attributes:
        tiles: disjoint tiles that hold every such index; none if absent.
        is_exact: whether they are known to hold no other.
    """

    tiles: tuple[Tile, ...]
    is_exact: bool

    @property
    def tile(self) -> Tile:
        """The smallest tile that holds all of them.

        Raises:
            SubsetError: there is none.
        """
        if not self.tiles:
            raise SubsetError("the preimage of the tile is empty", where=caller_location())
        return reduce(convex_union, self.tiles)


def preimage(map: AffineMap, data: Subset, domain: Subset) -> Preimage:
    """The indices of a domain that a map takes into a part of its range.

    Args:
        map: from the iteration space to an operand, without symbols.
        data: a part of the operand.
        domain: a part of the iteration space.

    Raises:
        SubsetError: the ranks are not those of the map, or the map has symbols.
    """
    tile, wanted = as_tile(domain), as_tile(data)
    if map.symbols or (tile.rank, wanted.rank) != (len(map.dims), len(map.results)):
        raise SubsetError(
            f"subsets of ranks {tile.rank} and {wanted.rank} for {map}",
            where=caller_location(),
            expected=f"ranks {len(map.dims)} and {len(map.results)}, and a map without symbols",
        )
    boxes: list[_Box] = [dict(zip(map.dims, progressions(tile), strict=True))]
    is_exact = True
    for index, part in zip(map.results, progressions(wanted), strict=True):
        found: list[_Box] = []
        for box in boxes:
            solution = _solve(index, part, box, MOST_TILES // len(boxes))
            found += solution.boxes
            is_exact = is_exact and solution.is_exact
        boxes = found
    tiles = (tile_of(list(box.values())) for box in boxes)
    return Preimage(tuple(tile for tile in tiles if is_empty(tile) is not True), is_exact)


_Box = Mapping[str, Progression]
"""A part of the domain: the progression of each dimension."""

_Values = Mapping[AffineExpr, AffineExpr | int]
"""Numbers for dimensions."""


@dataclass(frozen=True)
class _Solution:
    boxes: Sequence[_Box]
    is_exact: bool


_NONE = _Solution((), True)


def _solve(expr: AffineExpr, part: Progression, box: _Box, room: int) -> _Solution:
    """The part of a box where an index is in a progression, in at most `room` boxes."""
    reached = _range(expr, box)
    if is_le(reached.last, part.offset - 1) is True or is_le(part.last, reached.offset - 1) is True:
        return _NONE
    is_held = is_le(part.offset, reached.offset) is True and is_le(reached.last, part.last) is True
    if is_held and part.stride == 1:
        return _Solution((box,), True)
    terms, constant = terms_of(expr)
    if not terms:
        size = common(Progression(constant, 1, 1), part).size
        return _NONE if size == 0 else _Solution((box,), is_eq(size, 1) is True)
    if len(terms) == 1:
        ((term, factor),) = terms.items()
        return _solve_term(term, factor, part, constant, box, room)
    fixed = _to_enumerate(terms, box, room)
    if fixed is None:
        return _Solution((_hull(constant, terms, part, box),), False)
    pieces = list(_each_point(box, fixed))
    room //= max(len(pieces), 1)
    return _joined([_solve(expr.substitute(at), part, piece, room) for piece, at in pieces])


def _solve_term(
    term: AffineExpr, factor: int, part: Progression, constant: int, box: _Box, room: int
) -> _Solution:
    """Return the points at which `term * factor + constant` is in a progression."""
    values = _scaled(_range(term, box), factor)
    met = common(values._replace(offset=values.offset + constant), part)
    if met.size == 0:
        return _NONE
    first = met.offset if factor > 0 else met.last
    distance = first - constant if factor > 0 else constant - first
    wanted = Progression(
        floordiv(distance, abs(factor)), met.size, floordiv(met.stride, abs(factor))
    )
    if isinstance(term, AffineDim):
        return _Solution(({**box, term.name: wanted},), True)
    if not isinstance(term, AffineBinary):
        raise TypeError(f"unknown affine term {type(term).__name__}")
    divisor = _divisor(term)
    if term.kind is AffineKind.MOD:
        return _solve_remainder(term.lhs, divisor, wanted, box, room)
    # Rounded up: (x + q - 1) floordiv q.
    up = divisor - 1 if term.kind is AffineKind.CEILDIV else 0
    return _solve_quotient(term.lhs, divisor, up, wanted, box, room)


def _solve_quotient(
    inner: AffineExpr, divisor: int, up: int, wanted: Progression, box: _Box, room: int
) -> _Solution:
    if wanted.stride == 1 or wanted.is_fixed:
        runs = Progression(wanted.offset * divisor - up, wanted.size * divisor, 1)
        return _solve(inner, runs, box, room)
    values = _values(wanted, room)
    if values is None:
        end = wanted.last * divisor - up + divisor
        first = wanted.offset * divisor - up
        solution = _solve(inner, Progression(first, end - first, 1), box, room)
        return _Solution(solution.boxes, False)
    runs_of = (Progression(value * divisor - up, divisor, 1) for value in values)
    return _joined([_solve(inner, run, box, room // len(values)) for run in runs_of])


def _solve_remainder(
    inner: AffineExpr, divisor: int, wanted: Progression, box: _Box, room: int
) -> _Solution:
    values = _values(wanted, room)
    if values is None:
        return _Solution((box,), False)
    if len(values) == divisor:
        return _Solution((box,), True)
    reached = _range(inner, box)
    solutions = []
    for value in values:
        first = reached.offset + modulo(value - reached.offset, divisor)
        count = maximum(0, floordiv(reached.last - first, divisor) + 1)
        part = Progression(first, count, divisor)
        solutions.append(_solve(inner, part, box, room // len(values)))
    return _joined(solutions)


def _joined(solutions: Sequence[_Solution]) -> _Solution:
    boxes = [box for solution in solutions for box in solution.boxes]
    return _Solution(boxes, all(solution.is_exact for solution in solutions))


def _to_enumerate(terms: Mapping[AffineExpr, int], box: _Box, room: int) -> list[str] | None:
    """The dimensions to take one by one, so that one term is left; None where they are too many."""
    choices = []
    for free in terms:
        names = {dim for term in terms if term != free for dim in term.dims}
        counts = [_count(box[name]) for name in names]
        known = [count for count in counts if count is not None]
        if len(known) == len(counts) and prod(known) <= room:
            choices.append((prod(known), sorted(names)))
    return min(choices)[1] if choices else None


def _count(dim: Progression) -> int | None:
    offset, size, stride = dim
    known = isinstance(offset, int) and isinstance(stride, int) and isinstance(size, int)
    return size if known and isinstance(size, int) else None


def _values(dim: Progression, room: int) -> list[int] | None:
    offset, size, stride = dim
    if isinstance(offset, int) and isinstance(stride, int) and isinstance(size, int):
        return [offset + k * stride for k in range(size)] if size <= max(room, 1) else None
    return None


def _each_point(box: _Box, names: Sequence[str]) -> Iterator[tuple[_Box, _Values]]:
    """The box cut along some dimensions, each piece with the numbers of these."""
    ranges = [_values(box[name], MOST_TILES) or [] for name in names]
    for point in itertools.product(*ranges):
        fixed = {name: Progression(i, 1, 1) for name, i in zip(names, point, strict=True)}
        numbers: _Values = {AffineDim(name): i for name, i in zip(names, point, strict=True)}
        yield {**box, **fixed}, numbers


def _hull(constant: int, terms: Mapping[AffineExpr, int], part: Progression, box: _Box) -> _Box:
    """The box with each dimension cut to what it may be, whatever the others are."""
    ranges = {term: _scaled(_range(term, box), factor) for term, factor in terms.items()}
    found = dict(box)
    for term, factor in terms.items():
        if not isinstance(term, AffineDim):
            continue
        others = [each for key, each in ranges.items() if key != term]
        least = part.offset - constant - sum((each.last for each in others), 0)
        most = part.last - constant - sum((each.offset for each in others), 0)
        if factor < 0:
            least, most = -most, -least
        lowest, highest = ceildiv(least, abs(factor)), floordiv(most, abs(factor))
        own = box[term.name]
        first = clamped(ceildiv(lowest - own.offset, own.stride), 0, own.size)
        end = clamped(floordiv(highest - own.offset, own.stride) + 1, first, own.size)
        found[term.name] = own.part(first, end - first)
    return found


def _range(expr: AffineExpr, box: _Box) -> Progression:
    """A progression that holds all values of an expression in a box; there may be others in it."""
    if isinstance(expr, AffineDim):
        return box[expr.name]
    terms, constant = terms_of(expr)
    if len(terms) == 1 and expr in terms and isinstance(expr, AffineBinary):
        return _range_of_division(expr, box)
    ranges = [_scaled(_range(term, box), factor) for term, factor in terms.items()]
    first = sum((each.offset for each in ranges), constant)
    last = sum((each.last for each in ranges), constant)
    return Progression(first, last - first + 1, 1)


def _range_of_division(expr: AffineBinary, box: _Box) -> Progression:
    inner = _range(expr.lhs, box)
    divisor = _divisor(expr)
    if expr.kind is AffineKind.MOD:
        if is_le(0, inner.offset) is True and is_le(inner.last, divisor - 1) is True:
            return inner
        return Progression(0, divisor, 1)
    divide = ceildiv if expr.kind is AffineKind.CEILDIV else floordiv
    first, last = divide(inner.offset, divisor), divide(inner.last, divisor)
    return Progression(first, last - first + 1, 1)


def _divisor(expr: AffineBinary) -> int:
    divisor = constant_value(expr.rhs)
    if divisor is None:
        raise TypeError(
            f"{expr} divides by an expression that is not a number, in a map without symbols"
        )
    return divisor


def _scaled(dim: Progression, factor: int) -> Progression:
    """The products of a factor with the elements of a progression, ascending."""
    if factor < 0:
        return Progression(dim.last * factor, dim.size, dim.stride * -factor)
    return Progression(dim.offset * factor, dim.size, dim.stride * factor)
