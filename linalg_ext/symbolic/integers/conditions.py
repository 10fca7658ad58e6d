"""Conditions that may have to wait for the run: built folded, and what `select` makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from linalg_ext.symbolic.integers.bounds import is_eq, is_le
from linalg_ext.symbolic.integers.expression import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Expression,
    Number,
    Operand,
    Relation,
    Selection,
    as_number,
    linear,
)

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
    open_ones = _open_ones(AllOf, truths)
    if any(truth is False for truth in truths):
        return False
    if len(open_ones) < 2:
        return open_ones[0] if open_ones else True
    return AllOf(open_ones)


def any_of(*truths: Truth) -> Truth:
    """Return whether one or more hold; none of none does."""
    open_ones = _open_ones(AnyOf, truths)
    if any(truth is True for truth in truths):
        return True
    if len(open_ones) < 2:
        return open_ones[0] if open_ones else False
    return AnyOf(open_ones)


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


def _open_ones(kind: type[AllOf] | type[AnyOf], truths: Iterable[Truth]) -> tuple[Condition, ...]:
    """The conditions among truths, those of the same kind taken apart, each once."""
    found: dict[Condition, None] = {}
    for truth in truths:
        if isinstance(truth, Condition):
            parts = truth.conditions if isinstance(truth, kind) else (truth,)
            found.update(dict.fromkeys(parts))
    return tuple(found)
