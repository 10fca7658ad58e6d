"""Powers, cube roots and remainders.

powf is e^(y log |x|) with more digits in between than the result has. The product y log |x| would
lose as many bits as its exponent has, so it and the logarithm are sums of two numbers. Most numbers
are ordinary: a vector in which all are normal, with results that are, goes by a quick way, and
every other vector under a branch. The special cases are those of C (ISO/IEC 9899, annex F.10.4.4).
Largest error: 1.25 ulp.

cbrt: a first r = |x|^(-1/3) of the bits, a polynomial for its error, one step of Newton's. The
bits of a number are its logarithm, but for a few hundredths: a third of them, taken from a
constant, are the bits of r. With h = 1 - |x| r^3 the cube root is |x| r^2 (1 - h)^(-2/3), and r^2
(1 - h)^(-2/3) is the inverse of its square, which Newton's step needs: nothing is divided. The step
squares the error. Largest error: 1 ulp. Source of the first r: the folklore of fast inverse square
roots, such as C. Lomont, Fast Inverse Square Root, Purdue University 2003.

remf is the remainder of a division rounded towards zero: x - trunc(x / y) y, exactly. With q = x /
y rounded, x - q y is a number of the format: one fused multiply-add gives it exactly. Where q has
no more digits than the format it is right once truncated, or too large by one. Where q is larger
the remainder is smaller than x by as many digits as the format has, and has the same remainder by y
as x has; that is repeated until q is small. Ordinary numbers need no repetition. Source of the
exactness: J.-M. Muller et al., Handbook of Floating-Point Arithmetic, 2nd edition, 2018, section
4.4.
"""

from __future__ import annotations

import math as numbers
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, ir, math, scf
from linalg_ext.structured.loops import either
from linalg_ext.transforms.ir_utils.arithmetic import negated

from ._exponential import LN2, difference_of, split, with_limits
from ._floats import Floats, any_of

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


def powf(floats: Floats, x: Any, y: Any) -> Any:
    size = math.absf(x)
    quick, is_normal = _normal_magnitude(floats, size, y)
    is_odd = any_of(negated(is_normal))

    def exact() -> list[Any]:
        # No power depends on those beside it.
        return [floats.select(is_normal, quick, _magnitude(floats, size, y))]

    (magnitude,) = either(is_odd, exact, lambda: [quick], [quick])
    is_negative = any_of(floats.integers.compare(arith.CmpIPredicate.slt, floats.bits(x), 0))
    has_cases = arith.ori(is_odd, is_negative)
    (power,) = either(
        has_cases,
        lambda: [_with_cases(floats, x, y, magnitude)],
        lambda: [magnitude],
        [magnitude],
    )
    return power


def _with_cases(floats: Floats, x: Any, y: Any, magnitude: Any) -> Any:
    """Return `x^y` from `|x|^y`, for x of both signs and the special cases of C."""
    size = math.absf(x)
    is_whole = floats.equal(math.floor(y), y)
    half = floats.mul(y, 0.5)
    is_even = floats.equal(math.floor(half), half)
    is_odd = arith.andi(is_whole, negated(is_even))
    signed = floats.select(is_odd, math.copysign(magnitude, x), magnitude)

    is_negative = arith.andi(floats.below(x, 0), floats.below(size, floats.infinity))
    # Beside NaN nothing is whole, and the magnitude is NaN already.
    undefined = arith.andi(is_negative, negated(is_whole))
    result = floats.select(undefined, floats.not_a_number, signed)

    at_one = arith.andi(floats.equal(size, 1), floats.equal(math.absf(y), floats.infinity))
    is_one = arith.ori(arith.ori(floats.equal(y, 0), floats.equal(x, 1)), at_one)
    return floats.select(is_one, 1, result)


def _normal_magnitude(floats: Floats, size: Any, y: Any) -> tuple[Any, Any]:
    """Return `size^y`, and whether it is right: whether size and the result are normal numbers."""
    form, integers = floats.format, floats.integers
    logarithm = _logarithm(floats, *split(floats, size, subnormal=False))
    power = _product_with(floats, logarithm, y)
    exponent, difference = _difference(floats, power.high, power.low)
    # The exponent of a number near 1 grows as it stands: nothing overflows where this is used.
    near_one = floats.bits(floats.add(difference, 1))
    result = floats.from_bits(integers.add(near_one, integers.shl(exponent, form.mantissa)))

    least = 1 << form.mantissa
    is_normal = integers.below(integers.sub(floats.bits(size), least), form.overflow - least)
    is_small = floats.below(math.absf(power.high), _NORMAL[form.name])
    return result, arith.andi(is_normal, is_small)


