"""exp, exp2 and expm1: x = n ln 2 + r, a polynomial for e^r - 1, an exponent for 2^n.

Largest error: 1.25 ulp for exp and exp2, 2 ulp for expm1.
"""

from __future__ import annotations

import math as numbers
from typing import Any

from ._floats import Floats

LN2 = {
    "f32": (float.fromhex("0x1.62e42ep-1"), float.fromhex("0x1.efa39ep-25")),
    "f64": (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56")),
}
"""ln 2 in two parts: the format's bits of it, and as many of what is left."""

_QUOTIENT = {
    "f32": (
        0.001392692661402190648,
        0.0083637738744055734983,
        0.041666550110305124444,
        0.16666573381900846023,
        0.5,
    ),
    "f64": (
        2.0915442297780115216e-9,
        2.5106274733573294687e-8,
        2.7557271810219799569e-7,
        2.7557252833516909748e-6,
        0.000024801587307007186731,
        0.00019841269876864354929,
        0.0013888888888883326674,
        0.0083333333333255446996,
        0.041666666666666670074,
        0.16666666666666671438,
        0.5,
    ),
}
"""(e^r - 1 - r) / r^2 for |r| <= ln(2) / 2; errors 2^-23.8 and 2^-59.2, times r^2."""

_RANGE = {"f32": (-104.0, 89.0), "f64": (-746.0, 710.0)}
"""Below, e^x is zero; above, infinity. 2^n is a product of two normal numbers in between."""

_RANGE_OF_F16 = (-25.0, 12.0)
"""Beyond, e^x rounds to zero and to infinity in f16."""

_LOWEST_DIFFERENCE = {"f32": -20.0, "f64": -40.0}
"""Below, e^x - 1 is -1."""


def exp(x: Any) -> Any:
    """`e^x`."""
    floats = Floats(x.type)
    least, most = _RANGE[floats.format.name]
    exponent, difference = reduced(floats, floats.at_least(least, floats.at_most(most, x)))
    return floats.scale(floats.add(difference, 1), exponent)


def exp_of_f16(x: Any) -> Any:
    """`e^x` in f32 for numbers of f16: right where it is one of f16, and 0 and infinity beyond.

    2^n is a normal number of f32 then: one product, and the sum with 1 comes with it.
    """
    floats = Floats(x.type)
    least, most = _RANGE_OF_F16
    exponent, difference = reduced(floats, floats.at_least(least, floats.at_most(most, x)))
    power = floats.power_of_two(exponent)
    return floats.fma(difference, power, power)


def exp2(x: Any) -> Any:
    """`2^x`."""
    floats = Floats(x.type)
    least, most = (limit / numbers.log(2) for limit in _RANGE[floats.format.name])
    bounded = floats.at_least(round(least), floats.at_most(round(most), x))
    whole, exponent = floats.nearest_integer(bounded, 1)
    fraction = floats.sub(bounded, whole)
    high, low = LN2[floats.format.name]
    rest = floats.fma(fraction, high, floats.mul(fraction, low))
    return floats.scale(floats.add(difference_of(floats, rest), 1), exponent)


def expm1(x: Any) -> Any:
    """`e^x - 1`.

    2^n (p + 1) - 1 is 2 (2^(n-1) p + (2^(n-1) - 1/2)), where 2^(n-1) does not overflow.
    """
    floats = Floats(x.type)
    least, most = _LOWEST_DIFFERENCE[floats.format.name], _RANGE[floats.format.name][1]
    exponent, difference = reduced(floats, floats.at_least(least, floats.at_most(most, x)))
    half = floats.power_of_two(floats.integers.sub(exponent, 1))
    result = floats.fma(half, difference, floats.sub(half, 0.5))
    # The sum loses the sign of zero, and nothing else: the sign is that of x everywhere.
    return floats.copysign(floats.add(result, result), x)


def reduced(floats: Floats, x: Any) -> tuple[Any, Any]:
    """n and e^r - 1, where x = n ln 2 + r and |r| <= ln(2) / 2."""
    high, low = LN2[floats.format.name]
    whole, exponent = floats.nearest_integer(x, 1 / numbers.log(2))
    rest = floats.fma(whole, -low, floats.fma(whole, -high, x))
    return exponent, difference_of(floats, rest)


def difference_of(floats: Floats, rest: Any) -> Any:
    """`e^rest - 1`, for |rest| <= ln(2) / 2."""
    quotient = floats.polynomial(_QUOTIENT[floats.format.name], rest)
    return floats.fma(floats.mul(rest, rest), quotient, rest)
