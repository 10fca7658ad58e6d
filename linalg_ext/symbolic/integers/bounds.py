"""Bounds, comparisons and divisors of symbolic integers.

A bound is found by replacing one atom after the other by a number that it never exceeds, until an
integer is left. A minimum never exceeds any of its operands. So for an upper bound of
`i + min(4, n - i)` each operand is tried, and `i + n - i` cancels to `n`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import gcd
from typing import NamedTuple, TypeAlias

from linalg_ext.symbolic.integers.expression import (
    Atom,
    Expression,
    Extreme,
    Number,
    Operand,
    Product,
    Quotient,
    Remainder,
    Selection,
    Symbol,
    as_number,
    linear,
    noted,
)

_EFFORT = 40
"""Number of replacements that one bound may take; the rest is then bounded atom by atom."""


def lower(number: Operand) -> int | None:
    """An integer that a number is never below; None where none is known."""
    known = upper(linear((as_number(number), -1)))
    return None if known is None else -known


def upper(number: Operand) -> int | None:
    """An integer that a number is never above; None where none is known."""
    return _upper(as_number(number), _Effort())


def is_le(a: Operand, b: Operand) -> bool | None:
    """Return whether `a <= b`: always (True), never (False), or it depends (None)."""
    difference = linear((as_number(a), 1), (as_number(b), -1))
    if isinstance(difference, int):
        return difference <= 0
    opposite = linear((difference, -1))
    # Atom by atom first, which costs little and settles most.
    for bound in (_interval_upper, upper):
        highest = bound(difference)
        if highest is not None and highest <= 0:
            return True
        lowest = bound(opposite)
        if lowest is not None and lowest < 0:
            return False
    return None


def is_eq(a: Operand, b: Operand) -> bool | None:
    """Return whether `a == b`: always (True), never (False), or it depends (None)."""
    difference = _without_remainders(linear((as_number(a), 1), (as_number(b), -1)))
    if isinstance(difference, int):
        return difference == 0
    lowest, highest = lower(difference), upper(difference)
    if lowest == highest == 0:
        return True
    if (lowest is not None and lowest > 0) or (highest is not None and highest < 0):
        return False
    # 4*i - 2 is never 0, whatever i is.
    variable, constant = residue(difference)
    return False if constant % variable else None


def residue(number: Number) -> tuple[int, int]:
    """`(m, r)`: the number is `r` more than a multiple of `m`; m is 0 for a known number."""
    if isinstance(number, int):
        return 0, number
    divisor, rest = 0, number.constant
    for atom, factor in number.terms:
        step, start = _residue_of(atom)
        divisor = gcd(divisor, factor * step)
        rest += factor * start
    return divisor, rest % divisor if divisor else rest


def known_divisor(number: Operand) -> int:
    """The largest integer that is known to divide a number; 0 for the number 0."""
    divisor, rest = residue(as_number(number))
    return gcd(divisor, rest)


@noted
def _residue_of(atom: Atom) -> tuple[int, int]:
    if isinstance(atom, Symbol):
        if isinstance(atom.lower, int):
            return atom.step, atom.lower
        return (gcd(atom.step, known_divisor(atom.lower)), 0) if atom.lower is not None else (1, 0)
    if isinstance(atom, Product):
        divisor = 1
        for factor in atom.factors:
            divisor *= known_divisor(factor)
        return divisor, 0
    if isinstance(atom, Extreme):
        return gcd(*(known_divisor(operand) for operand in atom.operands)), 0
    if isinstance(atom, Selection):
        return gcd(known_divisor(atom.then), known_divisor(atom.otherwise)), 0
    if isinstance(atom, Remainder):
        return gcd(known_divisor(atom.dividend), known_divisor(atom.divisor)), 0
    return 1, 0


_Interval: TypeAlias = tuple[int | None, int | None]
"""A lower and an upper bound."""


class _Effort:
    """The number of replacements that may still be made."""

    def __init__(self) -> None:
        self.left = _EFFORT

    def spend(self) -> bool:
        self.left -= 1
        return self.left >= 0


class _Replacement(NamedTuple):
    """Replacements for a term in an upper bound of the sum that holds it."""

    numbers: list[Number]
    any_will_do: bool
    """A flag: each number is a bound by itself. If false, only the largest is one."""


def _upper(number: Number, effort: _Effort) -> int | None:
    if isinstance(number, int):
        return number
    if number._upper is None:
        bound = _search(number, effort)
        if effort.left < 0:
            return bound  # a search that was cut short may find more when it starts here
        number._upper = (bound,)
    return number._upper[0]


def _search(number: Expression, effort: _Effort) -> int | None:
    chosen = None if _is_hopeless(number) else _next_term(number)
    if chosen is None:
        return None
    position, replacement = chosen
    atom, factor = number.terms[position]
    if not effort.spend():
        return _interval_upper(number)
    rest = linear((number, 1), (Expression(0, ((atom, 1),)), -factor))
    bounds: list[int] = []
    for new in replacement.numbers:
        bound = _upper(linear((rest, 1), (new, 1)), effort)
        if bound is not None:
            bounds.append(bound)
        elif not replacement.any_will_do:
            return None
    return (min if replacement.any_will_do else max)(bounds, default=None)


def _next_term(number: Expression) -> tuple[int, _Replacement] | None:
    """The term to replace next: those with most to cancel first. None if one has no bound."""
    order = sorted(range(len(number.terms)), key=lambda position: _rank(number, position))
    for position in order:
        replacement = _replacement(*number.terms[position])
        if replacement is not None:
            return position, replacement
        if isinstance(number.terms[position][0], Symbol):
            # Unbounded; only terms that could still cancel it matter, and those come before.
            return None
    return None


def _rank(number: Expression, position: int) -> tuple[int, int]:
    """Return the sort key of a term in the order of replacement.

    Terms that distinguish cases are first, as the later replacements may differ from case to case.
    """
    atom, factor = number.terms[position]
    if isinstance(atom, Selection):
        return 0, position
    if isinstance(atom, Extreme):
        return (1 if atom.is_minimum == (factor > 0) else 0), position
    if not isinstance(atom, Symbol):
        return 2, position
    bound = atom.upper if factor > 0 else atom.lower
    if not isinstance(bound, Expression):
        return 4, position
    # The induction variable of an inner loop comes before the symbols in its bounds.
    return 3, sum(
        isinstance(other, Symbol) and atom in _mentioned(other) for other, _ in number.terms
    )


def _is_hopeless(number: Expression) -> bool:
    """Return whether a symbol without a bound is left that nothing else can cancel."""
    return any(
        isinstance(atom, Symbol)
        and (atom.upper if factor > 0 else atom.lower) is None
        and not any(atom in _mentioned(other) for other, _ in number.terms)
        for atom, factor in number.terms
    )


@noted
def _mentioned(atom: Atom) -> frozenset[Symbol]:
    """The symbols that replacements of an atom may introduce: for a symbol, those of its bounds."""
    symbols: set[Symbol] = set()
    for number in _operands_of(atom):
        if isinstance(number, Expression):
            for inner, _ in number.terms:
                symbols |= _mentioned(inner)
                symbols |= {inner} if isinstance(inner, Symbol) else set()
    return frozenset(symbols)


def _operands_of(atom: Atom) -> tuple[Number | None, ...]:
    match atom:
        case Symbol():
            return atom.lower, atom.upper
        case Extreme():
            return atom.operands
        case Selection():
            return atom.then, atom.otherwise
        case Quotient() | Remainder():
            return atom.dividend, atom.divisor
    return ()  # a product is bounded by integers alone


def _replacement(atom: Atom, factor: int) -> _Replacement | None:
    """Return upper bounds of `factor * atom`; None where none is known."""
    if isinstance(atom, Extreme):
        scaled = [linear((operand, factor)) for operand in atom.operands]
        return _Replacement(scaled, any_will_do=atom.is_minimum == (factor > 0))
    if isinstance(atom, Selection):
        branches = [linear((atom.then, factor)), linear((atom.otherwise, factor))]
        return _Replacement(branches, any_will_do=False)
    if isinstance(atom, Symbol):
        bound = atom.upper if factor > 0 else atom.lower
        return None if bound is None else _Replacement([linear((bound, factor))], True)
    numbers = list(_wholes(atom, factor))
    return _Replacement(numbers, any_will_do=True) if numbers else None


def _wholes(atom: Atom, factor: int) -> Iterator[Number]:
    """Upper bounds of `factor * atom` for results of division and multiplication."""
    lowest, highest = _interval(atom)
    bound = highest if factor > 0 else lowest
    if bound is not None:
        yield bound * factor
    if isinstance(atom, Quotient) and isinstance(atom.divisor, int) and not factor % atom.divisor:
        # q*(x // q) lies from x - (q - 1) to x.
        slack = 0 if factor > 0 else atom.divisor - 1
        times = factor // atom.divisor
        yield linear((atom.dividend, times), (slack, -times))
    if isinstance(atom, Remainder) and factor > 0:
        yield linear((atom.divisor, factor), (1, -factor))
        if is_le(0, atom.dividend):
            yield linear((atom.dividend, factor))


@noted
def _interval(atom: Atom) -> _Interval:
    if isinstance(atom, Symbol):
        return (
            None if atom.lower is None else lower(atom.lower),
            None if atom.upper is None else upper(atom.upper),
        )
    if isinstance(atom, Quotient):
        return _quotient_interval(atom)
    if isinstance(atom, Remainder):
        highest = upper(atom.divisor)
        return 0, None if highest is None else highest - 1
    if isinstance(atom, Product):
        return _product_interval(atom)
    if isinstance(atom, Selection):
        return _hull((atom.then, atom.otherwise))
    if not isinstance(atom, Extreme):
        raise TypeError(f"unknown atom {type(atom).__name__}")
    lowest, highest = _hull(atom.operands)
    if atom.is_minimum:
        return lowest, _if_any(min, map(upper, atom.operands))
    return _if_any(max, map(lower, atom.operands)), highest


def _hull(numbers: Iterable[Number]) -> _Interval:
    pairs = [(lower(number), upper(number)) for number in numbers]
    lows = [low for low, _ in pairs if low is not None]
    highs = [high for _, high in pairs if high is not None]
    return (
        min(lows) if len(lows) == len(pairs) else None,
        max(highs) if len(highs) == len(pairs) else None,
    )


def _if_any(pick: Callable[[list[int]], int], bounds: Iterable[int | None]) -> int | None:
    finite = [bound for bound in bounds if bound is not None]
    return pick(finite) if finite else None


def _quotient_interval(atom: Quotient) -> _Interval:
    lowest, highest = lower(atom.dividend), upper(atom.dividend)
    if isinstance(atom.divisor, int):
        return (
            None if lowest is None else lowest // atom.divisor,
            None if highest is None else highest // atom.divisor,
        )
    smallest, largest = max(1, lower(atom.divisor) or 1), upper(atom.divisor)
    if lowest is not None and lowest >= 0:
        lowest = lowest // largest if largest else 0
    elif lowest is not None:
        lowest = lowest // smallest
    if highest is not None:
        highest = highest // smallest if highest >= 0 else -1
    return lowest, highest


def _product_interval(atom: Product) -> _Interval:
    low: int | None = 1
    high: int | None = 1
    for factor in atom.factors:
        factor_low, factor_high = _interval(factor)
        if low is not None and low >= 0 and factor_low is not None and factor_low >= 0:
            low *= factor_low
            high = None if high is None or factor_high is None else high * factor_high
        elif None not in (low, high, factor_low, factor_high):
            ends = [
                x * y
                for x in (low, high)
                for y in (factor_low, factor_high)
                if x is not None and y is not None
            ]
            low, high = min(ends), max(ends)
        else:
            return None, None
    return low, high


def _interval_upper(number: Number) -> int | None:
    if isinstance(number, int):
        return number
    total = number.constant
    for atom, factor in number.terms:
        lowest, highest = _interval(atom)
        bound = highest if factor > 0 else lowest
        if bound is None:
            return None
        total += bound * factor
    return total


def _without_remainders(number: Number) -> Number:
    """`x % q` written as `x - q*(x // q)`, where that cancels against a quotient that is there."""
    if isinstance(number, int):
        return number
    quotients = {atom for atom, _ in number.terms if isinstance(atom, Quotient)}
    for atom, factor in number.terms:
        if isinstance(atom, Remainder) and isinstance(atom.divisor, int):
            if isinstance(atom.dividend, int):
                continue
            quotient = Quotient(atom.dividend, atom.divisor)
            if quotient in quotients:
                number = linear(
                    (number, 1),
                    (Expression(0, ((atom, 1),)), -factor),
                    (atom.dividend, factor),
                    (quotient.number, -factor * atom.divisor),
                )
    return number
