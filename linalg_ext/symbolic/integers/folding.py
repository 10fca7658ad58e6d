"""Minima, maxima, quotients and remainders, folded by bounds and divisors."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from linalg_ext.errors import ArgumentError, caller_location
from linalg_ext.symbolic.integers.bounds import is_le, residue
from linalg_ext.symbolic.integers.expression import (
    Expression,
    Extreme,
    Number,
    Operand,
    Quotient,
    Remainder,
    add_division,
    as_number,
    linear,
    multiply,
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
    needed = [each for each in operands if not is_le(limit, each)]
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
    if x == q:
        return 1
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
    if x == 0 or q == 1 or x == q:
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
    """Add an operand, unless another makes it superfluous, and drop those that it makes so."""
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
            # A step that q divides: all that is left over is known.
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


def _lies_below(x: Number, q: Number) -> bool:
    """Return whether `0 <= x < q`, always."""
    return is_le(0, x) is True and is_le(linear((x, 1), (1, 1)), q) is True


def _quotient(x: Number, q: Number) -> Number:
    """`x // q` of what no multiple of q can be taken out of."""
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
