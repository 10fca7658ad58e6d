"""Exponentials, logarithms, hyperbolic functions and error functions.

exp, exp2 and expm1: x = n ln 2 + r, a polynomial for e^r - 1, an exponent for 2^n. Largest error:
1.25 ulp for exp and exp2, 2 ulp for expm1.

log, log2, log10 and log1p: x = 2^e (1 + f), a polynomial for log(1 + f). 1 + f is between sqrt(1/2)
and sqrt(2). To the digits of f32, log(1 + f) = f - f^2/2 + f^3 P(f): no division. To those of f64
it is 2 atanh(s) = f - f^2/2 + s (f^2/2 + R(s^2)) with s = f / (2 + f): P would need twice the
terms. Neither loses anything where f is small. Largest error: 2 ulp for log and log1p, 3 for log2
and log10. Source of the form: the library fdlibm, Sun Microsystems 1993, as its comments tell it.

tanh, sinh and cosh are of e^|x| = 2^n (1 + d), without cancellation: tanh(x) = d / (d + 2), where
d = e^(2|x|) - 1. sinh and cosh are the difference and the sum of e^|x| / 2 and its inverse; below 1
sinh is an odd polynomial. Largest error: 3 ulp.

asinh, acosh and atanh are log1p of a term that is small where they are small. Where the square of x
would round away the 1 beside it, asinh and acosh are log(x) + log(2). Largest error: 4 ulp.

erf and erfc: an odd polynomial for erf near 0, e^-x^2 times a slow function beyond. Of f32,
1 - e^q(|x|) is enough beyond 1, where q fits log(erfc). erfc needs every digit where it is small:
(1 + 2x) e^x^2 erfc(x) is a polynomial in (x - k) / (x + k), and x^2 is exact in two parts. Largest
error: 2 ulp for erf, 4 ulp for erfc. Source of the form of erfc: M. Shepherd and J. Laframboise,
Chebyshev Approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < infinity, Mathematics of Computation
36 (1981).
"""

from __future__ import annotations

import math as numbers
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, math

from ._floats import Floats