def _magnitude(floats: Floats, size: Any, y: Any) -> Any:
    """Return `size^y`, for a size that is not negative."""
    logarithm = _logarithm(floats, *split(floats, size))
    limit = with_limits(floats, size, logarithm.high)
    power = _product_with(floats, _Pair(limit, logarithm.low), y)
    largest = _LARGEST[floats.format.name]
    is_small = floats.below(math.absf(power.high), largest)
    low = floats.select(is_small, power.low, 0)
    high = floats.at_least(-largest, floats.at_most(largest, power.high))
    exponent, difference = _difference(floats, high, low)
    return floats.scale(floats.add(difference, 1), exponent)


def _difference(floats: Floats, high: Any, low: Any) -> tuple[Any, Any]:
    """Return n and e^r - 1, where `high + low` = n ln 2 + r and |r| <= ln(2) / 2."""
    ln2_high, ln2_low = LN2[floats.format.name]
    whole, exponent = floats.nearest_integer(floats.add(high, low), 1 / numbers.log(2))
    # The first step is exact, so that the rest is rounded where the small parts join it only.
    rest = floats.fma(whole, -ln2_high, high)
    rest = floats.add(rest, floats.fma(whole, -ln2_low, low))
    return exponent, difference_of(floats, rest)


def _logarithm(floats: Floats, exponent: Any, fraction: Any) -> _Pair:
    """e ln 2 + log(1 + f); log(1 + f) = 2 s + s z (2/3 + z S(z)), z = s^2, s = f / (2 + f).

    s is a sum of two numbers, r + t, and so are the terms above a few thousandths of the result: 2
    s and 2/3 s^3. The second number of the result is up to 2^-12 of the first.
    """
    name = floats.format.name
    two_thirds, two_thirds_low = _TWO_THIRDS[name]
    below = _sum_of(floats, floats.value(2), fraction)
    inverse = floats.div(1, below.high)
    ratio = floats.mul(fraction, inverse)
    negative = arith.negf(ratio)
    missing = floats.fma(negative, below.low, floats.fma(negative, below.high, fraction))
    lower = floats.mul(missing, inverse)
    twice, lower_twice = floats.add(ratio, ratio), floats.add(lower, lower)

    square = floats.mul(ratio, ratio)
    square_low = floats.fma(ratio, ratio, arith.negf(square))
    square_low = floats.fma(twice, lower, square_low)
    cube = floats.mul(ratio, square)
    cube_low = floats.fma(ratio, square, arith.negf(cube))
    cube_low = floats.fma(ratio, square_low, floats.fma(lower, square, cube_low))
    inner = floats.polynomial((*_SERIES[name], two_thirds_low), square)
    tail = floats.mul(cube, two_thirds)
    tail_low = floats.fma(cube, two_thirds, arith.negf(tail))
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
    """Return `large + small`, exactly, where |large| >= |small| or large is 0."""
    high = floats.add(large, small)
    return _Pair(high, floats.sub(small, floats.sub(high, large)))


def _product_with(floats: Floats, a: _Pair, b: Any) -> _Pair:
    """Return `a b` of a pair and a float, to about twice the digits of the format."""
    high = floats.mul(a.high, b)
    low = floats.fma(a.high, b, arith.negf(high))
    return _Pair(high, floats.fma(a.low, b, low))


_FACTOR = {
    "f32": (0.49734299649214335731, 0.5593219605532402781, 0.66666666666666666667),
    "f64": (
        0.40511087695931408551,
        0.42884689681659044477,
        0.45264967875190838246,
        0.49380084904935568332,
        0.55555557099376270937,
        0.66666668277395614517,
    ),
}
"""((1 - h)^(-2/3) - 1) / h, for |h| <= 0.105; errors 2^-12.7 and 2^-25.7."""

_BELOW = 0.067708
"""The most that the logarithm of r may lie below that of the bits, to spread the error evenly."""

_SMALL = {"f32": (2.0**-100, 48), "f64": (2.0**-960, 108)}
"""Numbers below lack digits in between: they are scaled by a power of two, whose third is whole."""


