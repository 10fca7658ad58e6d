"""Numbers with values, or other numbers, put in for their symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from linalg_ext.errors import ArgumentError, caller_location
from linalg_ext.symbolic.integers.conditions import (
    Truth,
    all_of,
    any_of,
    at_most,
    different,
    equal,
    select,
)
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
    Product,
    Quotient,
    Relation,
    Remainder,
    Selection,
    Symbol,
    as_number,
    linear,
)
from linalg_ext.symbolic.integers.folding import floordiv, maximum, minimum, modulo, product


def evaluate(number: Operand, values: Mapping[Any, int]) -> int:
    """The integer that a number is.

    Args:
        number: the number.
        values: the value of each of its symbols, by key.

    Raises:
        ArgumentError: the value of a symbol is missing, or a divisor is not positive.
    """
    value = substitute(number, values)
    if isinstance(value, int):
        return value
    missing = ", ".join(dict.fromkeys(str(symbol) for symbol in symbols_of(value)))
    raise ArgumentError(
        f"the value of {missing} is not known, so `{number}` is no integer yet",
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
        number: the number.
        values: what to put for symbols, by key. Other symbols stay.
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
            # The branch that is not taken may divide by what is zero just then.
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
            return all_of(*(_condition(each, replace) for each in conditions))
        case AnyOf(conditions):
            return any_of(*(_condition(each, replace) for each in conditions))
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


def _symbols_of_part(part: Atom | Condition) -> tuple[Symbol, ...]:
    """Kept on the part: sets of sets share their parts, and a walk would meet one many times."""
    known: tuple[Symbol, ...] | None = part.__dict__.get("_symbols")
    if known is None:
        known = part.__dict__["_symbols"] = tuple(dict.fromkeys(_read(part)))
    return known


def _read(part: Atom | Condition) -> Iterator[Symbol]:
    match part:
        case Symbol():
            yield part
        case Product(inner) | AllOf(inner) | AnyOf(inner):
            for each in inner:
                yield from _symbols_of_part(each)
        case Extreme(_, operands):
            for operand in operands:
                yield from _symbols_of_number(operand)
        case Quotient(dividend, divisor) | Remainder(dividend, divisor):
            yield from _symbols_of_number(dividend)
            yield from _symbols_of_number(divisor)
        case Comparison(_, difference):
            yield from _symbols_of_number(difference)
        case Selection(condition, then, otherwise):
            yield from _symbols_of_part(condition)
            yield from _symbols_of_number(then)
            yield from _symbols_of_number(otherwise)
