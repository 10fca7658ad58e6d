"""Images and preimages of tiles under affine maps.

The image: which part of an operand a part of the loops touches.

A sum of progressions, `oh*2 + kh*3`, is again one where they fill each other's gaps; otherwise the
answer is the smallest tile that holds the image, and says that it holds more.

The preimage of a tile under an affine map: which iterations touch a part of an operand.

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
from math import gcd, prod

from linalg_ext.errors import SubsetError, caller_location
from linalg_ext.symbolic.affine import (
    AffineBinary,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineMap,
    AffineSymbol,
    constant_value,
    terms_of,
)
from linalg_ext.symbolic.index_sets.relations import (
    Progression,
    common,
    convex_union,
    emptiness,
    is_empty,
    progressions,
    tile_of,
)
from linalg_ext.symbolic.index_sets.tile import Subset, Tile, as_tile
from linalg_ext.symbolic.integers import (
    Number,
    Operand,
    Truth,
    as_number,
    ceildiv,
    clamped,
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


@dataclass(frozen=True)
class Image:
    """The image of a tile under an affine map.

    Attributes:
        tile: a tile that holds every index that the map reaches.
        is_exact: True where the map is known to reach all of that tile, unless the domain is empty.
    """

    tile: Tile
    is_exact: bool


def image(map: AffineMap, domain: Subset, symbols: Mapping[str, Operand] | None = None) -> Image:
    """The indices that an affine map reaches from a part of its domain.

    Args:
        map: from the iteration space to an operand, for example.
        domain: a part of the space of the map's dimensions, of their rank.
        symbols: the value of each symbol of the map, by name.

    Raises:
        SubsetError: the rank is not that of the map, a symbol has no value, or a negative index
            is known to be reached.
    """
    tile = as_tile(domain)
    if tile.rank != len(map.dims):
        raise SubsetError(
            f"a subset of rank {tile.rank} for a map of {len(map.dims)} dimensions",
            where=caller_location(),
            expected=f"one dimension for each of ({', '.join(map.dims)})",
        )
    is_void = emptiness(tile)
    if is_void is True:
        zeros = (0,) * len(map.results)
        return Image(Tile(zeros, zeros), True)
    space = _Space(
        {name: as_number(value) for name, value in (symbols or {}).items()},
        dict(zip(map.dims, progressions(tile), strict=True)),
        is_void,
    )
    reached = [space.read(result) for result in map.results]
    # Results that move together reach a diagonal of their box.
    moving = [dim for index in reached for dim in index.dims if not index.indices.is_fixed]
    return Image(
        tile_of([index.indices for index in reached]),
        all(index.is_exact for index in reached) and len(moving) == len(set(moving)),
    )


@dataclass(frozen=True)
class _Reached:
    """A range that contains an index, whether it is exact, and the dimensions that move it."""

    indices: Progression
    is_exact: bool
    dims: frozenset[str]


@dataclass(frozen=True)
class _Space:
    symbols: Mapping[str, Number]
    dims: Mapping[str, Progression]
    is_void: Truth

    def read(self, expr: AffineExpr) -> _Reached:
        if expr.is_symbolic:
            return _fixed(self._value(expr))
        if isinstance(expr, AffineDim):
            if expr.name not in self.dims:
                raise SubsetError(
                    f"a result of the map has the dimension {expr.name}, which it does not list",
                    where=caller_location(),
                    expected=f"dimensions among ({', '.join(self.dims)})",
                )
            return _Reached(self.dims[expr.name], True, frozenset([expr.name]))
        if not isinstance(expr, AffineBinary):
            raise TypeError(f"unknown affine expression {type(expr).__name__}")
        if expr.kind in (AffineKind.ADD, AffineKind.MUL):
            return self._sum(expr)
        inner, divisor = self.read(expr.lhs), self._value(expr.rhs)
        if expr.kind is AffineKind.MOD:
            return _remainder(inner, divisor)
        # Rounded up: (x + q - 1) floordiv q.
        up = expr.kind is AffineKind.CEILDIV
        return _quotient(_shifted(inner, divisor - 1) if up else inner, divisor)

    def _value(self, expr: AffineExpr) -> Number:
        missing = [name for name in expr.symbols if name not in self.symbols]
        if missing:
            raise SubsetError(
                f"the map has the symbol {missing[0]}, whose value is not given",
                where=caller_location(),
                hint=f"give it: symbols={{{missing[0]!r}: ...}}",
            )
        values: dict[AffineExpr, Number] = {
            AffineSymbol(name): value for name, value in self.symbols.items()
        }
        return expr.evaluate(values)

    def _sum(self, expr: AffineExpr) -> _Reached:
        """A linear combination, each of its terms taken once, with all its factors."""
        constant: Number = 0
        factors: dict[AffineExpr, Number] = {}
        for term, factor in self._terms(expr, 1):
            if term is None:
                constant = constant + factor
            else:
                factors[term] = factors.get(term, 0) + factor
        terms = [
            self._times(self.read(term), factor) for term, factor in factors.items() if factor != 0
        ]
        if not terms:
            return _fixed(constant)
        return _shifted(terms[0] if len(terms) == 1 else self._added(terms), constant)

    def _terms(self, expr: AffineExpr, factor: Number) -> list[tuple[AffineExpr | None, Number]]:
        if expr.is_symbolic:
            return [(None, self._value(expr) * factor)]
        if isinstance(expr, AffineBinary) and expr.kind is AffineKind.ADD:
            return [*self._terms(expr.lhs, factor), *self._terms(expr.rhs, factor)]
        if isinstance(expr, AffineBinary) and expr.kind is AffineKind.MUL:
            return self._terms(expr.lhs, factor * self._value(expr.rhs))
        return [(expr, factor)]

    def _times(self, reached: _Reached, factor: Number) -> _Reached:
        offset, size, stride = reached.indices
        last = select(self.is_void, offset, reached.indices.last)
        if is_le(1, factor):
            indices = Progression(offset * factor, size, stride * factor)
        elif is_le(factor, -1):
            # The progression is reversed, so that the stride stays positive.
            indices = Progression(last * factor, size, stride * -factor)
        else:
            ends = (offset * factor, last * factor)
            first = minimum(*ends)
            indices = Progression(first, maximum(*ends) - first + 1, 1)
            return _Reached(indices, reached.indices.is_fixed, reached.dims)
        return _Reached(indices, reached.is_exact, reached.dims)

    def _added(self, terms: Sequence[_Reached]) -> _Reached:
        moving = [term.indices for term in terms if not term.indices.is_fixed]
        strides = [indices.stride for indices in moving]
        stride = strides[0] if len(strides) == 1 else gcd(*map(known_divisor, strides)) or 1
        first: Number = 0
        last: Number = 0
        for term in terms:
            first, last = first + term.indices.offset, last + term.indices.last
        dims = [dim for term in terms for dim in term.dims]
        is_exact = all(term.is_exact for term in terms) and len(dims) == len(set(dims))
        size = select(self.is_void, 0, floordiv(last - first, stride) + 1)
        return _Reached(
            Progression(first, size, stride),
            is_exact and _fill_gaps(moving, stride),
            frozenset(dims),
        )


def _fixed(value: Number) -> _Reached:
    return _Reached(Progression(value, 1, 1), True, frozenset())


def _shifted(reached: _Reached, distance: Number) -> _Reached:
    indices = reached.indices
    moved = indices._replace(offset=indices.offset + distance)
    return _Reached(moved, reached.is_exact, reached.dims)


def _fill_gaps(moving: Sequence[Progression], stride: Number) -> bool:
    """Return whether the sums are all the multiples of a stride that lie between their ends."""
    if len(moving) < 2:
        return True
    known = [
        (progression.stride, progression.size)
        for progression in moving
        if isinstance(progression.stride, int)
    ]
    if len(known) < len(moving):
        return False
    covered = stride
    for step, size in sorted(known, key=lambda pair: pair[0]):
        # So far every multiple below `covered` is reached: a larger step must not jump over it.
        if is_le(step, covered) is not True:
            return False
        covered = covered + (size - 1) * step
    return True


def _quotient(inner: _Reached, divisor: Number) -> _Reached:
    offset, size, stride = inner.indices
    first, last = floordiv(offset, divisor), floordiv(inner.indices.last, divisor)
    if is_eq(modulo(stride, divisor), 0):
        indices = Progression(first, size, floordiv(stride, divisor))
        return _Reached(indices, inner.is_exact, inner.dims)
    # A step of at most q skips no quotient.
    is_exact = inner.is_exact and (is_le(stride, divisor) is True or inner.indices.is_fixed)
    indices = Progression(first, select(equal(size, 0), 0, last - first + 1), 1)
    return _Reached(indices, is_exact, inner.dims)


def _remainder(inner: _Reached, divisor: Number) -> _Reached:
    offset, size, stride = inner.indices
    start = modulo(offset, divisor)
    if is_eq(modulo(stride, divisor), 0) or inner.indices.is_fixed:
        return _Reached(Progression(start, minimum(size, 1), 1), inner.is_exact, inner.dims)
    if is_eq(floordiv(offset, divisor), floordiv(inner.indices.last, divisor)):
        # It does not wrap around.
        return _Reached(Progression(start, size, stride), inner.is_exact, inner.dims)
    step = gcd(known_divisor(stride), known_divisor(divisor)) or 1
    first = modulo(offset, step)
    count = floordiv(divisor - 1 - first, step) + 1
    # As many in a row as there are remainders that the step can reach take each of them.
    is_full = isinstance(stride, int) and isinstance(divisor, int) and is_le(count, size) is True
    indices = Progression(first, select(equal(size, 0), 0, count), step)
    return _Reached(indices, inner.is_exact and is_full, inner.dims)


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
    tile, data_tile = as_tile(domain), as_tile(data)
    if map.symbols or (tile.rank, data_tile.rank) != (len(map.dims), len(map.results)):
        raise SubsetError(
            f"subsets of ranks {tile.rank} and {data_tile.rank} for {map}",
            where=caller_location(),
            expected=f"ranks {len(map.dims)} and {len(map.results)}, and a map without symbols",
        )
    boxes: list[_Box] = [dict(zip(map.dims, progressions(tile), strict=True))]
    is_exact = True
    for index, part in zip(map.results, progressions(data_tile), strict=True):
        smaller: list[_Box] = []
        for box in boxes:
            solution = _solve(index, part, box, MOST_TILES // len(boxes))
            smaller += solution.boxes
            is_exact = is_exact and solution.is_exact
        boxes = smaller
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
    return _joined([_solve(expr.substitute(point), part, piece, room) for piece, point in pieces])


def _solve_term(
    term: AffineExpr, factor: int, part: Progression, constant: int, box: _Box, room: int
) -> _Solution:
    """Return the points at which `term * factor + constant` is in a progression."""
    values = _scaled(_range(term, box), factor)
    shared = common(values._replace(offset=values.offset + constant), part)
    if shared.size == 0:
        return _NONE
    first = shared.offset if factor > 0 else shared.last
    distance = first - constant if factor > 0 else constant - first
    target = Progression(
        floordiv(distance, abs(factor)), shared.size, floordiv(shared.stride, abs(factor))
    )
    if isinstance(term, AffineDim):
        return _Solution(({**box, term.name: target},), True)
    if not isinstance(term, AffineBinary):
        raise TypeError(f"unknown affine term {type(term).__name__}")
    divisor = _divisor(term)
    if term.kind is AffineKind.MOD:
        return _solve_remainder(term.lhs, divisor, target, box, room)
    # Rounded up: (x + q - 1) floordiv q.
    up = divisor - 1 if term.kind is AffineKind.CEILDIV else 0
    return _solve_quotient(term.lhs, divisor, up, target, box, room)


def _solve_quotient(
    inner: AffineExpr, divisor: int, up: int, target: Progression, box: _Box, room: int
) -> _Solution:
    if target.stride == 1 or target.is_fixed:
        runs = Progression(target.offset * divisor - up, target.size * divisor, 1)
        return _solve(inner, runs, box, room)
    values = _values(target, room)
    if values is None:
        end = target.last * divisor - up + divisor
        first = target.offset * divisor - up
        solution = _solve(inner, Progression(first, end - first, 1), box, room)
        return _Solution(solution.boxes, False)
    runs_of = (Progression(value * divisor - up, divisor, 1) for value in values)
    return _joined([_solve(inner, run, box, room // len(values)) for run in runs_of])


def _solve_remainder(
    inner: AffineExpr, divisor: int, target: Progression, box: _Box, room: int
) -> _Solution:
    values = _values(target, room)
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
    """The dimensions to enumerate so that one term remains; None if they have too many values."""
    choices = []
    for free in terms:
        names = {dim for term in terms if term != free for dim in term.dims}
        counts = [_count(box[name]) for name in names]
        finite = [count for count in counts if count is not None]
        if len(finite) == len(counts) and prod(finite) <= room:
            choices.append((prod(finite), sorted(names)))
    return min(choices)[1] if choices else None


def _count(dim: Progression) -> int | None:
    offset, size, stride = dim
    is_static = isinstance(offset, int) and isinstance(stride, int) and isinstance(size, int)
    return size if is_static and isinstance(size, int) else None


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
    """The box with each dimension cut to its values for any values of the other dimensions."""
    ranges = {term: _scaled(_range(term, box), factor) for term, factor in terms.items()}
    hull = dict(box)
    for term, factor in terms.items():
        if not isinstance(term, AffineDim):
            continue
        rest = [progression for key, progression in ranges.items() if key != term]
        least = part.offset - constant - sum((progression.last for progression in rest), 0)
        most = part.last - constant - sum((progression.offset for progression in rest), 0)
        if factor < 0:
            least, most = -most, -least
        lowest, highest = ceildiv(least, abs(factor)), floordiv(most, abs(factor))
        own = box[term.name]
        first = clamped(ceildiv(lowest - own.offset, own.stride), 0, own.size)
        end = clamped(floordiv(highest - own.offset, own.stride) + 1, first, own.size)
        hull[term.name] = own.part(first, end - first)
    return hull


def _range(expr: AffineExpr, box: _Box) -> Progression:
    """A progression that contains all values of an expression in a box, and perhaps more."""
    if isinstance(expr, AffineDim):
        return box[expr.name]
    terms, constant = terms_of(expr)
    if len(terms) == 1 and expr in terms and isinstance(expr, AffineBinary):
        return _range_of_division(expr, box)
    ranges = [_scaled(_range(term, box), factor) for term, factor in terms.items()]
    first = sum((progression.offset for progression in ranges), constant)
    last = sum((progression.last for progression in ranges), constant)
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
    if factor < 0:
        return Progression(dim.last * factor, dim.size, dim.stride * -factor)
    return Progression(dim.offset * factor, dim.size, dim.stride * factor)
