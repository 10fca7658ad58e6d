"""cbrt: a first r = |x|^(-1/3) of the bits, a polynomial for what it lacks, one step of Newton's.

The bits of a number are its logarithm, but for a few hundredths: a third of them, taken from a
constant, are the bits of r. With h = 1 - |x| r^3 the cube root is |x| r^2 (1 - h)^(-2/3), and
r^2 (1 - h)^(-2/3) is what one over its square is, which Newton's step asks for: nothing is divided.
The step squares the error. Largest error: 1 ulp.

Source of the first r: the folklore of fast inverse square roots, such as C. Lomont, Fast Inverse
Square Root, Purdue University 2003.
"""

from __future__ import annotations

from typing import Any

from ._floats import Floats

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


def cbrt(x: Any) -> Any:
    """The cube root."""
    floats = Floats(x.type)
    form, integers = floats.format, floats.integers
    size = floats.absolute(x)
    limit, shift = _SMALL[form.name]
    is_small = floats.below(size, limit)
    scaled = floats.select(is_small, floats.mul(size, 2.0**shift), size)

    inverse = _inverse_root(floats, scaled)
    square = floats.mul(inverse, inverse)
    part = floats.mul(scaled, inverse)
    lack = floats.fma(floats.negative(part), square, 1)
    growth = floats.mul(lack, floats.polynomial(_FACTOR[form.name], lack))
    near = floats.mul(part, inverse)
    root = floats.fma(near, growth, near)

    slope = floats.fma(square, growth, square)
    excess = floats.fma(floats.mul(root, root), root, floats.negative(scaled))
    root = floats.fma(floats.mul(excess, slope), -1 / 3, root)
    root = floats.select(is_small, floats.mul(root, 2.0 ** (-shift // 3)), root)
    distance = integers.sub(floats.bits(size), 1)
    is_ordinary = integers.below(distance, form.infinity - 1)
    return floats.select(is_ordinary, floats.copysign(root, x), x)


def _inverse_root(floats: Floats, size: Any) -> Any:
    """`size^(-1/3)` to within 0.035 of it, of positive normal numbers.

    Its leading bits go through the significand of a float and back, where they need no conversion.
    """
    form, integers = floats.format, floats.integers
    spare = form.width - form.mantissa
    unit = 2.0**form.mantissa
    leading = integers.shr(floats.bits(size), spare)
    number = floats.from_bits(integers.disj(leading, floats.bits(floats.value(unit))))
    # Of unit + b this is unit + c - b / 3.
    constant = (4 / 3 * form.bias - _BELOW) * 2.0 ** (form.mantissa - spare)
    third = floats.fma(number, -1 / 3, unit / 3 + constant + unit)
    return floats.from_bits(integers.shl(floats.bits(third), spare))
