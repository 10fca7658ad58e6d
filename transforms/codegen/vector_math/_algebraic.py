"""powf, as e^(y log |x|) with more digits in between than the result has.

The product y log |x| would lose as many bits as its exponent has, so it and the logarithm are sums
of two numbers. Most numbers are ordinary: a vector in which all are normal, with results that are,
goes by a quick way, and what else there is under a branch. The special cases are those of C
(ISO/IEC 9899, annex F.10.4.4). Largest error: 1.25 ulp.
"""

from __future__ import annotations

import math as numbers
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, math
from linalg_ext.transforms.ir_utils.arithmetic import negated

from ._branches import any_of, chosen
from ._exponential import LN2, difference_of
from ._floats import Floats
from ._logarithm import split, with_limits

_LARGEST = {"f32": 110.0, "f64": 800.0}
"""Exponents to base e beyond are zero and infinity."""

_NORMAL = {"f32": 87.0, "f64": 700.0}
"""Exponents to base e that are less, of either sign, give normal numbers."""

_SERIES = {
    "f32": (0.23049964376205278146, 0.28562198023333006137, 0.40000015148875766036),
    "f64": (
        0.11725771221811145066,
        0.11705988156500907521,
        0.13334813971292004307,
        0.15384594791762350619,
        0.18181818336992569587,
        0.22222222221648821378,
        0.28571428571429377785,
        0.39999999999999999814,
    ),
}
"""(2 atanh(s) / s - 2 - 2/3 z) / z^2, z = s^2 up to 0.0295; errors 2^-22.6, 2^-58.9, times z^2."""

_TWO_THIRDS = {
    "f32": (float.fromhex("0x1.555556p-1"), float.fromhex("-0x1.555556p-26")),
    "f64": (float.fromhex("0x1.5555555555555p-1"), float.fromhex("0x1.5555555555555p-55")),
}
_SHORT_LN2 = {
    "f32": (float.fromhex("0x1.62e4p-1"), float.fromhex("0x1.7f7d1cp-20")),
    "f64": (float.fromhex("0x1.62e42fefa3800p-1"), float.fromhex("0x1.ef35793c76730p-45")),
}
"""ln 2 in two parts, the first of so few bits that an exponent times it is exact."""


def powf(x: Any, y: Any) -> Any:
    """`x^y`."""
    floats = Floats(x.type)
    size = floats.absolute(x)
    quick, is_normal = _normal_magnitude(floats, size, y)
    is_odd = any_of(negated(is_normal))

    def exact() -> Any:
        # No power depends on those beside it.
        return floats.select(is_normal, quick, _magnitude(floats, size, y))

    magnitude = chosen(is_odd, x.type, exact, lambda: quick)
    is_negative = any_of(floats.integers.compare(arith.CmpIPredicate.slt, floats.bits(x), 0))
    return chosen(
        arith.ori(is_odd, is_negative),
        x.type,
        lambda: _with_cases(floats, x, y, magnitude),
        lambda: magnitude,
    )


def _with_cases(floats: Floats, x: Any, y: Any, magnitude: Any) -> Any:
    """`x^y`, given `|x|^y`, of x of both signs, and where C says what it is."""
    size = floats.absolute(x)
    is_whole = floats.equal(math.floor(y), y)
    half = floats.mul(y, 0.5)
    is_even = floats.equal(math.floor(half), half)
    is_odd = arith.andi(is_whole, negated(is_even))
    signed = floats.select(is_odd, floats.copysign(magnitude, x), magnitude)

    is_negative = arith.andi(floats.below(x, 0), floats.below(size, floats.infinity))
    # Beside NaN nothing is whole, and the magnitude is NaN already.
    undefined = arith.andi(is_negative, negated(is_whole))
    result = floats.select(undefined, floats.not_a_number, signed)

    at_one = arith.andi(floats.equal(size, 1), floats.equal(floats.absolute(y), floats.infinity))
    is_one = arith.ori(arith.ori(floats.equal(y, 0), floats.equal(x, 1)), at_one)
    return floats.select(is_one, 1, result)


def _normal_magnitude(floats: Floats, size: Any, y: Any) -> tuple[Any, Any]:
    """`size^y`, and where it is right: where size and the result are normal numbers."""
    form, integers = floats.format, floats.integers
    logarithm = _logarithm(floats, *split(floats, size, subnormal=False))
    power = _product_with(floats, logarithm, y)
    exponent, difference = _difference(floats, power.high, power.low)
    # The exponent of a number near 1 grows as it stands: nothing overflows where this is used.
    near_one = floats.bits(floats.add(difference, 1))
    result = floats.from_bits(integers.add(near_one, integers.shl(exponent, form.mantissa)))

    least = 1 << form.mantissa
    is_normal = integers.below(integers.sub(floats.bits(size), least), form.infinity - least)
    is_small = floats.below(floats.absolute(power.high), _NORMAL[form.name])
    return result, arith.andi(is_normal, is_small)


