"""Affine expressions and maps, by the names of their dimensions and symbols.

The language is that of MLIR's affine expressions (LLVM, "Affine Dialect"), without MLIR. An
expression is simplified when it is built, in the canonical form that MLIR builds and prints. So the
text of a map is the same on both sides.

    >>> d, s = AffineDim("oh"), AffineSymbol("SH")
    >>> s * d + 2
    oh * SH + 2
    >>> AffineMap(("oh",), ("SH",), (s * d + 2,))
    affine_map<(d0)[s0] -> (d0 * s0 + 2)>
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from math import gcd
from typing import Any, ClassVar, NoReturn, TypeVar

from linalg_ext.errors import DefinitionError, caller_location


class AffineKind(Enum):
    """The binary operations of affine expressions, as MLIR spells them."""

    ADD = "+"
    MUL = "*"
    MOD = "mod"
    FLOORDIV = "floordiv"
    CEILDIV = "ceildiv"


def _operators(
    kind: AffineKind,
) -> tuple[
    Callable[[AffineExpr, AffineExpr | int], AffineExpr], Callable[[AffineExpr, int], AffineExpr]
]:
    """The methods of an operator: with the expression on the left, and on the right."""
    return (
        lambda self, other: _BUILD[kind](self, _operand(other)),
        lambda self, other: _BUILD[kind](_operand(other), self),
    )


def _comparison(compare: Callable[[Any, Any], Any]) -> Callable[[AffineExpr, Any], Any]:
    return lambda self, other: compare(self.as_number(), _as_number(other))


class AffineExpr:
    """An affine expression. Operators: `+ - *`, `//` (floordiv), `/` (ceildiv), `%` (mod).

    A comparison, `D.k <= D.n`, is a scalar expression of the positions.

    Raises:
        DefinitionError: the result would not be affine (a product of two dimensions, a division by
            a dimension or by zero, a modulus that is not positive).
    """

    __slots__ = ()

    as_number: ClassVar[Callable[[AffineExpr], Any]]
    """Returns the scalar expression of an index; `scalar` sets it, which knows both."""

    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)

    def __index__(self) -> NoReturn:
        self._refuse("is used as a number, and has none")

    def __iter__(self) -> NoReturn:
        self._refuse("is looped over, and has no elements")

    def _refuse(self, fact: str) -> NoReturn:
        raise DefinitionError(
            f"`{self}` {fact} when the operation is declared",
            where=caller_location(),
            hint="name the loop by a dimension in the place of range(...): "
            "C[D.m] += A[D.m, D.k] runs over all k",
        )

    __add__, __radd__ = _operators(AffineKind.ADD)
    __mul__, __rmul__ = _operators(AffineKind.MUL)
    __floordiv__, __rfloordiv__ = _operators(AffineKind.FLOORDIV)
    __truediv__, __rtruediv__ = _operators(AffineKind.CEILDIV)
    __mod__, __rmod__ = _operators(AffineKind.MOD)

    def __neg__(self) -> AffineExpr:
        return _mul(self, AffineConst(-1))

    def __sub__(self, other: AffineExpr | int) -> AffineExpr:
        return _add(self, _mul(_operand(other), AffineConst(-1)))

    def __rsub__(self, other: int) -> AffineExpr:
        return _add(_operand(other), -self)

    @property
    def is_symbolic(self) -> bool:
        """Return whether no dimension occurs: built from symbols and constants alone."""
        return not any(isinstance(leaf, AffineDim) for leaf in self.leaves())

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions that occur, in order, each once."""
        return _names(self, AffineDim)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the symbols that occur, in order, each once."""
        return _names(self, AffineSymbol)

    def leaves(self) -> Iterator[AffineDim | AffineSymbol | AffineConst]:
        """The dimensions, symbols and constants, from left to right."""
        if isinstance(self, AffineBinary):
            yield from self.lhs.leaves()
            yield from self.rhs.leaves()
        elif isinstance(self, (AffineDim, AffineSymbol, AffineConst)):
            yield self

    def parts(self) -> Iterator[AffineBinary]:
        """The sums, products, quotients and remainders that this is made of."""
        if isinstance(self, AffineBinary):
            yield self
            yield from self.lhs.parts()
            yield from self.rhs.parts()

    def substitute(self, values: Mapping[AffineExpr, AffineExpr | int]) -> AffineExpr:
        """The expression with dimensions and symbols replaced, simplified again."""
        if isinstance(self, AffineBinary):
            lhs, rhs = self.lhs.substitute(values), self.rhs.substitute(values)
            return _BUILD[self.kind](lhs, rhs)
        return _operand(values.get(self, self))

    def evaluate(self, values: Mapping[AffineExpr, T]) -> T | int:
        """The value of the expression, given one for each dimension and symbol.

        Values may be integers or integer NumPy arrays. Division rounds down (floordiv), up
        (ceildiv); the modulus is never negative.
        """
        if isinstance(self, AffineConst):
            return self.value
        if not isinstance(self, AffineBinary):
            return values[self]
        lhs, rhs = self.lhs.evaluate(values), self.rhs.evaluate(values)
        value: T | int = _EVALUATE[self.kind](lhs, rhs)
        return value

    def __str__(self) -> str:
        return _render(self, tight=False)

    __repr__ = __str__


T = TypeVar("T")


@dataclass(frozen=True, slots=True, repr=False)
class AffineDim(AffineExpr):
    """A dimension of the iteration space."""

    name: str


@dataclass(frozen=True, slots=True, repr=False)
class AffineSymbol(AffineExpr):
    """A size that is fixed for one call: a dimension of a shape, an index attribute."""

    name: str


@dataclass(frozen=True, slots=True, repr=False)
class _PlacedDim(AffineDim):
    """A dimension at a position of a map: sums and products of these are ordered by position."""

    position: int


@dataclass(frozen=True, slots=True, repr=False)
class _PlacedSymbol(AffineSymbol):
    """A symbol at a position of a map."""

    position: int


@dataclass(frozen=True, slots=True, repr=False)
class AffineConst(AffineExpr):
    """An integer."""

    value: int


@dataclass(frozen=True, slots=True, repr=False)
class AffineBinary(AffineExpr):
    """`lhs kind rhs`. Build it with the operators, which simplify."""

    kind: AffineKind
    lhs: AffineExpr
    rhs: AffineExpr


@dataclass(frozen=True, slots=True, repr=False)
class AffineMap:
    """`(dims)[symbols] -> (results)`: a list of expressions over named dimensions and symbols."""

    dims: tuple[str, ...]
    symbols: tuple[str, ...]
    results: tuple[AffineExpr, ...]

    def __str__(self) -> str:
        positions: dict[AffineExpr, AffineExpr | int] = {
            **{AffineDim(name): _PlacedDim(f"d{i}", i) for i, name in enumerate(self.dims)},
            **{
                AffineSymbol(name): _PlacedSymbol(f"s{i}", i) for i, name in enumerate(self.symbols)
            },
        }
        head = f"({', '.join(f'd{i}' for i in range(len(self.dims)))})"
        if self.symbols:
            head += f"[{', '.join(f's{i}' for i in range(len(self.symbols)))}]"
        body = ", ".join(str(result.substitute(positions)) for result in self.results)
        return f"affine_map<{head} -> ({body})>"

    __repr__ = __str__

    def substitute_symbols(self, values: Mapping[str, int]) -> AffineMap:
        """The map with some symbols replaced by numbers; they vanish from its symbol list."""
        replacements: dict[AffineExpr, AffineExpr | int] = {
            AffineSymbol(name): value for name, value in values.items()
        }
        return AffineMap(
            self.dims,
            tuple(name for name in self.symbols if name not in values),
            tuple(result.substitute(replacements) for result in self.results),
        )

    def results_over(self, dims: Sequence[str]) -> tuple[AffineExpr, ...]:
        """The results with other names for the dimensions."""
        names: dict[AffineExpr, AffineExpr | int] = {
            AffineDim(old): AffineDim(new) for old, new in zip(self.dims, dims, strict=True)
        }
        return tuple(result.substitute(names) for result in self.results)

    @property
    def is_projected_permutation(self) -> bool:
        """Return whether every result is a plain dimension, none of them twice."""
        return all(isinstance(result, AffineDim) for result in self.results) and len(
            set(self.results)
        ) == len(self.results)


def constant_value(expr: AffineExpr) -> int | None:
    """The number that a constant expression stands for, else None."""
    return expr.value if isinstance(expr, AffineConst) else None


def _operand(value: AffineExpr | int) -> AffineExpr:
    if isinstance(value, AffineExpr):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return AffineConst(value)
    raise DefinitionError(
        f"{value!r} cannot stand in an index or a shape",
        where=caller_location(),
        expected="a dimension (D.m), a symbol (S.M), an integer, or sums and products of them",
    )


def _as_number(value: Any) -> Any:
    """Return the scalar expression of an index; any other value as it is."""
    return value.as_number() if isinstance(value, AffineExpr) else value


def _not_affine(message: str, hint: str) -> DefinitionError:
    return DefinitionError(message, where=caller_location(), hint=hint)


def _product_parts(expr: AffineExpr) -> tuple[AffineExpr, int]:
    """`expr` as (base, constant factor)."""
    if isinstance(expr, AffineBinary) and expr.kind is AffineKind.MUL:
        factor = constant_value(expr.rhs)
        if factor is not None:
            return expr.lhs, factor
    return expr, 1


def _add(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    simpler = _simplified_sum(lhs, rhs)
    return simpler if simpler is not None else AffineBinary(AffineKind.ADD, lhs, rhs)


def _simplified_sum(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr | None:
    """`lhs + rhs` in a simpler or more canonical form; None where it has that already."""
    left, right = constant_value(lhs), constant_value(rhs)
    if left is not None and right is not None:
        return AffineConst(left + right)
    # Canonical order: constants last, symbols after dimensions, each by position.
    if left is not None or (lhs.is_symbolic and not rhs.is_symbolic) or _misplaced(lhs, rhs):
        return _add(rhs, lhs)
    if right == 0:
        return lhs
    terms = _terms(lhs)
    constant = constant_value(terms[1]) if terms else None
    if terms and constant is not None and right is not None:
        return _add(terms[0], AffineConst(constant + right))
    (left_base, left_factor), (right_base, right_factor) = _product_parts(lhs), _product_parts(rhs)
    if left_base == right_base:
        return _mul(left_base, AffineConst(left_factor + right_factor))
    if terms and constant is not None:
        return _add(_add(terms[0], rhs), terms[1])
    return _with_quotient(lhs, rhs)


def _terms(expr: AffineExpr) -> tuple[AffineExpr, AffineExpr] | None:
    """The two sides of a sum."""
    if isinstance(expr, AffineBinary) and expr.kind is AffineKind.ADD:
        return expr.lhs, expr.rhs
    return None


def _misplaced(lhs: AffineExpr, rhs: AffineExpr) -> bool:
    """Return whether both are dimensions, or both symbols, of a map, the later one first."""
    if isinstance(lhs, _PlacedDim) and isinstance(rhs, _PlacedDim):
        return lhs.position > rhs.position
    if isinstance(lhs, _PlacedSymbol) and isinstance(rhs, _PlacedSymbol):
        return lhs.position > rhs.position
    return False


def _with_quotient(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr | None:
    """A sum with `rhs = (x floordiv q) * c`: `x + (x floordiv q) * -q` is `x mod q`."""
    if not (isinstance(rhs, AffineBinary) and rhs.kind is AffineKind.MUL):
        return None
    quotient, factor = rhs.lhs, rhs.rhs
    if not isinstance(quotient, AffineBinary):
        return None
    if quotient.kind is AffineKind.MUL and factor == AffineConst(-1):
        # A factor that is a symbol: ((x floordiv q) * q) * -1.
        is_remainder = quotient.lhs == AffineBinary(AffineKind.FLOORDIV, lhs, quotient.rhs)
        return _mod(lhs, quotient.rhs) if is_remainder else None
    if quotient.kind is not AffineKind.FLOORDIV:
        return None
    if _mul(factor, AffineConst(-1)) == quotient.rhs and lhs == quotient.lhs:
        return _mod(lhs, quotient.rhs)
    terms = _terms(lhs)
    simpler = _simplified_sum(terms[1], rhs) if terms else None
    return _add(terms[0], simpler) if terms and simpler is not None else None


def _mul(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    left, right = constant_value(lhs), constant_value(rhs)
    if left is not None and right is not None:
        return AffineConst(left * right)
    if not lhs.is_symbolic and not rhs.is_symbolic:
        raise _not_affine(
            f"`({lhs}) * ({rhs})` multiplies two dimensions: an index must be affine",
            "multiply a dimension by an integer or by a symbol (S.x) only",
        )
    if not rhs.is_symbolic or left is not None or _misplaced(lhs, rhs):
        return _mul(rhs, lhs)
    if right == 1:
        return lhs
    if right == 0:
        return AffineConst(0)
    if isinstance(lhs, AffineBinary) and lhs.kind is AffineKind.MUL:
        constant = constant_value(lhs.rhs)
        if constant is not None:
            if right is not None:
                return _mul(lhs.lhs, AffineConst(constant * right))
            return _mul(_mul(lhs.lhs, rhs), lhs.rhs)
    return AffineBinary(AffineKind.MUL, lhs, rhs)


def _check_divisor(kind: AffineKind, lhs: AffineExpr, rhs: AffineExpr) -> None:
    if not rhs.is_symbolic:
        raise _not_affine(
            f"`({lhs}) {kind.value} ({rhs})` divides by a dimension: an index must be affine",
            "divide by a positive integer or by a symbol (S.x) only",
        )
    value = constant_value(rhs)
    if value is not None and value < 1:
        raise _not_affine(
            f"`({lhs}) {kind.value} {value}`: the divisor must be positive",
            "divide by a positive integer",
        )


def _divide(kind: AffineKind, lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    _check_divisor(kind, lhs, rhs)
    left, right = constant_value(lhs), constant_value(rhs)
    if lhs == rhs:
        return AffineConst(1)
    if right is None:
        return AffineBinary(kind, lhs, rhs)
    if left is not None:
        return AffineConst(left // right if kind is AffineKind.FLOORDIV else -(-left // right))
    if right == 1:
        return lhs
    base, factor = _product_parts(lhs)
    if factor != 1 and factor % right == 0:
        return _mul(base, AffineConst(factor // right))
    terms = _terms(lhs) if kind is AffineKind.FLOORDIV else None
    if terms and any(_known_divisor(term) % right == 0 for term in terms):
        return _add(_divide(kind, terms[0], rhs), _divide(kind, terms[1], rhs))
    return AffineBinary(kind, lhs, rhs)


def _mod(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    _check_divisor(AffineKind.MOD, lhs, rhs)
    left, right = constant_value(lhs), constant_value(rhs)
    if lhs == rhs:
        return AffineConst(0)
    if right is None:
        return AffineBinary(AffineKind.MOD, lhs, rhs)
    if left is not None:
        return AffineConst(left % right)
    if _known_divisor(lhs) % right == 0:
        return AffineConst(0)
    if terms := _terms(lhs):
        if _known_divisor(terms[0]) % right == 0:
            return _mod(terms[1], rhs)
        if _known_divisor(terms[1]) % right == 0:
            return _mod(terms[0], rhs)
    if isinstance(lhs, AffineBinary) and lhs.kind is AffineKind.MOD:
        inner = constant_value(lhs.rhs)
        if inner is not None and inner % right == 0:
            return _mod(lhs.lhs, rhs)
    return AffineBinary(AffineKind.MOD, lhs, rhs)


def _known_divisor(expr: AffineExpr) -> int:
    """A number that divides every value of the expression (0 divides only zero)."""
    value = constant_value(expr)
    if value is not None:
        return abs(value)
    if not isinstance(expr, AffineBinary):
        return 1
    if expr.kind is AffineKind.MUL:
        return _known_divisor(expr.lhs) * _known_divisor(expr.rhs)
    if expr.kind in (AffineKind.ADD, AffineKind.MOD):
        return gcd(_known_divisor(expr.lhs), _known_divisor(expr.rhs))
    return 1


_BUILD: dict[AffineKind, Callable[[AffineExpr, AffineExpr], AffineExpr]] = {
    AffineKind.ADD: _add,
    AffineKind.MUL: _mul,
    AffineKind.MOD: _mod,
    AffineKind.FLOORDIV: lambda lhs, rhs: _divide(AffineKind.FLOORDIV, lhs, rhs),
    AffineKind.CEILDIV: lambda lhs, rhs: _divide(AffineKind.CEILDIV, lhs, rhs),
}

_EVALUATE: dict[AffineKind, Callable[..., Any]] = {
    AffineKind.ADD: operator.add,
    AffineKind.MUL: operator.mul,
    AffineKind.MOD: operator.mod,
    AffineKind.FLOORDIV: operator.floordiv,
    AffineKind.CEILDIV: lambda lhs, rhs: -(-lhs // rhs),
}


def _names(expr: AffineExpr, leaf_class: type[AffineDim] | type[AffineSymbol]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(leaf.name for leaf in expr.leaves() if isinstance(leaf, leaf_class)))


def _render(expr: AffineExpr, *, tight: bool) -> str:
    """MLIR's printer: `tight` asks for parentheses around anything but a leaf or a negation."""
    if isinstance(expr, AffineConst):
        return str(expr.value)
    if isinstance(expr, (AffineDim, AffineSymbol)):
        return expr.name
    if not isinstance(expr, AffineBinary):
        raise TypeError(f"unknown affine expression {type(expr).__name__}")
    if expr.kind is AffineKind.ADD:
        text = _render_sum(expr)
    elif expr.kind is AffineKind.MUL and constant_value(expr.rhs) == -1:
        # MLIR's spelling needs no parentheses around a negation, unless the caller asks for them.
        text = "-" + _render(expr.lhs, tight=True)
    else:
        lhs, rhs = _render(expr.lhs, tight=True), _render(expr.rhs, tight=True)
        text = f"{lhs} {expr.kind.value} {rhs}"
    return f"({text})" if tight else text


