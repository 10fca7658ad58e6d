"""Numbers with values, or other numbers, put in for their symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from linalg_ext.analysis.numbers.conditions import (
    Truth,
    all_of,
    any_of,
    at_most,
    different,
    equal,
    select,
)
from linalg_ext.analysis.numbers.expression import (
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
from linalg_ext.analysis.numbers.folding import floordiv, maximum, minimum, modulo, product
from linalg_ext.errors import ArgumentError, caller_location


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
        cure="give a value for every symbol, by its key",
    )


def holds(truth: Truth, values: Mapping[Any, int]) -> bool:
    """Whether a condition holds, given the value of each of its symbols by key.

    Raises:
        ArgumentError: the value of a symbol is missing.
    """
    return bool(evaluate(select(_condition(truth, _by_key(values)), 1, 0), {}))


def substitute(number: Operand, values: Mapping[Any, Operand]) -> Number:
    """A number with some symbols replaced, folded anew.

    Args:
        number: the number.
        values: what to put for symbols, by key. Other symbols stay.
    """
    return _number(as_number(number), _by_key(values))


def symbols_of(number: Operand | Truth) -> Iterator[Symbol]:
    """The symbols that occur, from left to right; those of their bounds not among them."""
    if isinstance(number, Condition):
        yield from _symbols_of_condition(number)
        return
    value = as_number(number)
    if isinstance(value, Expression):
        for atom, _ in value.terms:
            yield from _symbols_of_atom(atom)


_Replace = Callable[[Symbol], Number]


def _by_key(values: Mapping[Any, Operand]) -> _Replace:
    def replace(symbol: Symbol) -> Number:
        return as_number(values[symbol.key]) if symbol.key in values else symbol.number

    return replace


def _number(number: Number, replace: _Replace) -> Number:
    if isinstance(number, int):
        return number
    return linear(
        (number.constant, 1), *((_atom(atom, replace), factor) for atom, factor in number.terms)
    )


def _atom(atom: Atom, replace: _Replace) -> Number:
    match atom:
        case Symbol():
            return replace(atom)
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


def _condition(truth: Truth, replace: _Replace) -> Truth:
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


def _symbols_of_atom(atom: Atom) -> Iterator[Symbol]:
    match atom:
        case Symbol():
            yield atom
        case Product(factors):
            for factor in factors:
                yield from _symbols_of_atom(factor)
        case Extreme(_, operands):
            for operand in operands:
                yield from symbols_of(operand)
        case Quotient(dividend, divisor) | Remainder(dividend, divisor):
            yield from symbols_of(dividend)
            yield from symbols_of(divisor)
        case Selection(condition, then, otherwise):
            yield from _symbols_of_condition(condition)
            yield from symbols_of(then)
            yield from symbols_of(otherwise)


def _symbols_of_condition(condition: Condition) -> Iterator[Symbol]:
    if isinstance(condition, Comparison):
        yield from symbols_of(condition.difference)
    elif isinstance(condition, (AllOf, AnyOf)):
        for each in condition.conditions:
            yield from _symbols_of_condition(each)
