"""The image of a tile under an affine map: which part of an operand a part of the loops touches.

A sum of progressions, `oh*2 + kh*3`, is again one where they fill each other's gaps; otherwise the
answer is the smallest tile that holds the image, and says that it holds more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from linalg_ext.definition.affine import (
    AffineBinary,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineMap,
    AffineSymbol,
)
from linalg_ext.errors import SubsetError, caller_location
from linalg_ext.symbolic.index_sets.progressions import Progression, progressions, tile_of
from linalg_ext.symbolic.index_sets.relations import emptiness
from linalg_ext.symbolic.index_sets.tile import Subset, Tile, as_tile
from linalg_ext.symbolic.integers import (
    Number,
    Operand,
    Truth,
    as_number,
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
        nothing = (0,) * len(map.results)
        return Image(Tile(nothing, nothing), True)
    space = _Space(
        {name: as_number(value) for name, value in (symbols or {}).items()},
        dict(zip(map.dims, progressions(tile), strict=True)),
        is_void,
    )
    reached = [space.read(result) for result in map.results]
    # Results that move together reach a diagonal of their box.
    moving = [dim for each in reached for dim in each.dims if not each.indices.is_fixed]
    return Image(
        tile_of([each.indices for each in reached]),
        all(each.is_exact for each in reached) and len(moving) == len(set(moving)),
    )


@dataclass(frozen=True)
class _Reached:
    """The values of one index, whether it takes all of them, and the dimensions that move it."""

    indices: Progression
    is_exact: bool
    dims: frozenset[str]


@dataclass(frozen=True)
class _Space:
    """The values of the names in index expressions."""

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
        return _quotient(_moved(inner, divisor - 1) if up else inner, divisor)

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
        return _moved(terms[0] if len(terms) == 1 else self._added(terms), constant)

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
            # From the other end, so that the stride stays positive.
            indices = Progression(last * factor, size, stride * -factor)
        else:
            ends = (offset * factor, last * factor)
            first = minimum(*ends)
            indices = Progression(first, maximum(*ends) - first + 1, 1)
            return _Reached(indices, reached.indices.is_fixed, reached.dims)
        return _Reached(indices, reached.is_exact, reached.dims)

    def _added(self, terms: Sequence[_Reached]) -> _Reached:
        """All sums of one value of each term."""
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


def _moved(reached: _Reached, distance: Number) -> _Reached:
    indices = reached.indices
    moved = indices._replace(offset=indices.offset + distance)
    return _Reached(moved, reached.is_exact, reached.dims)


def _fill_gaps(moving: Sequence[Progression], stride: Number) -> bool:
    """Return whether the sums are all the multiples of a stride that lie between their ends."""
    if len(moving) < 2:
        return True
    known = [(each.stride, each.size) for each in moving if isinstance(each.stride, int)]
    if len(known) < len(moving):
        return False
    covered = stride
    for step, size in sorted(known, key=lambda each: each[0]):
        # So far every multiple below `covered` is reached: a larger step must not jump over it.
        if is_le(step, covered) is not True:
            return False
        covered = covered + (size - 1) * step
    return True


def _quotient(inner: _Reached, divisor: Number) -> _Reached:
    """`x floordiv q` of all x of a progression."""
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
    """`x mod q` of all x of a progression."""
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
