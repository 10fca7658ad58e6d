"""Numbers of the algebra as index values, and back."""

from __future__ import annotations

from functools import reduce

from linalg_ext.analysis.numbers import (
    AllOf,
    AnyOf,
    Atom,
    Comparison,
    Expression,
    Extreme,
    Number,
    Product,
    Quotient,
    Relation,
    Remainder,
    Selection,
    Symbol,
    Truth,
)
from linalg_ext.bindings import arith, ir
from linalg_ext.structured.constants import integer_constant
from linalg_ext.structured.subsets.inference import static
from linalg_ext.structured.subsets.ops import Index


def number_of(index: Index) -> Number:
    """The number of an index: what it is known to be, or a symbol of its value."""
    known = static(index)
    return Symbol(index).number if known is None else known


def index_of(number: Number) -> ir.Value:
    """A number as a value of type index, at the current insertion point."""
    if not isinstance(number, Expression):
        return integer_constant(ir.IndexType.get(), number)
    terms = [_times(_atom(atom), factor) for atom, factor in number.terms]
    if number.constant:
        terms.append(integer_constant(ir.IndexType.get(), number.constant))
    return reduce(lambda one, other: arith.AddIOp(one, other).result, terms)


def truth_of(truth: Truth) -> ir.Value:
    """A truth as a value of type i1, at the current insertion point."""
    if isinstance(truth, bool):
        return integer_constant(ir.IntegerType.get_signless(1), int(truth))
    match truth:
        case Comparison(relation, difference):
            predicate = {
                Relation.AT_MOST: arith.CmpIPredicate.sle,
                Relation.EQUAL: arith.CmpIPredicate.eq,
                Relation.DIFFERENT: arith.CmpIPredicate.ne,
            }[relation]
            return arith.CmpIOp(predicate, index_of(difference), index_of(0)).result
        case AllOf(conditions):
            return reduce(
                lambda one, other: arith.AndIOp(one, other).result, map(truth_of, conditions)
            )
        case AnyOf(conditions):
            return reduce(
                lambda one, other: arith.OrIOp(one, other).result, map(truth_of, conditions)
            )
    raise TypeError(truth)


def _times(value: ir.Value, factor: int) -> ir.Value:
    return value if factor == 1 else arith.MulIOp(value, index_of(factor)).result


def _atom(atom: Atom) -> ir.Value:
    match atom:
        case Symbol(key):
            assert isinstance(key, ir.Value)
            return key
        case Product(factors):
            return reduce(lambda one, other: arith.MulIOp(one, other).result, map(_atom, factors))
        case Extreme(is_minimum, operands):
            op = arith.MinSIOp if is_minimum else arith.MaxSIOp
            return reduce(lambda one, other: op(one, other).result, map(index_of, operands))
        case Quotient(dividend, divisor):
            return arith.FloorDivSIOp(index_of(dividend), index_of(divisor)).result
        case Remainder(dividend, divisor):
            return arith.RemSIOp(index_of(dividend), index_of(divisor)).result
        case Selection(condition, then, otherwise):
            return arith.SelectOp(truth_of(condition), index_of(then), index_of(otherwise)).result
    raise TypeError(atom)
