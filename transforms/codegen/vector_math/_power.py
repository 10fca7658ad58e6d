"""powf, as e^(y log |x|) with more digits in between than the result has.

The product y log |x| would lose as many bits as its exponent has. For f32 it is computed in f64,
for f64 as a sum of two numbers. The special cases are those of C (ISO/IEC 9899, annex F.10.4.4).
Largest error: 1 ulp for f32, 1.25 for f64.
"""

from __future__ import annotations

import math as numbers
from typing import Any

from linalg_ext.bindings import arith, ir, math
from linalg_ext.transforms.lowering._elementwise import constant, like

from ._exponential import _QUOTIENT, LN2
from ._floats import Floats
from ._logarithm import decompose, split, with_limits
from ._pairs import Pair, product_of, square_of, sum_of

_LEAST, _MOST = -152.0, 130.0
"""Exponents to base 2 beyond are zero and infinity in f32."""

_LARGEST = 800.0
"""Exponents to base e beyond are zero and infinity in f64."""

_SERIES = (
    0.11725771221811145066,
    0.11705988156500907521,
    0.13334813971292004307,
    0.15384594791762350619,
    0.18181818336992569587,
    0.22222222221648821378,
    0.28571428571429377785,
    0.39999999999999999814,
)
"""(2 atanh(s) / s - 2 - 2/3 z) / z^2, for z = s^2 up to 0.0295; error 2^-58.9, times z^2."""

_TWO_THIRDS = (float.fromhex("0x1.5555555555555p-1"), float.fromhex("0x1.5555555555555p-55"))
_SHORT_LN2 = (float.fromhex("0x1.62e42fefa3800p-1"), float.fromhex("0x1.ef35793c76730p-45"))
"""ln 2 in two parts, the first of so few bits that an exponent times it is exact."""


def powf(x: Any, y: Any) -> Any:
    """`x^y`."""
    floats = Floats(x.type)
    size = floats.absolute(x)
    is_narrow = floats.format.name == "f32"
    magnitude = (_magnitude_in_f64 if is_narrow else _magnitude)(floats, size, y)

    is_whole = floats.equal(math.floor(y), y)
    half = floats.mul(y, 0.5)
    is_even = floats.equal(math.floor(half), half)
    is_odd = arith.andi(is_whole, _not(is_even))
    signed = floats.select(is_odd, floats.copysign(magnitude, x), magnitude)

    is_negative = arith.andi(floats.below(x, 0), floats.below(size, floats.infinity))
    # Beside NaN nothing is whole, and the magnitude is NaN already.
    undefined = arith.andi(is_negative, _not(is_whole))
    result = floats.select(undefined, floats.not_a_number, signed)

    at_one = arith.andi(floats.equal(size, 1), floats.equal(floats.absolute(y), floats.infinity))
    is_one = arith.ori(arith.ori(floats.equal(y, 0), floats.equal(x, 1)), at_one)
    return floats.select(is_one, 1, result)


def _magnitude_in_f64(floats: Floats, size: Any, y: Any) -> Any:
    """`size^y` of f32, for a size that is not negative."""
    wide = Floats(like(size.type, ir.F64Type.get()))
    size, y = (arith.extf(wide.type, each) for each in (size, y))
    # The digits of f32 are enough, in the arithmetic of f64: short polynomials.
    parts = decompose(wide, size, digits="f32", subnormal=False)
    logarithm = wide.fma(parts.of_fraction(wide), 1 / numbers.log(2), parts.exponent)
    power = wide.mul(y, with_limits(wide, size, logarithm))
    power = wide.at_least(_LEAST, wide.at_most(_MOST, power))
    whole, exponent = wide.nearest_integer(power, 1)
    rest = wide.mul(wide.sub(power, whole), numbers.log(2))
    quotient = wide.polynomial(_QUOTIENT["f32"], rest)
    difference = wide.fma(wide.mul(rest, rest), quotient, rest)
    result = wide.mul(wide.add(difference, 1), wide.power_of_two(exponent))
    return arith.truncf(floats.type, result)


def _magnitude(floats: Floats, size: Any, y: Any) -> Any:
    """`size^y` of f64, for a size that is not negative."""
    logarithm = _logarithm(floats, size)
    limit = with_limits(floats, size, logarithm.high)
    power = product_of(floats, Pair(y, floats.value(0)), Pair(limit, logarithm.low))
    is_small = floats.below(floats.absolute(power.high), _LARGEST)
    low = floats.select(is_small, power.low, 0)
    high = floats.at_least(-_LARGEST, floats.at_most(_LARGEST, power.high))

    whole, exponent = floats.nearest_integer(high, 1 / numbers.log(2))
    rest = high
    for part in LN2["f64"]:
        rest = floats.fma(whole, -part, rest)
    rest = floats.add(rest, low)
    quotient = floats.polynomial(_QUOTIENT["f64"], rest)
    difference = floats.fma(floats.mul(rest, rest), quotient, rest)
    return floats.scale(floats.add(difference, 1), exponent)


def _logarithm(floats: Floats, x: Any) -> Pair:
    """log(x) to about 65 bits, as e ln 2 + 2 s + s z (2/3 + z S(z)), where s = f / (2 + f)."""
    exponent, fraction = split(floats, x)
    below = sum_of(floats, floats.value(2), fraction)
    inverse = floats.div(1, below.high)
    ratio = floats.mul(fraction, inverse)
    missing = floats.fma(floats.sub(0, ratio), below.high, fraction)
    missing = floats.fma(floats.sub(0, ratio), below.low, missing)
    s = Pair(ratio, floats.mul(missing, inverse))
    z = square_of(floats, s)

    series = floats.mul(z.high, floats.polynomial(_SERIES, z.high))
    inner = sum_of(floats, floats.value(_TWO_THIRDS[0]), series)
    inner = Pair(inner.high, floats.add(inner.low, _TWO_THIRDS[1]))
    tail = product_of(floats, s, product_of(floats, z, inner))

    fractional = sum_of(floats, floats.add(s.high, s.high), tail.high)
    low = floats.add(fractional.low, floats.add(floats.add(s.low, s.low), tail.low))
    whole = sum_of(floats, floats.mul(exponent, _SHORT_LN2[0]), fractional.high)
    low = floats.add(floats.fma(exponent, _SHORT_LN2[1], low), whole.low)
    return sum_of(floats, whole.high, low)


def _not(condition: Any) -> Any:
    return arith.xori(condition, constant(condition.type, 1))
