"""Circular functions and their inverses.

sin, cos and tan: x = n pi/2 + r, polynomials in r, a sign and a choice by the last bits of n. With
pi/2 in three parts r is right to its last bits as long as n is small. A vector with an element
beyond goes to the C library, one element after the other. Largest error: 2 ulp for sin and cos, 4
ulp for tan.

atan, atan2, asin and acos: an odd polynomial near 0, and a multiple of pi/4 or pi/2. With n
quarters of pi, in two parts, the sum n pi/4 + p is rounded once, and is p itself for n = 0. Largest
error: 3 ulp.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, math, vector
from linalg_ext.structured.loops import counted, either

from ._floats import Floats, any_of

_HALF_PI = {
    "f32": tuple(map(float.fromhex, ("0x1.921fb4p+0", "0x1.4442d0p-24", "0x1.846988p-48"))),
    "f64": tuple(
        map(
            float.fromhex,
            ("0x1.921fb54442d18p+0", "0x1.1a62633145c06p-54", "0x1.c1cd129024e08p-107"),
        )
    ),
}
_FARTHEST = {"f32": 2.0**15, "f64": 2.0**25}

_SINE = {
    "f32": (-0.00019587387320241361883, 0.0083327459375481148992, -0.16666664650298102133),
    "f64": (
        -7.5865766484052612013e-13,
        1.6058529573291738084e-10,
        -2.5052106219528366706e-8,
        2.7557319219301937374e-6,
        -0.00019841269841265017052,
        0.0083333333333333314699,
        -0.16666666666666666665,
    ),
}
"""(sin(r) - r) / r^3 over r^2, for |r| <= pi / 4; errors 2^-25.6 and 2^-66, times r^3."""

_COSINE = {
    "f32": (0.000024547437462501829045, -0.0013888300698073965873, 0.041666664647463408553),
    "f64": (
        4.7458049232498396996e-14,
        -1.1470459750244853188e-11,
        2.087675578389763697e-9,
        -2.7557319221382125963e-7,
        0.0000248015873015846198,
        -0.0013888888888888887853,
        0.041666666666666666666,
    ),
}
"""(cos(r) - 1 + r^2/2) / r^4 over r^2; errors 2^-28.9 and 2^-70, times r^4."""


def sin(floats: Floats, x: Any) -> Any:
    return _circular(floats, x, _sine, math.sin)


def cos(floats: Floats, x: Any) -> Any:
    """Return the cosine: the sine a quarter of a turn on."""
    return _circular(floats, x, lambda parts: _turned(parts, 1), math.cos)


def tan(floats: Floats, x: Any) -> Any:
    return _circular(floats, x, _tangent, math.tan)


@dataclass(frozen=True)
class _Parts:
    """An angle x = n pi/2 + r: n as an integer, and the sine and cosine of r."""

    floats: Floats
    x: Any
    quarter: Any
    sine: Any
    cosine: Any


def _sine(parts: _Parts) -> Any:
    # The polynomial's sum loses the sign of zero.
    return _with_zero(parts, _turned(parts, 0))


def _tangent(parts: _Parts) -> Any:
    floats, is_odd = parts.floats, _is_odd(parts.floats, parts.quarter)
    top = floats.select(is_odd, floats.sub(0, parts.cosine), parts.sine)
    return _with_zero(parts, floats.div(top, floats.select(is_odd, parts.sine, parts.cosine)))


def _turned(parts: _Parts, quarters: int) -> Any:
    """Return the sine of the angle plus `quarters` quarters of a turn."""
    floats, integers = parts.floats, parts.floats.integers
    quarter = integers.add(parts.quarter, quarters) if quarters else parts.quarter
    chosen = floats.select(_is_odd(floats, quarter), parts.cosine, parts.sine)
    sign = integers.shl(integers.conj(quarter, 2), floats.format.width - 2)
    return floats.from_bits(arith.xori(floats.bits(chosen), sign))


def _is_odd(floats: Floats, number: Any) -> Any:
    return floats.integers.equal(floats.integers.conj(number, 1), 1)


def _with_zero(parts: _Parts, result: Any) -> Any:
    floats, x = parts.floats, parts.x
    return floats.select(floats.equal(x, 0), x, result)


def _circular(
    floats: Floats, x: Any, function: Callable[[_Parts], Any], exact: Callable[[Any], Any]
) -> Any:
    farthest = _FARTHEST[floats.format.name]
    far = floats.above(math.absf(x), farthest)
    (result,) = either(
        any_of(far), lambda: [_one_by_one(x, exact)], lambda: [function(_parts(floats, x))], [x]
    )
    return result


def _parts(floats: Floats, x: Any) -> _Parts:
    name = floats.format.name
    whole, count = floats.nearest_integer(x, 2 / numbers.pi)
    rest = x
    for part in _HALF_PI[name]:
        rest = floats.fma(whole, -part, rest)
    square = floats.mul(rest, rest)
    sine = floats.fma(floats.mul(rest, square), floats.polynomial(_SINE[name], square), rest)
    cosine = floats.polynomial(_COSINE[name], square)
    cosine = floats.fma(floats.mul(square, square), cosine, floats.fma(square, -0.5, 1))
    return _Parts(floats, x, count, sine, cosine)


def _one_by_one(x: Any, exact: Callable[[Any], Any]) -> Any:
    """Return the function of each element by the C library, in a loop."""

    def step(at: Any, so_far: list[Any]) -> list[Any]:
        element = exact(vector.extract(so_far[0], [at], [_DYNAMIC]))
        return [vector.insert(element, so_far[0], [at], [_DYNAMIC])]

    return counted(0, x.type.shape[0], [x], step)[0]


_DYNAMIC = -(1 << 63)
"""The mark of a dynamic position in a list of static ones."""


_QUARTER_PI = {
    "f32": (float.fromhex("0x1.921fb6p-1"), float.fromhex("-0x1.777a5cp-26")),
    "f64": (float.fromhex("0x1.921fb54442d18p-1"), float.fromhex("0x1.1a62633145c07p-55")),
}
_TAN_EIGHTH_PI = 0.41421356237309503

_ARCTANGENT = {
    "f32": (
        -0.06451928208121748758,
        0.10743731490791083043,
        -0.14263955597984639199,
        0.19999540483648963445,
        -0.33333331761168519851,
    ),
    "f64": (
        0.016285756855221028291,
        -0.034570561981427746882,
        0.045515932206265491693,
        -0.052304542706502445183,
        0.058789289978347751327,
        -0.066664248857382553335,
        0.076922963750321423991,
        -0.090909087535008768442,
        0.11111111105155446565,
        -0.14285714285659827606,
        0.19999999999999804526,
        -0.33333333333333333217,
    ),
}
"""(atan(t) - t) / t^3 over t^2, for |t| <= tan(pi/8); errors 2^-25.9 and 2^-59.6, times t^3."""

_ARCSINE = {
    "f32": (
        0.033690847202830119524,
        0.01714923835767725319,
        0.031100662735494567927,
        0.044599401528512183719,
        0.075000945434974234762,
        0.16666666336430907054,
    ),
    "f64": (
        0.02961201126495512036,
        -0.019241671746743040654,
        0.019554513336123378949,
        0.0030448799094554773959,
        0.0093195607947674462957,
        0.0096218429701002810177,
        0.011566459612121668568,
        0.013963780012203569641,
        0.017352816540325494994,
        0.022372157443507222419,
        0.030381944475532339993,
        0.044642857142551892902,
        0.07500000000000117751,
        0.16666666666666666592,
    ),
}
"""(asin(t) - t) / t^3 over t^2, for |t| <= 1/2; errors 2^-27.8 and 2^-59.8, times t^3."""


def atan(floats: Floats, x: Any) -> Any:
    """Return the inverse tangent, between -pi/2 and pi/2."""
    size = math.absf(x)
    is_steep = floats.above(size, 1)
    top, bottom = floats.select(is_steep, 1, size), floats.select(is_steep, size, 1)
    count, rest = _angle(floats, top, bottom)
    return math.copysign(_sum(floats, *_reflected(floats, is_steep, 2, count, rest)), x)


def atan2(floats: Floats, y: Any, x: Any) -> Any:
    """Return the angle of the point (x, y), between -pi and pi."""
    height, width = math.absf(y), math.absf(x)
    is_steep = floats.above(height, width)
    top = floats.select(is_steep, width, height)
    bottom = floats.select(is_steep, height, width)
    # Two infinities are taken for equal, and the angle of the origin is that of (1, 0).
    infinities = (floats.equal(side, floats.infinity) for side in (top, bottom))
    at_infinity = arith.andi(*infinities)
    top = floats.select(at_infinity, 1, top)
    bottom = floats.select(arith.ori(at_infinity, floats.equal(bottom, 0)), 1, bottom)
    # So that their sum does not overflow.
    factor = floats.select(floats.above(bottom, 2.0 ** (floats.format.bias - 2)), 0.25, 1)
    count, rest = _angle(floats, floats.mul(top, factor), floats.mul(bottom, factor))
    count, rest = _reflected(floats, is_steep, 2, count, rest)
    is_left = floats.below(math.copysign(floats.value(1), x), 0)
    return math.copysign(_sum(floats, *_reflected(floats, is_left, 4, count, rest)), y)


def asin(floats: Floats, x: Any) -> Any:
    """Return the inverse sine; NaN beyond 1."""
    is_far, rest = _arcsine(floats, x)
    high, low = (2 * part for part in _QUARTER_PI[floats.format.name])
    twice = floats.add(rest, rest)
    return math.copysign(floats.select(is_far, floats.sub(high, floats.sub(twice, low)), rest), x)


def acos(floats: Floats, x: Any) -> Any:
    """Return the inverse cosine; NaN beyond 1."""
    is_far, rest = _arcsine(floats, x)
    twice = floats.add(rest, rest)
    count = floats.select(is_far, floats.select(floats.below(x, 0), 4, 0), 2)
    rest = floats.select(is_far, math.copysign(twice, x), floats.sub(0, rest))
    return _sum(floats, count, rest)


def _arcsine(floats: Floats, x: Any) -> tuple[Any, Any]:
    """Return whether |x| > 1/2, and asin of x, or then of sqrt((1 - |x|) / 2): it is positive."""
    size = math.absf(x)
    is_far = floats.above(size, 0.5)
    square = floats.select(is_far, floats.mul(floats.sub(1, size), 0.5), floats.mul(x, x))
    argument = floats.select(is_far, math.sqrt(square), x)
    tail = floats.polynomial(_ARCSINE[floats.format.name], square)
    return is_far, floats.fma(floats.mul(argument, square), tail, argument)


def _angle(floats: Floats, top: Any, bottom: Any) -> tuple[Any, Any]:
    """Return n and p, where atan(top / bottom) = n pi/4 + p, for 0 <= top <= bottom."""
    is_far = floats.above(top, floats.mul(bottom, _TAN_EIGHTH_PI))
    numerator = floats.select(is_far, floats.sub(top, bottom), top)
    ratio = floats.div(numerator, floats.select(is_far, floats.add(top, bottom), bottom))
    square = floats.mul(ratio, ratio)
    tail = floats.polynomial(_ARCTANGENT[floats.format.name], square)
    rest = floats.fma(floats.mul(ratio, square), tail, ratio)
    return floats.select(is_far, 1, floats.value(0)), rest


def _reflected(
    floats: Floats, condition: Any, around: int, count: Any, rest: Any
) -> tuple[Any, Any]:
    """Return the angle taken from `around` quarters of pi, where the condition holds."""
    count = floats.select(condition, floats.sub(around, count), count)
    return count, floats.select(condition, floats.sub(0, rest), rest)


def _sum(floats: Floats, count: Any, rest: Any) -> Any:
    """`count pi/4 + rest`."""
    high, low = _QUARTER_PI[floats.format.name]
    return floats.fma(count, high, floats.fma(count, low, rest))


FUNCTIONS = (sin, cos, tan, atan, atan2, asin, acos)
