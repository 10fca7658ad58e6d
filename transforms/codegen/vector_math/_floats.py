"""Arithmetic on vectors of f32 or f64, and on their bits, at the current insertion point."""

from __future__ import annotations

import math as numbers
from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, vector
from linalg_ext.transforms.ir_utils.arithmetic import Integers, constant, like, literal
from linalg_ext.transforms.ir_utils.float_formats import WIDE


class Floats:
    """Arithmetic on one vector type; Python numbers among the operands become constants.

    Attributes:
        type: the vector type.
        format: of its elements.
        integers: arithmetic on integers of the elements' width.
    """

    def __init__(self, type_: Any) -> None:
        self.type = type_
        self.format = WIDE[str(type_.element_type)]
        bits = ir.IntegerType.get_signless(self.format.width)
        self.integers = Integers(like(type_, bits))

    def value(self, operand: Any) -> Any:
        """Return a Python number as a constant of the type; a value as it is."""
        return constant(self.type, operand) if isinstance(operand, int | float) else operand

    def of_bits(self, pattern: int) -> Any:
        return literal(self.type, hex(pattern))

    @property
    def infinity(self) -> Any:
        return self.of_bits(self.format.overflow)

    @property
    def not_a_number(self) -> Any:
        return self.of_bits(self.format.nan)

    def add(self, a: Any, b: Any) -> Any:
        return arith.addf(self.value(a), self.value(b))

    def sub(self, a: Any, b: Any) -> Any:
        return arith.subf(self.value(a), self.value(b))

    def mul(self, a: Any, b: Any) -> Any:
        return arith.mulf(self.value(a), self.value(b))

    def div(self, a: Any, b: Any) -> Any:
        return arith.divf(self.value(a), self.value(b))

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """`a * b + c`, rounded once."""
        return vector.fma(self.value(a), self.value(b), self.value(c))

    def below(self, a: Any, b: Any) -> Any:
        """`a < b`; false if either is NaN."""
        return arith.cmpf(arith.CmpFPredicate.OLT, self.value(a), self.value(b))

    def above(self, a: Any, b: Any) -> Any:
        """`a > b`; false if either is NaN."""
        return arith.cmpf(arith.CmpFPredicate.OGT, self.value(a), self.value(b))

    def equal(self, a: Any, b: Any) -> Any:
        """`a == b`; false if either is NaN."""
        return arith.cmpf(arith.CmpFPredicate.OEQ, self.value(a), self.value(b))

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        return arith.select(condition, self.value(a), self.value(b))

    def at_most(self, limit: float, a: Any) -> Any:
        """`min(limit, a)`, which leaves NaN: one instruction on x86."""
        return self.select(self.below(limit, a), limit, a)

    def at_least(self, limit: float, a: Any) -> Any:
        """`max(limit, a)`, which leaves NaN."""
        return self.select(self.above(limit, a), limit, a)

    def bits(self, a: Any) -> Any:
        return arith.bitcast(self.integers.type, a)

    def from_bits(self, a: Any) -> Any:
        return arith.bitcast(self.type, a)

    def from_integer(self, a: Any) -> Any:
        return arith.sitofp(self.type, a)

    def polynomial(self, coefficients: Sequence[float], x: Any) -> Any:
        """Evaluate a polynomial, the coefficient of the highest power first, by Horner's rule."""
        result = self.value(coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.fma(result, x, coefficient)
        return result

    def nearest_integer(self, a: Any, factor: float) -> tuple[Any, Any]:
        """`a * factor` rounded to an integer below 2^(mantissa - 1), as float and as integer.

        Adding 1.5 * 2^mantissa leaves no fraction bits, and the integer in the lowest bits. Unlike
        a conversion it is defined for NaN: the float is NaN then, the integer any.
        """
        shifter = 1.5 * 2.0**self.format.mantissa
        shifted = self.add(a, shifter) if factor == 1 else self.fma(a, factor, shifter)
        whole = self.sub(shifted, shifter)
        return whole, self.integers.sub(self.bits(shifted), self.bits(self.value(shifter)))

    def power_of_two(self, exponent: Any) -> Any:
        """`2^exponent` of integers in the range of normal numbers."""
        biased = self.integers.add(exponent, self.format.bias)
        return self.from_bits(self.integers.shl(biased, self.format.mantissa))

    def scale(self, a: Any, exponent: Any) -> Any:
        """`a * 2^exponent`, for 1/2 < |a| < 2, rounded once where it is subnormal.

        In two steps: half the exponent is always that of a normal number.
        """
        unit = self.integers.value(1)
        half = arith.shrsi(exponent, unit)
        rest = self.integers.sub(exponent, half)
        return self.mul(self.mul(a, self.power_of_two(half)), self.power_of_two(rest))


def of_integers(f64: Floats, integers: Any, *, is_signed: bool) -> Any:
    """Return integers of 64 bits as f64, rounded once.

    Each half is the last bits of a power of two: their sum less these powers is exact but for the
    last step.
    """
    i64, half = f64.integers, 1 << 32
    low = i64.disj(i64.conj(integers, half - 1), 0x433 << 52)  # 2^52 + low
    offset = 1 << 31 if is_signed else 0
    # 2^84 + 2^32 high, which the offset keeps from being negative
    high = arith.xori(i64.shr(integers, 32), i64.value(0x453 << 52 | offset))
    powers = 2.0**84 + 2.0**52 + offset * 2.0**32
    return f64.add(f64.sub(f64.from_bits(high), powers), f64.from_bits(low))


def any_of(condition: Any) -> Any:
    type_ = condition.type
    if type_.rank != 1:
        flat = ir.VectorType.get([numbers.prod(type_.shape)], type_.element_type)
        condition = vector.shape_cast(flat, condition)
    return vector.reduction(ir.IntegerType.get_signless(1), vector.CombiningKind.OR, condition)