LN2 = {
    "f32": (float.fromhex("0x1.62e42ep-1"), float.fromhex("0x1.efa39ep-25")),
    "f64": (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56")),
}
"""ln 2 in two parts: the format's bits of it, and as many of the remainder."""

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


def exp(floats: Floats, x: Any) -> Any:
    least, most = _RANGE[floats.format.name]
    exponent, difference = reduced(floats, floats.at_least(least, floats.at_most(most, x)))
    return floats.scale(floats.add(difference, 1), exponent)


def exp_of_f16(floats: Floats, x: Any) -> Any:
    """`e^x` in f32 for numbers of f16: right where it is one of f16, and 0 and infinity beyond.

    2^n is a normal number of f32 then: one product, and the sum with 1 comes with it.
    """
    least, most = _RANGE_OF_F16
    exponent, difference = reduced(floats, floats.at_least(least, floats.at_most(most, x)))
    power = floats.power_of_two(exponent)
    return floats.fma(difference, power, power)


def exp2(floats: Floats, x: Any) -> Any:
    least, most = (limit / numbers.log(2) for limit in _RANGE[floats.format.name])
    bounded = floats.at_least(round(least), floats.at_most(round(most), x))
    whole, exponent = floats.nearest_integer(bounded, 1)
    fraction = floats.sub(bounded, whole)
    high, low = LN2[floats.format.name]
    rest = floats.fma(fraction, high, floats.mul(fraction, low))
    return floats.scale(floats.add(difference_of(floats, rest), 1), exponent)


def expm1(floats: Floats, x: Any) -> Any:
    """`e^x - 1`.

    2^n (p + 1) - 1 is 2 (2^(n-1) p + (2^(n-1) - 1/2)), where 2^(n-1) does not overflow.
    """
    least, most = _LOWEST_DIFFERENCE[floats.format.name], _RANGE[floats.format.name][1]
    exponent, difference = reduced(floats, floats.at_least(least, floats.at_most(most, x)))
    half = floats.power_of_two(floats.integers.sub(exponent, 1))
    result = floats.fma(half, difference, floats.sub(half, 0.5))
    # The sum loses the sign of zero, and nothing else: the sign is that of x everywhere.
    return math.copysign(floats.add(result, result), x)


def reduced(floats: Floats, x: Any) -> tuple[Any, Any]:
    """Return n and e^r - 1, where x = n ln 2 + r and |r| <= ln(2) / 2."""
    high, low = LN2[floats.format.name]
    whole, exponent = floats.nearest_integer(x, 1 / numbers.log(2))
    rest = floats.fma(whole, -low, floats.fma(whole, -high, x))
    return exponent, difference_of(floats, rest)


def difference_of(floats: Floats, rest: Any) -> Any:
    """`e^rest - 1`, for |rest| <= ln(2) / 2."""
    quotient = floats.polynomial(_QUOTIENT[floats.format.name], rest)
    return floats.fma(floats.mul(rest, rest), quotient, rest)


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


def log(floats: Floats, x: Any) -> Any:
    return with_limits(floats, x, _natural(floats, decompose(floats, x), None))


def log2(floats: Floats, x: Any) -> Any:
    """Return the logarithm to base 2; exact at powers of two."""
    parts = decompose(floats, x)
    result = floats.fma(parts.of_fraction(floats), 1 / numbers.log(2), parts.exponent)
    return with_limits(floats, x, result)


def log10(floats: Floats, x: Any) -> Any:
    parts = decompose(floats, x)
    high, low = _LOG10_2[floats.format.name]
    fraction = floats.mul(parts.of_fraction(floats), 1 / numbers.log(10))
    result = floats.fma(parts.exponent, high, floats.fma(parts.exponent, low, fraction))
    return with_limits(floats, x, result)


def log1p(floats: Floats, x: Any) -> Any:
    """`log(1 + x)`: of the rounded sum u, and the error of rounding, (x - (u - 1)) / u."""
    total = floats.add(x, 1)
    lost = floats.div(floats.sub(x, floats.sub(total, 1)), total)
    result = _natural(floats, decompose(floats, total), lost)
    # The sum loses the sign of zero; elsewhere the sign is that of x anyway.
    return math.copysign(with_limits(floats, total, result), x)


def decompose(floats: Floats, x: Any) -> Decomposed:
    """Return the parts of log(x); of anything but a positive finite number, something."""
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
    """Return e, as a float, and f of a positive finite x."""
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
    """Return `result` for positive finite x, -inf at 0, NaN below, and x itself for inf and NaN."""
    negative = floats.below(x, 0)
    zero = floats.equal(x, 0)
    limit = floats.select(negative, floats.not_a_number, x)
    minus_infinity = floats.of_bits(floats.format.overflow | 1 << (floats.format.width - 1))
    limit = floats.select(zero, minus_infinity, limit)
    positive = floats.above(x, 0)
    finite = floats.below(x, floats.infinity)
    return floats.select(arith.andi(positive, finite), result, limit)


_ONE_FROM = {"f32": 10.0, "f64": 22.0}
"""From here on tanh rounds to 1."""

_INFINITE_FROM = {"f32": 90.0, "f64": 711.0}
"""From here on sinh and cosh are beyond the format."""

_SINE = {
    "f32": (
        2.8062802582276946181e-6,
        0.0001983810196868388931,
        0.0083333396759170609124,
        0.16666666646842134324,
    ),
    "f64": (
        2.8445264169895285633e-15,
        7.6466253616566576563e-13,
        1.605904839635056164e-10,
        2.5052108364058040751e-8,
        2.7557319224040338598e-6,
        0.00019841269841269773197,
        0.0083333333333333333658,
        0.16666666666666666667,
    ),
}
"""(sinh(x) - x) / x^3 over x^2, for |x| <= 1; errors 2^-32 and 2^-72, times x^3."""


def tanh(floats: Floats, x: Any) -> Any:
    bounded = floats.at_most(_ONE_FROM[floats.format.name], math.absf(x))
    exponent, difference = reduced(floats, floats.add(bounded, bounded))
    power = floats.power_of_two(exponent)
    whole = floats.fma(power, difference, floats.sub(power, 1))
    return math.copysign(floats.div(whole, floats.add(whole, 2)), x)


def sinh(floats: Floats, x: Any) -> Any:
    size = math.absf(x)
    half = _half_power(floats, size)
    far = floats.sub(half, floats.div(0.25, half))
    square = floats.mul(x, x)
    tail = floats.polynomial(_SINE[floats.format.name], square)
    near = floats.fma(floats.mul(size, square), tail, size)
    return math.copysign(floats.select(floats.below(size, 1), near, far), x)


def cosh(floats: Floats, x: Any) -> Any:
    half = _half_power(floats, math.absf(x))
    return floats.add(half, floats.div(0.25, half))


def _half_power(floats: Floats, size: Any) -> Any:
    """`e^size / 2`, which overflows where sinh does."""
    bounded = floats.at_most(_INFINITE_FROM[floats.format.name], size)
    exponent, difference = reduced(floats, bounded)
    return floats.scale(floats.add(difference, 1), floats.integers.sub(exponent, 1))


def asinh(floats: Floats, x: Any) -> Any:
    """Return the inverse hyperbolic sine: `log1p(a + a^2 / (1 + sqrt(1 + a^2)))`, signed as x."""
    size = math.absf(x)
    near = floats.at_most(_far(floats), size)
    square = floats.mul(near, near)
    root = math.sqrt(floats.add(square, 1))
    argument = floats.add(near, floats.div(square, floats.add(root, 1)))
    return math.copysign(_logarithm(floats, size, argument), x)


def acosh(floats: Floats, x: Any) -> Any:
    """Return the inverse hyperbolic cosine: `log1p(t + sqrt(t (t + 2)))`, t = x - 1."""
    near = floats.sub(floats.at_most(_far(floats), x), 1)
    root = math.sqrt(floats.mul(near, floats.add(near, 2)))
    result = _logarithm(floats, x, floats.add(near, root))
    return floats.select(floats.below(x, 1), floats.not_a_number, result)


def atanh(floats: Floats, x: Any) -> Any:
    """Return the inverse hyperbolic tangent: half of `log1p(2 a / (1 - a))`; NaN beyond 1."""
    size = math.absf(x)
    argument = floats.div(floats.add(size, size), floats.sub(1, size))
    return math.copysign(floats.mul(log1p(floats, argument), 0.5), x)


def _far(floats: Floats) -> float:
    return 2.0 ** (floats.format.mantissa // 2 + 3)


def _logarithm(floats: Floats, x: Any, argument: Any) -> Any:
    """`log1p(argument)`, or log(2 x) where x is far."""
    is_far = floats.above(x, _far(floats))
    addend = floats.select(is_far, numbers.log(2), floats.value(0))
    # log(x), where it is far.
    argument = floats.select(is_far, floats.sub(x, 1), argument)
    return floats.add(log1p(floats, argument), addend)


_NEAR = {
    "f32": (
        0.000078758750626854883411,
        -0.00080168642871658695293,
        0.0051890874234339739861,
        -0.026854212010626412443,
        0.11283594715160217732,
        -0.37612626666720331023,
        0.12837916584835094603,
    ),
    "f64": (
        5.9571761477489114044e-11,
        -1.137284885679167367e-9,
        1.4659775274047435814e-8,
        -1.6350312701054695011e-7,
        1.6461000484121368033e-6,
        -0.000014925595266831181565,
        0.00012055331111642710923,
        -0.00085483269808337899052,
        0.0052239776248180144673,
        -0.026866170645076793248,
        0.11283791670954878666,
        -0.37612638903183748056,
        0.12837916709551257377,
    ),
}
"""erf(x) / x - 1 over x^2, for |x| <= 1; errors 2^-29.6 and 2^-62.7."""

_FAR = (
    -2.0828618049995634e-05,
    0.0004313935608456989,
    -0.004156254890128569,
    0.025080616423138254,
    -0.10822038393568455,
    -0.6334008509578388,
    -1.129488406380195,
    0.00016920511629781032,
)
"""log(erfc(x)) in f32 for 0.9 <= x <= 3.95, weighted by erfc / erf; error 2^-34 of erf."""

_ERF_ONE_FROM = 3.95
"""From here on erf rounds to 1 in f32."""

_SLOW = {
    "f32": (
        0.00002166778931820729617,
        -0.00037305906753646284013,
        -0.0012513748068165182243,
        0.0012824424978298312839,
        0.0086394914712150209272,
        -0.0080479659593189303913,
        -0.054205721699438647736,
        0.16405364744395989304,
        -0.1660312974926619379,
        -0.092763916934433395467,
        1.2769783911440880371,
    ),
    "f64": (
        1.2495096223529885875e-9,
        1.8232502650683418925e-9,
        -1.4098981967735139345e-8,
        -1.7887124945071396145e-8,
        1.1014538107239168999e-7,
        7.4607802570016128065e-8,
        -8.2560030685774941957e-7,
        2.938325218602608673e-7,
        5.7098826184524604104e-6,
        -0.000011222056567542861757,
        -0.000024399287588611389205,
        0.00015062169530680259853,
        -0.00019925667239225933107,
        -0.00075777329602974687705,
        0.0050319699736981789747,
        -0.016197734056285586788,
        0.037167515537983953032,
        -0.066330365812379195038,
        0.093732834998317886469,
        -0.10103906603629606205,
        0.068097054254693566787,
        0.015379652102619584397,
        -0.13962111684056252052,
        1.2329951186255525102,
    ),
}
"""(1 + 2x) e^x^2 erfc(x) over (x - k) / (x + k), for x from 0 to `_ZERO_FROM`.

Errors 2^-26.3 and 2^-58.9.
"""

_MIDDLE = {"f32": 2.0, "f64": 4.0}
"""k."""

_ZERO_FROM = {"f32": 10.1, "f64": 27.3}
"""From here on erfc rounds to 0."""


def erf(floats: Floats, x: Any) -> Any:
    size = math.absf(x)
    near = _near(floats, x)
    beyond = _far_rest(floats, size) if floats.format.name == "f32" else _rest(floats, size)
    result = floats.select(floats.below(size, 1), near, floats.sub(1, beyond))
    return math.copysign(result, x)


def erfc(floats: Floats, x: Any) -> Any:
    """Return the complementary error function, `1 - erf(x)`."""
    rest = _rest(floats, math.absf(x))
    rest = floats.select(floats.below(x, 0), floats.sub(2, rest), rest)
    is_near = floats.below(math.absf(x), 0.5)
    return floats.select(is_near, floats.sub(1, _near(floats, x)), rest)


def _near(floats: Floats, x: Any) -> Any:
    """`erf(x)` for |x| <= 1."""
    return floats.fma(x, floats.polynomial(_NEAR[floats.format.name], floats.mul(x, x)), x)


def _far_rest(floats: Floats, size: Any) -> Any:
    """`1 - erf(size)` in f32 beyond 1, to the digits that erf needs."""
    bounded = floats.at_most(_ERF_ONE_FROM, size)
    exponent, difference = reduced(floats, floats.polynomial(_FAR, bounded))
    return floats.mul(floats.add(difference, 1), floats.power_of_two(exponent))


def _rest(floats: Floats, size: Any) -> Any:
    """`1 - erf(size)` to all its digits, for a size that is not negative."""
    name = floats.format.name
    bounded, middle = floats.at_most(_ZERO_FROM[name], size), _MIDDLE[name]
    place = floats.div(floats.sub(bounded, middle), floats.add(bounded, middle))
    slow = floats.polynomial(_SLOW[name], place)
    slow = floats.div(slow, floats.fma(bounded, 2, 1))
    square = floats.mul(bounded, bounded)
    lost = floats.fma(bounded, bounded, floats.sub(0, square))
    exponent, difference = reduced(floats, floats.sub(0, square))
    power = floats.add(difference, 1)
    power = floats.fma(floats.sub(0, power), lost, power)
    return floats.scale(floats.mul(power, slow), exponent)


FUNCTIONS = (
    exp, exp2, expm1, log, log2, log10, log1p, tanh, sinh, cosh, asinh, acosh, atanh, erf, erfc,
)  # fmt: skip
