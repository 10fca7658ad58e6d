"""cbrt: |x| = 2^(3q + r) m, a polynomial for the cube root of m, and one step of Halley's.

The step cubes the error of the polynomial. Largest error: 1 ulp.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, math

from ._floats import Floats

_ROOT = {
    "f32": (
        0.022148699208245194546,
        -0.15866246005319090213,
        0.58082639113809523437,
        0.55579096026913876781,
    ),
    "f64": (
        0.0014999374772160569205,
        -0.01850623587250941085,
        0.10019650911433674078,
        -0.31330922830409342816,
        0.62977323323703400683,
        -0.87634538438737248283,
        1.0494919967917437195,
        0.42719920785735462308,
    ),
}
"""The cube root from 1 to 2; errors 2^-13 and 2^-24."""

_ROOTS_OF_TWO = (1.259921049894873165, 1.587401051968199475)
_SHIFT = {"f32": 24, "f64": 54}
"""Makes subnormal numbers normal; divisible by 3."""


def cbrt(x: Any) -> Any:
    """The cube root."""
    floats = Floats(x.type)
    form, integers = floats.format, floats.integers
    size = floats.absolute(x)
    shift = _SHIFT[form.name]
    is_small = floats.below(size, floats.of_bits(1 << form.mantissa))
    normal = floats.select(is_small, floats.mul(size, 2.0**shift), size)

    bits = floats.bits(normal)
    exponent = floats.from_integer(integers.sub(integers.shr(bits, form.mantissa), form.bias))
    mantissa = integers.conj(bits, (1 << form.mantissa) - 1)
    significand = floats.from_bits(integers.disj(mantissa, form.bias << form.mantissa))
    # Half of a third away from where rounding would matter.
    third = math.floor(floats.mul(floats.add(exponent, 0.5), 1 / 3))
    rest = floats.fma(third, -3, exponent)
    is_one, is_two = floats.equal(rest, 1), floats.equal(rest, 2)

    scale = floats.select(is_two, _ROOTS_OF_TWO[1], floats.select(is_one, _ROOTS_OF_TWO[0], 1.0))
    root = floats.mul(floats.polynomial(_ROOT[form.name], significand), scale)
    cube = floats.mul(significand, floats.select(is_two, 4, floats.select(is_one, 2, 1.0)))
    excess = floats.fma(floats.mul(root, root), root, floats.sub(0, cube))
    step = floats.div(excess, floats.fma(excess, 2, floats.mul(cube, 3)))
    root = floats.sub(root, floats.mul(root, step))

    _, power = floats.nearest_integer(third, 1)
    root = floats.mul(root, floats.power_of_two(power))
    root = floats.select(is_small, floats.mul(root, 2.0 ** (-shift // 3)), root)
    is_ordinary = arith.andi(floats.above(size, 0), floats.below(size, floats.infinity))
    return floats.select(is_ordinary, floats.copysign(root, x), x)
