"""asinh, acosh and atanh, as log1p of what is small where they are.

Where the square of x would round away the 1 beside it, asinh and acosh are log(x) + log(2).
Largest error: 4 ulp.
"""

from __future__ import annotations

import math as numbers
from typing import Any

from linalg_ext.bindings import math

from ._floats import Floats
from ._logarithm import log1p


def asinh(x: Any) -> Any:
    """The inverse hyperbolic sine: `log1p(a + a^2 / (1 + sqrt(1 + a^2)))`, with the sign of x."""
    floats = Floats(x.type)
    size = floats.absolute(x)
    near = floats.at_most(_far(floats), size)
    square = floats.mul(near, near)
    root = math.sqrt(floats.add(square, 1))
    argument = floats.add(near, floats.div(square, floats.add(root, 1)))
    return floats.copysign(_logarithm(floats, size, argument), x)


def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine: `log1p(t + sqrt(t (t + 2)))` of t = x - 1; NaN below 1."""
    floats = Floats(x.type)
    near = floats.sub(floats.at_most(_far(floats), x), 1)
    root = math.sqrt(floats.mul(near, floats.add(near, 2)))
    result = _logarithm(floats, x, floats.add(near, root))
    return floats.select(floats.below(x, 1), floats.not_a_number, result)


def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent: half of `log1p(2 a / (1 - a))`; NaN beyond 1."""
    floats = Floats(x.type)
    size = floats.absolute(x)
    argument = floats.div(floats.add(size, size), floats.sub(1, size))
    return floats.copysign(floats.mul(log1p(argument), 0.5), x)


def _far(floats: Floats) -> float:
    return 2.0 ** (floats.format.mantissa // 2 + 3)


def _logarithm(floats: Floats, x: Any, argument: Any) -> Any:
    """`log1p(argument)`, or log(2 x) where x is far."""
    is_far = floats.above(x, _far(floats))
    addend = floats.select(is_far, numbers.log(2), floats.value(0))
    # log(x), where it is far.
    argument = floats.select(is_far, floats.sub(x, 1), argument)
    return floats.add(log1p(argument), addend)