def _magnitude(floats: Floats, size: Any, y: Any) -> Any:
    """`size^y`, for a size that is not negative."""
    logarithm = _logarithm(floats, *split(floats, size))
    limit = with_limits(floats, size, logarithm.high)
    power = _product_with(floats, _Pair(limit, logarithm.low), y)
    largest = _LARGEST[floats.format.name]
    is_small = floats.below(floats.absolute(power.high), largest)
    low = floats.select(is_small, power.low, 0)
    high = floats.at_least(-largest, floats.at_most(largest, power.high))
    exponent, difference = _difference(floats, high, low)
    return floats.scale(floats.add(difference, 1), exponent)


def _difference(floats: Floats, high: Any, low: Any) -> tuple[Any, Any]:
    """n and e^r - 1, where `high + low` = n ln 2 + r and |r| <= ln(2) / 2."""
    ln2_high, ln2_low = LN2[floats.format.name]
    whole, exponent = floats.nearest_integer(floats.add(high, low), 1 / numbers.log(2))
    # The first step is exact, so that the rest is rounded where the small parts join it only.
    rest = floats.fma(whole, -ln2_high, high)
    rest = floats.add(rest, floats.fma(whole, -ln2_low, low))
    return exponent, difference_of(floats, rest)


def _logarithm(floats: Floats, exponent: Any, fraction: Any) -> _Pair:
    """e ln 2 + log(1 + f); log(1 + f) = 2 s + s z (2/3 + z S(z)), z = s^2, s = f / (2 + f).

    s is a sum of two numbers, r + t, and so is what is more than a few thousandths of the result:
    2 s and 2/3 s^3. The second number of the result is up to 2^-12 of the first.
    """
    name = floats.format.name
    two_thirds, two_thirds_low = _TWO_THIRDS[name]
    below = _sum_of(floats, floats.value(2), fraction)
    inverse = floats.div(1, below.high)
    ratio = floats.mul(fraction, inverse)
    negative = floats.negative(ratio)
    missing = floats.fma(negative, below.low, floats.fma(negative, below.high, fraction))
    lower = floats.mul(missing, inverse)
    twice, lower_twice = floats.add(ratio, ratio), floats.add(lower, lower)

    square = floats.mul(ratio, ratio)
    square_low = floats.fma(ratio, ratio, floats.negative(square))
    square_low = floats.fma(twice, lower, square_low)
    cube = floats.mul(ratio, square)
    cube_low = floats.fma(ratio, square, floats.negative(cube))
    cube_low = floats.fma(ratio, square_low, floats.fma(lower, square, cube_low))
    inner = floats.polynomial((*_SERIES[name], two_thirds_low), square)
    tail = floats.mul(cube, two_thirds)
    tail_low = floats.fma(cube, two_thirds, floats.negative(tail))
    # The derivative of s^5 is to that of s^3 as 5 s^4 to 3 s^2.
    slope = floats.fma(inner, 5 / 3, two_thirds)
    tail_low = floats.fma(cube_low, slope, floats.fma(cube, inner, tail_low))

    fractional = _sum_of(floats, twice, tail)
    short, rest = _SHORT_LN2[name]
    whole = _sum_of(floats, floats.mul(exponent, short), fractional.high)
    low = floats.add(floats.add(fractional.low, tail_low), lower_twice)
    return _Pair(whole.high, floats.add(floats.fma(exponent, rest, low), whole.low))


@dataclass(frozen=True)
class _Pair:
    """`high + low`: an unevaluated sum, `low` below the last place of `high`.

    Source: T. Dekker, A floating-point technique for extending the available precision, Numerische
    Mathematik 18 (1971), with the product by a fused multiply-add.
    """

    high: Any
    low: Any


def _sum_of(floats: Floats, large: Any, small: Any) -> _Pair:
    """`large + small`, exactly, where |large| >= |small| or large is 0."""
    high = floats.add(large, small)
    return _Pair(high, floats.sub(small, floats.sub(high, large)))


def _product_with(floats: Floats, a: _Pair, b: Any) -> _Pair:
    """`a b` of a pair and a float, to about twice the digits of the format."""
    high = floats.mul(a.high, b)
    low = floats.fma(a.high, b, floats.negative(high))
    return _Pair(high, floats.fma(a.low, b, low))
