"""log, log2, log10 and log1p: x = 2^e (1 + f), a polynomial for log(1 + f).

1 + f is between sqrt(1/2) and sqrt(2). To the digits of f32, log(1 + f) = f - f^2/2 + f^3 P(f): no
division. To those of f64 it is 2 atanh(s) = f - f^2/2 + s (f^2/2 + R(s^2)) with s = f / (2 + f): P
would need twice the terms. Neither loses anything where f is small. Largest error: 2 ulp for log
and log1p, 3 for log2 and log10.

Source of the form: the library fdlibm, Sun Microsystems 1993, as its comments tell it.
"""

from __future__ import annotations

import math as numbers
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith

from ._exponential import LN2
from ._floats import Floats

_CUBIC = (
    0.06915540658878707753,
    -0.11789864431721292184,
    0.11872925636530472013,
    -0.12384335214968903211,
    0.14218663857112717451,
    -0.16669251810515619233,
    0.20002226318017643379,
    -0.249999865765133404,
    0.3333331044537019524,
)
"""P, for f from sqrt(1/2) - 1 to sqrt(2) - 1; error 2^-30.4, times f."""

_TAIL = (
    0.1308803485092755383,
    0.13268638369266823879,
    0.15386244737621666606,
    0.18181795547521136235,
    0.22222222392581045097,
    0.28571428570799785031,
    0.40000000000000883236,
    0.66666666666666666463,
)
"""R(z) / z, for z = s^2 up to 0.0295; error 2^-58.7, times s^3."""

_SQRT_HALF = {"f32": 0x3F3504F3, "f64": 0x3FE6A09E667F3BCD}
_LOG10_2 = {
    "f32": (0.30103000998497009277, -1.4320989e-08),
    "f64": (0.30102999566398119802, -2.8037281277851704e-18),
}


@dataclass(frozen=True)
class Decomposed:
    """The logarithm of a positive x, in parts.

    Attributes:
        exponent: e, as a float.
        fraction: f.
        half_square: f^2 / 2.
        product: f^3 P(f), or s (f^2 / 2 + R(s^2)): log(1 + f) = f - (half_square - product).
    """

    exponent: Any
    fraction: Any
    half_square: Any
    product: Any

    def of_fraction(self, floats: Floats) -> Any:
        """`log(1 + f)`."""
        return floats.sub(self.fraction, floats.sub(self.half_square, self.product))


def log(x: Any) -> Any:
    """The natural logarithm."""
    floats = Floats(x.type)
    return with_limits(floats, x, _natural(floats, decompose(floats, x), None))


def log2(x: Any) -> Any:
    """The logarithm to base 2; exact at powers of two."""
    floats = Floats(x.type)
    parts = decompose(floats, x)
    result = floats.fma(parts.of_fraction(floats), 1 / numbers.log(2), parts.exponent)
    return with_limits(floats, x, result)


def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    floats = Floats(x.type)
    parts = decompose(floats, x)
    high, low = _LOG10_2[floats.format.name]
    fraction = floats.mul(parts.of_fraction(floats), 1 / numbers.log(10))
    result = floats.fma(parts.exponent, high, floats.fma(parts.exponent, low, fraction))
    return with_limits(floats, x, result)


def log1p(x: Any) -> Any:
    """`log(1 + x)`: of the rounded sum u, and what the rounding left, (x - (u - 1)) / u."""
    floats = Floats(x.type)
    total = floats.add(x, 1)
    lost = floats.div(floats.sub(x, floats.sub(total, 1)), total)
    result = _natural(floats, decompose(floats, total), lost)
    # The sum loses the sign of zero; elsewhere the sign is that of x anyway.
    return floats.copysign(with_limits(floats, total, result), x)


def decompose(floats: Floats, x: Any) -> Decomposed:
    """The parts of log(x); of anything but a positive finite number, something."""
    whole, fraction = split(floats, x)
    square = floats.mul(fraction, fraction)
    half_square = floats.mul(square, 0.5)
    if floats.format.name == "f32":
        cube = floats.mul(square, fraction)
        product = floats.mul(cube, floats.polynomial(_CUBIC, fraction))
        return Decomposed(whole, fraction, half_square, product)
    ratio = floats.div(fraction, floats.add(fraction, 2))
    ratio_square = floats.mul(ratio, ratio)
    remainder = floats.mul(ratio_square, floats.polynomial(_TAIL, ratio_square))
    product = floats.mul(ratio, floats.add(half_square, remainder))
    return Decomposed(whole, fraction, half_square, product)


def split(floats: Floats, x: Any, *, subnormal: bool = True) -> tuple[Any, Any]:
    """e, as a float, and f of a positive finite x."""
    form, integers = floats.format, floats.integers
    if subnormal:
        # A subnormal number is made normal first.
        shift = form.mantissa + 1
        small = floats.below(x, floats.of_bits(1 << form.mantissa))
        x = floats.select(small, floats.mul(x, 2.0**shift), x)
    sqrt_half = _SQRT_HALF[form.name]
    distance = integers.sub(floats.bits(x), sqrt_half)
    exponent = arith.shrsi(distance, integers.value(form.mantissa))
    significand = integers.sub(floats.bits(x), integers.shl(exponent, form.mantissa))
    fraction = floats.sub(floats.from_bits(significand), 1)
    whole = floats.from_integer(exponent)
    if subnormal:
        whole = floats.select(small, floats.sub(whole, float(shift)), whole)
    return whole, fraction


def _natural(floats: Floats, parts: Decomposed, addend: Any | None) -> Any:
    """`e ln 2 + log(1 + f) + addend`, the small parts first."""
    high, low = LN2[floats.format.name]
    if addend is None:
        small = floats.fma(parts.exponent, low, parts.product)
    else:
        small = floats.add(parts.product, floats.fma(parts.exponent, low, addend))
    fraction = floats.sub(parts.fraction, floats.sub(parts.half_square, small))
    return floats.fma(parts.exponent, high, fraction)


def with_limits(floats: Floats, x: Any, result: Any) -> Any:
    """`result` where x is positive and finite; -inf at 0, NaN below, inf and NaN as they are."""
    negative = floats.below(x, 0)
    zero = floats.equal(x, 0)
    limit = floats.select(negative, floats.not_a_number, x)
    limit = floats.select(zero, floats.of_bits(_minus_infinity(floats)), limit)
    positive = floats.above(x, 0)
    finite = floats.below(x, floats.infinity)
    return floats.select(arith.andi(positive, finite), result, limit)


def _minus_infinity(floats: Floats) -> int:
    return floats.format.infinity | 1 << (floats.format.width - 1)
