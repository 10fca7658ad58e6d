"""Numbers as index values: what offsets and sizes become where IR is built.

They are emitted as upstream's tiling emits them, so that its canonicalization and its bounds
analysis take them further: one `affine.apply` for all that is affine, `affine.min` and `affine.max`
with a result for each operand. Products of two values and divisions by a value are arith.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import reduce
from typing import TypeVar

from linalg_ext.bindings import affine, arith, ir
from linalg_ext.errors import ArgumentError
from linalg_ext.structured.utils.constants import integer_constant
from linalg_ext.symbolic.integers import (
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
    Truth,
    as_number,
    is_le,
)

K = TypeVar("K", bound=Number | Condition)


class Emitter:
    """Emits numbers at the current insertion point, equal ones once.

    A value that was emitted is used again, so one emitter serves one block, from an insertion point
    downwards, and the blocks inside of what follows.

    Args:
        values: what symbols stand for, by key. A key that is a value itself needs no entry.
    """

    def __init__(self, values: Mapping[Hashable, ir.Value] | None = None) -> None:
        self._values = dict(values or {})
        self._emitted: dict[Number | Condition, ir.Value] = {}

    def inside(self) -> Emitter:
        """One for a block inside what follows: all that was emitted so far is there too."""
        inner = type(self)(self._values)
        inner._emitted.update(self._emitted)
        return inner

    def value(self, number: Operand) -> ir.Value:
        """A number as a value of type index.

        Raises:
            ArgumentError: a symbol stands for no value.
        """
        return self._once(as_number(number), self._new_value)

    def mixed(self, numbers: Sequence[Operand]) -> list[int | ir.Value]:
        """Numbers as ops with static and dynamic offsets take them: known ones stay integers."""
        known = map(as_number, numbers)
        return [each if isinstance(each, int) else self.value(each) for each in known]

    def truth(self, truth: Truth) -> ir.Value:
        """A condition as a value of type i1."""
        # True and 1 are equal as keys.
        if isinstance(truth, bool):
            return integer_constant(ir.IntegerType.get_signless(1), int(truth))
        return self._once(truth, self._new_truth)

    def _once(self, wanted: K, emit: Callable[[K], ir.Value]) -> ir.Value:
        found = self._emitted.get(wanted)
        if found is None:
            found = self._emitted[wanted] = emit(wanted)
        return found

    def _new_value(self, number: Number) -> ir.Value:
        if isinstance(number, int):
            return integer_constant(ir.IndexType.get(), number)
        if len(number.terms) == 1 and number.terms[0][1] == 1 and not number.constant:
            return self._atom(number.terms[0][0])
        return self._affine(number)

    def _atom(self, atom: Atom) -> ir.Value:
        match atom:
            case Symbol():
                return self._symbol(atom)
            case Extreme(is_minimum, operands):
                map, values = self._map(operands)
                kind = affine.AffineMinOp if is_minimum else affine.AffineMaxOp
                return _result(kind(map, values))
            case Product(factors):
                return reduce(arith.muli, [self.value(factor) for factor in factors])
            case Selection(condition, then, otherwise):
                return arith.select(self.truth(condition), self.value(then), self.value(otherwise))
            case Quotient(dividend, divisor) if not isinstance(divisor, int):
                return arith.floordivsi(self.value(dividend), self.value(divisor))
            case Remainder(dividend, divisor) if not isinstance(divisor, int):
                if is_le(0, dividend):
                    return arith.remui(self.value(dividend), self.value(divisor))
                # That of arith has the sign of the dividend; this one has the divisor's.
                return self.value(dividend - (dividend // divisor) * divisor)
        return self._affine(as_number(atom))

    def _symbol(self, symbol: Symbol) -> ir.Value:
        value = self._values.get(symbol.key, symbol.key)
        if isinstance(value, ir.Value):
            return value
        raise ArgumentError(
            f"symbol {symbol} stands for no value",
            expected="a symbol whose key is an IR value, or one that the emitter was given",
        )

    def _affine(self, number: Number) -> ir.Value:
        map, values = self._map([number])
        return _result(affine.AffineApplyOp(map, values))

    def _map(self, numbers: Sequence[Number]) -> tuple[ir.AffineMap, list[ir.Value]]:
        """Numbers as results of one map, and the values of its dimensions."""
        leaves: dict[Atom, int] = {}
        results = [_affine_expression(number, leaves) for number in numbers]
        return ir.AffineMap.get(len(leaves), 0, results), [self.value(leaf) for leaf in leaves]

    def _new_truth(self, truth: Condition) -> ir.Value:
        match truth:
            case AllOf(conditions):
                return reduce(arith.andi, [self.truth(each) for each in conditions])
            case AnyOf(conditions):
                return reduce(arith.ori, [self.truth(each) for each in conditions])
            case Comparison(relation, difference):
                return self._comparison(relation, difference)
        raise TypeError(f"unknown condition {type(truth).__name__}")

    def _comparison(self, relation: Relation, difference: Expression) -> ir.Value:
        """`a - b` compared with 0 as a compared with b: nothing to subtract."""
        positive = tuple((atom, factor) for atom, factor in difference.terms if factor > 0)
        negative = tuple((atom, -factor) for atom, factor in difference.terms if factor < 0)
        left: Number = Expression(max(difference.constant, 0), positive)
        right: Number = Expression(max(-difference.constant, 0), negative)
        return arith.cmpi(_PREDICATES[relation], self.value(left + 0), self.value(right + 0))


_PREDICATES = {
    Relation.AT_MOST: arith.CmpIPredicate.sle,
    Relation.EQUAL: arith.CmpIPredicate.eq,
    Relation.DIFFERENT: arith.CmpIPredicate.ne,
}


def _affine_expression(number: Number, leaves: dict[Atom, int]) -> ir.AffineExpr:
    """A number as an affine expression; atoms that are not affine are numbered in `leaves`."""
    if isinstance(number, int):
        return ir.AffineConstantExpr.get(number)
    terms = [
        ir.AffineMulExpr.get(_affine_atom(atom, leaves), ir.AffineConstantExpr.get(factor))
        for atom, factor in number.terms
    ]
    return reduce(ir.AffineAddExpr.get, [*terms, ir.AffineConstantExpr.get(number.constant)])


def _affine_atom(atom: Atom, leaves: dict[Atom, int]) -> ir.AffineExpr:
    if isinstance(atom, (Quotient, Remainder)) and isinstance(atom.divisor, int):
        kind = ir.AffineFloorDivExpr if isinstance(atom, Quotient) else ir.AffineModExpr
        dividend = _affine_expression(atom.dividend, leaves)
        return kind.get(dividend, ir.AffineConstantExpr.get(atom.divisor))
    return ir.AffineDimExpr.get(leaves.setdefault(atom, len(leaves)))


def _result(op: ir.OpView) -> ir.Value:
    return op.operation.results[0]