def _render_sum(expr: AffineBinary) -> str:
    lhs = _render(expr.lhs, tight=False)
    base, factor = _product_parts(expr.rhs)
    constant = constant_value(expr.rhs)
    if constant is not None and constant < 0:
        return f"{lhs} - {-constant}"
    if constant is None and factor == -1:
        is_sum = isinstance(base, AffineBinary) and base.kind is AffineKind.ADD
        return f"{lhs} - {_render(base, tight=is_sum)}"
    if constant is None and factor < -1:
        return f"{lhs} - {_render(base, tight=True)} * {-factor}"
    return f"{lhs} + {_render(expr.rhs, tight=False)}"


def left_associated(expr: AffineExpr) -> AffineExpr:
    """The expression with its sums built from left to right, as a reader of its text builds them.

    MLIR prints `-d0 + (s0 - 1)` without the parentheses: the text has one reading, the tree two.
    """
    if not isinstance(expr, AffineBinary):
        return expr
    if expr.kind is not AffineKind.ADD:
        return _BUILD[expr.kind](left_associated(expr.lhs), left_associated(expr.rhs))
    return reduce(operator.add, map(left_associated, addends(expr)))


def addends(expr: AffineExpr) -> list[AffineExpr]:
    """The terms of a sum, from left to right, as they stand."""
    if isinstance(expr, AffineBinary) and expr.kind is AffineKind.ADD:
        return [*addends(expr.lhs), *addends(expr.rhs)]
    return [expr]


