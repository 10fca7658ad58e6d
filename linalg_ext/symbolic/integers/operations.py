"""Operations on symbolic integers: minima, quotients and remainders, conditions, substitution.

Minima, maxima, quotients and remainders are folded by bounds and divisors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import gcd
from typing import Any, TypeAlias

from linalg_ext.errors import ArgumentError, caller_location
from linalg_ext.symbolic.integers.bounds import is_eq, is_le, residue
from linalg_ext.symbolic.integers.expression import (
    AllOf,
    AnyOf,
    Atom,
    Comparison,
    Condition,
    Expression,
    Extreme,
    Number,
    Operand,
    Part,
    Product,
    Quotient,
    Relation,
    Remainder,
    Selection,
    Symbol,
    add_division,
    as_number,
    inside,
    linear,
    multiply,
    noted,
)


def minimum(*numbers: Operand) -> Number:
    """The smallest of one or more numbers."""
    return _extreme(True, numbers)


def maximum(*numbers: Operand) -> Number:
    """The largest of one or more numbers."""
    return _extreme(False, numbers)


def clamped(number: Operand, lowest: Operand, highest: Operand) -> Number:
    """A number, moved to the nearer end where it lies outside `[lowest, highest]`."""
    return minimum(maximum(number, lowest), highest)


def below(number: Operand, limit: Operand) -> Number:
    """A number that may stand for another wherever `limit` or less is taken of it in the end.

    `min(max(below(a, limit), b), limit)` is `min(max(a, b), limit)`: of a minimum, operands that
    are no smaller than the limit are left out.
    """
    own = as_number(number)
    operands = _flattened(own, True)
    needed = [operand for operand in operands if not is_le(limit, operand)]
    return minimum(*needed) if 0 < len(needed) < len(operands) else own


def total(numbers: Iterable[Operand]) -> Number:
    """The sum of any count of numbers."""
    return linear(*((as_number(number), 1) for number in numbers))


def product(numbers: Iterable[Operand]) -> Number:
    """The product of any count of numbers."""
    result: Number = 1
    for number in numbers:
        result = multiply(result, as_number(number))
    return result


def floordiv(dividend: Operand, divisor: Operand) -> Number:
    """`dividend / divisor`, rounded down.

    Raises:
        ArgumentError: the divisor is known and not positive.
    """
    x, q = _checked(dividend, divisor)
    if isinstance(x, int) and isinstance(q, int):
        return x // q
    if x == 0 or q == 1:
        return x
    if (exact := _exact(x, q)) is not None:
        return exact
    if isinstance(x, Expression) and all(factor < 0 for _, factor in x.terms):
        # One way to round up: -(-n // 4) is (n + 3) // 4.
        return linear((ceildiv(linear((x, -1)), q), -1))
    whole, rest = _split(x, q) if isinstance(q, int) else (0, x)
    return linear((whole, 1), (_quotient(rest, q), 1))


def modulo(dividend: Operand, divisor: Operand) -> Number:
    """Return the remainder of `floordiv`: at least 0 and below the divisor.

    Raises:
        ArgumentError: the divisor is known and not positive.
    """
    x, q = _checked(dividend, divisor)
    if isinstance(x, int) and isinstance(q, int):
        return x % q
    if x == 0 or q == 1 or _exact(x, q) is not None:
        return 0
    if isinstance(q, int):
        step, start = residue(x)
        if step % q == 0:
            return start % q
        x = _split(x, q)[1]
    if _lies_below(x, q):
        return x
    return Remainder(x, q).number


def ceildiv(dividend: Operand, divisor: Operand) -> Number:
    """`dividend / divisor`, rounded up: `(dividend + divisor - 1) // divisor`.

    Raises:
        ArgumentError: the divisor is known and not positive.
    """
    x, q = _checked(dividend, divisor)
    return floordiv(linear((x, 1), (q, 1), (-1, 1)), q)


def _extreme(is_minimum: bool, numbers: Iterable[Operand]) -> Number:
    operands: list[Number] = []
    for number in map(as_number, numbers):
        for operand in _flattened(number, is_minimum):
            _insert(operands, operand, is_minimum)
    if not operands:
        raise ArgumentError(
            f"the {'minimum' if is_minimum else 'maximum'} of no numbers",
            where=caller_location(),
            expected="one number or more",
        )
    return operands[0] if len(operands) == 1 else Extreme(is_minimum, tuple(operands)).number


def _flattened(number: Number, is_minimum: bool) -> tuple[Number, ...]:
    """The operands of a minimum of minima: all in one."""
    if isinstance(number, Expression) and len(number.terms) == 1 and not number.constant:
        ((atom, factor),) = number.terms
        if factor == 1 and isinstance(atom, Extreme) and atom.is_minimum == is_minimum:
            return atom.operands
    return (number,)


def _insert(operands: list[Number], new: Number, is_minimum: bool) -> None:
    """Add an operand unless another one dominates it, and drop the operands that it dominates."""
    for old in operands:
        if is_le(old, new) if is_minimum else is_le(new, old):
            return
    operands[:] = [
        old for old in operands if not (is_le(new, old) if is_minimum else is_le(old, new))
    ]
    operands.append(new)


def _checked(dividend: Operand, divisor: Operand) -> tuple[Number, Number]:
    x, q = as_number(dividend), as_number(divisor)
    if isinstance(q, int) and q < 1:
        raise ArgumentError(
            f"`({x}) // {q}` divides by a number that is not positive",
            where=caller_location(),
            expected="a positive divisor",
        )
    return x, q


def _split(x: Number, q: int) -> tuple[Number, Number]:
    """`(whole, rest)` with `x = q*whole + rest`: all that is a multiple of q is in `whole`."""
    if isinstance(x, int):
        return x // q, x % q
    whole: list[tuple[Number, int]] = [(x.constant // q, 1)]
    rest: list[tuple[Number, int]] = [(x.constant % q, 1)]
    for atom, factor in x.terms:
        step, start = residue(Expression(0, ((atom, factor),)))
        if factor % q == 0:
            whole.append((Expression(0, ((atom, factor // q),)), 1))
        elif step % q == 0:
            # q divides the step, so the remainder is a constant.
            common = gcd(factor, q)
            part = Quotient(Expression(0, ((atom, factor // common),)), q // common)
            whole.append((part.number, 1))
            rest.append((start % q, 1))
        else:
            rest.append((Expression(0, ((atom, factor),)), 1))
    whole_part, rest_part = linear(*whole), linear(*rest)
    if isinstance(rest_part, int):
        return linear((whole_part, 1), (rest_part // q, 1)), rest_part % q
    return whole_part, rest_part


def _exact(x: Number, q: Number) -> Number | None:
    """Return the quotient by a product of symbols that divides every term; None by any other."""
    if isinstance(x, int) or isinstance(q, int):
        return None
    if x == q:
        return 1
    if len(q.terms) != 1 or q.constant or x.constant:
        return None
    ((divisor, by),) = q.terms
    terms: list[tuple[Number, int]] = []
    for atom, factor in x.terms:
        left = Counter(_factors(atom))
        left.subtract(_factors(divisor))
        if factor % by or min(left.values()) < 0:
            return None
        terms.append((product(left.elements()), factor // by))
    return linear(*terms)


def _factors(atom: Atom) -> tuple[Atom, ...]:
    return atom.factors if isinstance(atom, Product) else (atom,)


def _lies_below(x: Number, q: Number) -> bool:
    """Return whether `0 <= x < q`, always."""
    return is_le(0, x) is True and is_le(linear((x, 1), (1, 1)), q) is True


def _quotient(x: Number, q: Number) -> Number:
    """`x // q` of a number from which no multiple of q can be taken out."""
    if isinstance(x, int) and isinstance(q, int):
        return x // q
    if _lies_below(x, q):
        return 0
    if isinstance(x, Expression) and isinstance(q, int):
        common = gcd(q, *(factor for _, factor in x.terms))
        if common > 1:
            reduced = tuple((atom, factor // common) for atom, factor in x.terms)
            return floordiv(Expression(x.constant // common, reduced), q // common)
        nested = _nested_quotient(x, q)
        if nested is not None:
            return nested
    return Quotient(x, q).number


def _nested_quotient(x: Expression, q: int) -> Number | None:
    """`(y // p + c) // q` as `(y + c*p) // (p*q)`."""
    if len(x.terms) != 1:
        return None
    ((atom, factor),) = x.terms
    if factor != 1 or not isinstance(atom, Quotient) or not isinstance(atom.divisor, int):
        return None
    return floordiv(linear((atom.dividend, 1), (x.constant * atom.divisor, 1)), atom.divisor * q)


add_division("//", floordiv)
add_division("%", modulo)


Truth: TypeAlias = bool | Condition
"""A truth value that is known already, or a condition on numbers that are not known yet."""


def at_most(a: Operand, b: Operand) -> Truth:
    """`a <= b`."""
    return _comparison(Relation.AT_MOST, a, b, is_le(a, b))


def equal(a: Operand, b: Operand) -> Truth:
    """`a == b`."""
    return _comparison(Relation.EQUAL, a, b, is_eq(a, b))


def different(a: Operand, b: Operand) -> Truth:
    """`a != b`."""
    return negated(equal(a, b))


def all_of(*truths: Truth) -> Truth:
    """Return whether all hold; so it is of none."""
    return _joined(AllOf, truths, settles=False)


def any_of(*truths: Truth) -> Truth:
    """Return whether one or more hold; none of none does."""
    return _joined(AnyOf, truths, settles=True)


def _joined(kind: type[AllOf] | type[AnyOf], truths: tuple[Truth, ...], *, settles: bool) -> Truth:
    """The distinct conditions as one, those of the same kind flattened; `settles` decides alone."""
    if any(truth is settles for truth in truths):
        return settles
    conditions: dict[Condition, None] = {}
    for truth in truths:
        if isinstance(truth, Condition):
            parts = truth.conditions if isinstance(truth, kind) else (truth,)
            conditions.update(dict.fromkeys(parts))
    if len(conditions) < 2:
        return next(iter(conditions), not settles)
    return kind(tuple(conditions))


def negated(truth: Truth) -> Truth:
    """Return whether it does not hold."""
    if isinstance(truth, bool):
        return not truth
    if isinstance(truth, AllOf):
        return any_of(*map(negated, truth.conditions))
    if isinstance(truth, AnyOf):
        return all_of(*map(negated, truth.conditions))
    if not isinstance(truth, Comparison):
        raise TypeError(f"unknown condition {type(truth).__name__}")
    if truth.relation is Relation.AT_MOST:  # not d <= 0: 1 - d <= 0
        return at_most(linear((truth.difference, -1), (1, 1)), 0)
    is_equality = truth.relation is Relation.EQUAL
    return Comparison(Relation.DIFFERENT if is_equality else Relation.EQUAL, truth.difference)


def decided(truth: Truth) -> bool | None:
    """True or False if known already, else None."""
    return truth if isinstance(truth, bool) else None


def select(truth: Truth, then: Operand, otherwise: Operand) -> Number:
    """One number where a condition holds, another where it does not."""
    if isinstance(truth, bool):
        return as_number(then if truth else otherwise)
    then, otherwise = as_number(then), as_number(otherwise)
    return then if then == otherwise else Selection(truth, then, otherwise).number


def _comparison(relation: Relation, a: Operand, b: Operand, known: bool | None) -> Truth:
    if known is not None:
        return known
    difference = linear((as_number(a), 1), (as_number(b), -1))
    if not isinstance(difference, Expression):
        raise TypeError("a known difference was not compared")
    return Comparison(relation, difference)


def evaluate(number: Operand, values: Mapping[Any, int]) -> int:
    """The integer that a number is.

    Args:
        values: the value of each of its symbols, by key.

    Raises:
        ArgumentError: the value of a symbol is missing, or a divisor is not positive.
    """
    value = substitute(number, values)
    if isinstance(value, int):
        return value
    missing = ", ".join(dict.fromkeys(str(symbol) for symbol in symbols_of(value)))
    raise ArgumentError(
        f"the value of {missing} is not known, so `{number}` is not an integer yet",
        where=caller_location(),
        hint="give a value for every symbol, by its key",
    )


def holds(truth: Truth, values: Mapping[Any, int]) -> bool:
    """Return whether a condition holds, given the value of each of its symbols by key.

    Raises:
        ArgumentError: the value of a symbol is missing.
    """
    return bool(evaluate(select(_condition(truth, _Replacement(values)), 1, 0), {}))


def substitute(number: Operand, values: Mapping[Any, Operand]) -> Number:
    """A number with some symbols replaced, folded again.

    Args:
        values: the values of symbols, by key. Other symbols stay.
    """
    return _number(as_number(number), _Replacement(values))


def symbols_of(number: Operand | Truth) -> Iterator[Symbol]:
    """The symbols that occur, each once, from left to right; not those of their bounds."""
    if isinstance(number, Condition):
        return iter(_symbols_of_part(number))
    return iter(dict.fromkeys(_symbols_of_number(as_number(number))))


class _Replacement:
    """The values of symbols, and a memo of replaced atoms: a shared part is replaced once."""

    def __init__(self, values: Mapping[Any, Operand]) -> None:
        self._values = values
        self.done: dict[Atom, Number] = {}

    def of(self, symbol: Symbol) -> Number:
        key = symbol.key
        return as_number(self._values[key]) if key in self._values else symbol.number


def _number(number: Number, replace: _Replacement) -> Number:
    if isinstance(number, int):
        return number
    return linear(
        (number.constant, 1), *((_atom(atom, replace), factor) for atom, factor in number.terms)
    )


def _atom(atom: Atom, replace: _Replacement) -> Number:
    if atom not in replace.done:
        replace.done[atom] = _new_atom(atom, replace)
    return replace.done[atom]


def _new_atom(atom: Atom, replace: _Replacement) -> Number:
    match atom:
        case Symbol():
            return replace.of(atom)
        case Product(factors):
            return product(_atom(factor, replace) for factor in factors)
        case Extreme(is_minimum, operands):
            extreme = minimum if is_minimum else maximum
            return extreme(*(_number(operand, replace) for operand in operands))
        case Quotient(dividend, divisor):
            return floordiv(_number(dividend, replace), _number(divisor, replace))
        case Remainder(dividend, divisor):
            return modulo(_number(dividend, replace), _number(divisor, replace))
        case Selection(condition, then, otherwise):
            # The branch that is not taken may divide by a number that is zero just then.
            truth = _condition(condition, replace)
            if isinstance(truth, bool):
                return _number(then if truth else otherwise, replace)
            return select(truth, _number(then, replace), _number(otherwise, replace))
    raise TypeError(f"unknown atom {type(atom).__name__}")


def _condition(truth: Truth, replace: _Replacement) -> Truth:
    match truth:
        case bool():
            return truth
        case AllOf(conditions):
            return all_of(*(_condition(inner, replace) for inner in conditions))
        case AnyOf(conditions):
            return any_of(*(_condition(inner, replace) for inner in conditions))
        case Comparison(relation, difference):
            return _COMPARE[relation](_number(difference, replace), 0)
    raise TypeError(f"unknown condition {type(truth).__name__}")


_COMPARE: dict[Relation, Callable[[Operand, Operand], Truth]] = {
    Relation.AT_MOST: at_most,
    Relation.EQUAL: equal,
    Relation.DIFFERENT: different,
}


def _symbols_of_number(number: Number) -> Iterator[Symbol]:
    if isinstance(number, Expression):
        for atom, _ in number.terms:
            yield from _symbols_of_part(atom)


@noted
def _symbols_of_part(part: Part) -> tuple[Symbol, ...]:
    """Sets of sets share their parts, and a walk would meet one many times."""
    symbols = [part] if isinstance(part, Symbol) else []
    for inner in inside(part):
        if isinstance(inner, int | Expression):
            symbols += _symbols_of_number(inner)
        else:
            symbols += _symbols_of_part(inner)
    return tuple(dict.fromkeys(symbols))