def cbrt(floats: Floats, x: Any) -> Any:
    form, integers = floats.format, floats.integers
    size = math.absf(x)
    limit, shift = _SMALL[form.name]
    is_small = floats.below(size, limit)
    scaled = floats.select(is_small, floats.mul(size, 2.0**shift), size)

    inverse = _inverse_root(floats, scaled)
    square = floats.mul(inverse, inverse)
    part = floats.mul(scaled, inverse)
    lack = floats.fma(arith.negf(part), square, 1)
    growth = floats.mul(lack, floats.polynomial(_FACTOR[form.name], lack))
    near = floats.mul(part, inverse)
    root = floats.fma(near, growth, near)

    slope = floats.fma(square, growth, square)
    excess = floats.fma(floats.mul(root, root), root, arith.negf(scaled))
    root = floats.fma(floats.mul(excess, slope), -1 / 3, root)
    root = floats.select(is_small, floats.mul(root, 2.0 ** (-shift // 3)), root)
    distance = integers.sub(floats.bits(size), 1)
    is_ordinary = integers.below(distance, form.overflow - 1)
    return floats.select(is_ordinary, math.copysign(root, x), x)


def _inverse_root(floats: Floats, size: Any) -> Any:
    """`size^(-1/3)` to within 0.035 of it, of positive normal numbers.

    Its leading bits go through the significand of a float and back, where they need no conversion.
    """
    form, integers = floats.format, floats.integers
    spare = form.width - form.mantissa
    unit = 2.0**form.mantissa
    leading = integers.shr(floats.bits(size), spare)
    number = floats.from_bits(integers.disj(leading, floats.bits(floats.value(unit))))
    # The root of unit + b is estimated as unit + c - b / 3.
    constant = (4 / 3 * form.bias - _BELOW) * 2.0 ** (form.mantissa - spare)
    third = floats.fma(number, -1 / 3, unit / 3 + constant + unit)
    return floats.from_bits(integers.shl(floats.bits(third), spare))


def remf(floats: Floats, x: Any, y: Any) -> Any:
    """`x - trunc(x / y) y`, of the sign of x; NaN where x is infinite, y is 0 or either is NaN."""
    size, divisor = math.absf(x), math.absf(y)
    quotient = floats.div(size, divisor)
    is_any_large = any_of(_is_large(floats, quotient))
    parts = [size, quotient]
    size_left, quotient = either(
        is_any_large, lambda: _with_small_quotient(floats, size, divisor), lambda: parts, parts
    )

    rest = floats.fma(floats.sub(0, math.trunc(quotient)), divisor, size_left)
    rest = floats.select(floats.below(rest, 0), floats.add(rest, divisor), rest)
    # Times zero, an infinite divisor would make NaN of all.
    is_beyond = floats.equal(divisor, floats.infinity)
    is_kept = arith.andi(is_beyond, floats.below(size, floats.infinity))
    return math.copysign(floats.select(is_kept, size, rest), x)


def _with_small_quotient(floats: Floats, size: Any, divisor: Any) -> list[Any]:
    """Return a number with the remainder of `size`, and its quotient, which is small or NaN."""
    loop = scf.WhileOp([floats.type, floats.type], [size, floats.div(size, divisor)])
    before = loop.regions[0].blocks.append(floats.type, floats.type)
    with ir.InsertionPoint(before):
        _, quotient = before.arguments
        scf.ConditionOp(any_of(_is_large(floats, quotient)), list(before.arguments))
    after = loop.regions[1].blocks.append(floats.type, floats.type)
    with ir.InsertionPoint(after):
        left, quotient = after.arguments
        is_large = _is_large(floats, quotient)
        reachable, ratio = _reachable(floats, left, divisor, quotient)
        smaller = floats.fma(floats.sub(0, ratio), reachable, left)
        left = floats.select(is_large, smaller, left)
        scf.YieldOp([left, floats.div(left, divisor)])
    return list(loop.results)


def _reachable(floats: Floats, left: Any, divisor: Any, quotient: Any) -> tuple[Any, Any]:
    """Return a multiple of the divisor whose quotient does not overflow, and that quotient.

    Twice the largest power of two: quotients have as many digits as the exponents of two numbers.
    """
    power = 2.0**floats.format.bias
    for _ in range(2):
        overflows = floats.equal(math.absf(quotient), floats.infinity)
        divisor = floats.select(overflows, floats.mul(divisor, power), divisor)
        quotient = floats.div(left, divisor)
    return divisor, quotient


def _is_large(floats: Floats, quotient: Any) -> Any:
    """Return whether a quotient has digits that the format has no room for; false for NaN."""
    limit = floats.value(2.0 ** (floats.format.mantissa + 1))
    return arith.cmpf(arith.CmpFPredicate.OGE, math.absf(quotient), limit)


FUNCTIONS = (powf, cbrt)