def terms_of(expr: AffineExpr) -> tuple[dict[AffineExpr, int], int]:
    """Return the factors of all terms that are not sums, and the constant.

    A term is a dimension, a symbol, a quotient, a remainder, or a product with a symbol.
    """
    value = constant_value(expr)
    if value is not None:
        return {}, value
    if isinstance(expr, AffineBinary) and expr.kind is AffineKind.ADD:
        (left, left_constant), (right, right_constant) = terms_of(expr.lhs), terms_of(expr.rhs)
        sums = {term: left.get(term, 0) + right.get(term, 0) for term in {**left, **right}}
        factors = {term: factor for term, factor in sums.items() if factor}
        return factors, left_constant + right_constant
    if isinstance(expr, AffineBinary) and expr.kind is AffineKind.MUL:
        by = constant_value(expr.rhs)
        if by is not None:
            terms, constant = terms_of(expr.lhs)
            return {term: factor * by for term, factor in terms.items()}, constant * by
    return {expr: 1}, 0


def linear_terms(expr: AffineExpr) -> tuple[dict[str, int], int] | None:
    """Return the factors of dimensions, and the constant; None if there is another term."""
    if isinstance(expr, AffineDim):  # as most are
        return {expr.name: 1}, 0
    terms, constant = terms_of(expr)
    factors = {term.name: factor for term, factor in terms.items() if isinstance(term, AffineDim)}
    return (factors, constant) if len(factors) == len(terms) else None


def factor_of(expr: AffineExpr, dim: str) -> int | None:
    """Return the factor of one dimension; None if the expression is not linear in it."""
    if isinstance(expr, AffineDim):
        return int(expr.name == dim)
    terms, _ = terms_of(expr)
    factor = terms.pop(AffineDim(dim), 0)
    return None if any(dim in term.dims for term in terms) else factor
