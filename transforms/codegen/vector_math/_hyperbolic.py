"""tanh, sinh and cosh, of e^|x| = 2^n (1 + d), without cancellation.

tanh(x) = d / (d + 2), where d = e^(2|x|) - 1. sinh and cosh are the difference and the sum of
e^|x| / 2 and its inverse; below 1 sinh is an odd polynomial. Largest error: 3 ulp.
"""

from __future__ import annotations

from typing import Any

from ._exponential import reduced
from ._floats import Floats

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


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    floats = Floats(x.type)
    bounded = floats.at_most(_ONE_FROM[floats.format.name], floats.absolute(x))
    exponent, difference = reduced(floats, floats.add(bounded, bounded))
    power = floats.power_of_two(exponent)
    whole = floats.fma(power, difference, floats.sub(power, 1))
    return floats.copysign(floats.div(whole, floats.add(whole, 2)), x)


def sinh(x: Any) -> Any:
    """The hyperbolic sine."""
    floats = Floats(x.type)
    size = floats.absolute(x)
    half = _half_power(floats, size)
    far = floats.sub(half, floats.div(0.25, half))
    square = floats.mul(x, x)
    tail = floats.polynomial(_SINE[floats.format.name], square)
    near = floats.fma(floats.mul(size, square), tail, size)
    return floats.copysign(floats.select(floats.below(size, 1), near, far), x)


def cosh(x: Any) -> Any:
    """The hyperbolic cosine."""
    floats = Floats(x.type)
    half = _half_power(floats, floats.absolute(x))
    return floats.add(half, floats.div(0.25, half))


def _half_power(floats: Floats, size: Any) -> Any:
    """`e^size / 2`, which overflows where sinh does."""
    bounded = floats.at_most(_INFINITE_FROM[floats.format.name], size)
    exponent, difference = reduced(floats, bounded)
    return floats.scale(floats.add(difference, 1), floats.integers.sub(exponent, 1))
