"""Conditions that must hold of an op when it runs: checked if known from the IR, else asserted."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from linalg_ext.bindings import affine, arith, cf, ir, memref, tensor
from linalg_ext.structured.constants import index
from linalg_ext.structured.operands import grouped
from linalg_ext.transforms.analysis.ranges import (
    Origin,
    Shapes,
    ends_of,
    is_position,
    origin_of_number,
    origin_of_size,
    range_of,
)
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.tensor_loops import compare, sub
from linalg_ext.transforms.ir_utils.walking import is_unused, text_of

DYNAMIC = ir.ShapedType.get_dynamic_size()


class Bounds:
    """The conditions of one op, asserted at the insertion point: an assertion for each reason.

    Args:
        op: the op.
        shapes: the first value of each shape, shared by the ops of a module.
    """

    def __init__(self, op: Any, shapes: Shapes) -> None:
        self.op = op
        self._known = shapes
        self._held: dict[str, list[Any]] = {}
        self._sizes: dict[Origin, Any] = {}
        self._made: list[Any] = []

    def size(self, value: Any, axis: int) -> Any:
        """Return a size of a tensor or a memref: a number where it is known from the IR."""
        origin = origin_of_size(value, axis, self._known)
        if not isinstance(origin, tuple):
            return origin
        if origin not in self._sizes:
            value, axis = origin
            dim = memref.dim if isinstance(value.type, _MEMREFS) else tensor.dim
            number = index(axis)
            self._sizes[origin] = dim(value, number)
            self._made += [number.owner, self._sizes[origin].owner]
        return self._sizes[origin]

    def sizes(self, value: Any) -> list[Any]:
        """Return all sizes of a tensor or a memref."""
        return [self.size(value, axis) for axis in range(value.type.rank)]

    def number(self, value: Any) -> Any:
        """Return a number if the value is known, else one value for all that are the same size."""
        if isinstance(value, int):
            return value
        origin = origin_of_number(value, self._known)
        if not isinstance(origin, tuple):
            return origin
        return self._sizes.setdefault(origin, value)

    def within(self, start: Any, count: Any, size: Any) -> None:
        """Require that `count` positions from a start on are below a size, and none is negative."""
        self.at_most(0, start)
        self.at_most(0, count)
        if count == 1:
            self.below(start, size)
        else:
            self.at_most(start, sub(size, count))

    def below(self, left: Any, right: Any, reason: str = "") -> None:
        """Require that a number, or a value, is less than another."""
        if range_of(left)[1] < range_of(right)[0]:
            return
        if not isinstance(left, int) and is_position(left):
            end = right if isinstance(right, int) else origin_of_number(right, self._known)
            if end in ends_of(left):
                return
        self.holds(compare("slt", left, right), reason)

    def at_most(self, left: Any, right: Any, reason: str = "") -> None:
        """Require that a number, or a value, is no greater than another."""
        if range_of(left)[1] > range_of(right)[0]:
            self.holds(compare("sle", left, right), reason)

    def equal(self, left: Any, right: Any, reason: str = "") -> None:
        """Require that a number, or a value, is equal to another."""
        if left is not right and left != right:
            self.holds(compare("eq", left, right), reason)

    def holds(self, condition: Any, reason: str = "") -> None:
        """Require a condition: a value of type i1, or a known answer."""
        if condition is not True:
            self._held.setdefault(reason, []).append(condition)

    def not_negative(self, sizes: Iterable[Any]) -> None:
        """Require that sizes given as numbers are 0 or more."""
        for size in sizes:
            self.at_most(0, size, "a size is negative")

    def product(self, factors: Iterable[Any], reason: str = "") -> Any:
        """Return a product of numbers that are 0 or more; require that 63 bits hold it."""
        result: Any = 1
        for factor in sorted(factors, key=lambda term: not isinstance(term, int)):
            if isinstance(result, int) and (result == 1 or isinstance(factor, int)):
                result = factor if result == 1 else result * factor
                continue
            if isinstance(result, int) and not 0 < result < 1 << 63:
                self.holds(result == 0, reason)
                return 0
            i64 = ir.IntegerType.get_signless(64)
            product = arith.MulUIExtendedOp(
                *(arith.index_cast(i64, index(term)) for term in (result, factor))
            )
            zero = constant(product.low.type, 0)
            self.holds(arith.cmpi(arith.CmpIPredicate.eq, product.high, zero), reason)
            self.holds(arith.cmpi(arith.CmpIPredicate.sge, product.low, zero), reason)
            result = arith.index_cast(ir.IndexType.get(), product.low)
        return result

    def emit(self) -> bool:
        """Assert all of it, at the insertion point; True if there is any."""
        if not self._held:
            for dim in reversed(self._made):
                if is_unused(dim.results[0]):
                    dim.erase()
            return False
        text, location = text_of(self.op), self.op.location
        with ir.Location.name(text, location):
            for reason, conditions in self._held.items():
                name = self.op.name
                message = f"{name}: {reason}" if reason else f"out-of-bounds access: {name}"
                cf.AssertOp(functools.reduce(arith.andi, map(as_condition, conditions)), message)
        return True


_MEMREFS = ir.MemRefType | ir.UnrankedMemRefType


def as_condition(answer: Any) -> Any:
    """Return an answer as a constant of type i1; a value as it is."""
    if isinstance(answer, bool):
        return constant(ir.IntegerType.get_signless(1), answer)
    return answer


def mixed(op: Any, static: str, dynamic: Sequence[Any]) -> list[Any]:
    """Return the numbers of an attribute, with values for the dynamic ones."""
    remaining = iter(dynamic)
    sizes = ir.DenseI64ArrayAttr(op.attributes[static])
    return [next(remaining) if size == DYNAMIC else size for size in sizes]


def operand_groups(op: Any) -> list[list[Any]]:
    """Return the operands of an op, by its segments."""
    counts: Any = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    return grouped(op.operands, counts)


def apply_map(map_: Any, operands: Sequence[Any]) -> list[Any]:
    """Return the results of an affine map: numbers, operands, and `affine.apply` of the rest."""
    return [_apply_result(map_, number, list(operands)) for number in range(len(map_.results))]


def _apply_result(map_: Any, number: int, operands: list[Any]) -> Any:
    expr = map_.results[number]
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value
    if isinstance(expr, ir.AffineDimExpr):
        return operands[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return operands[map_.n_dims + expr.position]
    return affine.AffineApplyOp(map_.get_submap([number]), operands).result
