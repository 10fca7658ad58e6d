"""powf of f32, as 2^(y log2 |x|) in f64, which rounds once at the end.

In f32 the product would lose as many bits as its exponent has; in f64 enough are left. The special
cases are those of C (ISO/IEC 9899, annex F.10.4.4). Largest error: 1 ulp.
"""

from __future__ import annotations

import math as numbers
from typing import Any

from linalg_ext.bindings import arith, ir, math
from linalg_ext.transforms.lowering._elementwise import constant, like

from ._exponential import _QUOTIENT
from ._floats import Floats
from ._logarithm import TAIL, decompose, with_limits

_LEAST, _MOST = -152.0, 130.0
"""Exponents beyond are zero and infinity in f32."""


def powf(x: Any, y: Any) -> Any:
    """`x^y`."""
    narrow = Floats(x.type)
    size = narrow.absolute(x)
    magnitude = arith.truncf(x.type, _magnitude(size, y))

    is_whole = narrow.equal(math.floor(y), y)
    half = narrow.mul(y, 0.5)
    is_even = narrow.equal(math.floor(half), half)
    is_odd = arith.andi(is_whole, _not(is_even))
    signed = narrow.select(is_odd, narrow.copysign(magnitude, x), magnitude)

    is_negative = arith.andi(narrow.below(x, 0), narrow.below(size, narrow.infinity))
    # Beside NaN nothing is whole, and the magnitude is NaN already.
    undefined = arith.andi(is_negative, _not(is_whole))
    result = narrow.select(undefined, narrow.not_a_number, signed)

    at_one = arith.andi(narrow.equal(size, 1), narrow.equal(narrow.absolute(y), narrow.infinity))
    is_one = arith.ori(arith.ori(narrow.equal(y, 0), narrow.equal(x, 1)), at_one)
    return narrow.select(is_one, 1, result)


def _magnitude(size: Any, y: Any) -> Any:
    """`size^y` in f64, for a size that is not negative."""
    wide = Floats(like(size.type, ir.F64Type.get()))
    size, y = (arith.extf(wide.type, each) for each in (size, y))
    # The digits of f32 are enough, in the arithmetic of f64: short polynomials.
    parts = decompose(wide, size, tail=TAIL["f32"], subnormal=False)
    logarithm = wide.fma(parts.of_fraction(wide), 1 / numbers.log(2), parts.exponent)
    power = wide.mul(y, with_limits(wide, size, logarithm))
    power = wide.at_least(_LEAST, wide.at_most(_MOST, power))
    whole, exponent = wide.nearest_integer(power, 1)
    rest = wide.mul(wide.sub(power, whole), numbers.log(2))
    quotient = wide.polynomial(_QUOTIENT["f32"], rest)
    difference = wide.fma(wide.mul(rest, rest), quotient, rest)
    return wide.mul(wide.add(difference, 1), wide.power_of_two(exponent))


def _not(condition: Any) -> Any:
    return arith.xori(condition, constant(condition.type, 1))
