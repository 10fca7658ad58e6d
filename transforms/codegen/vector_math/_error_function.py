"""erf of f32: an odd polynomial below 1, and 1 - e^q(|x|) above it, where q fits log(erfc).

Largest error: 2 ulp.
"""

from __future__ import annotations

from typing import Any

from ._exponential import reduced
from ._floats import Floats

_NEAR = (
    0.000078758750626854883411,
    -0.00080168642871658695293,
    0.0051890874234339739861,
    -0.026854212010626412443,
    0.11283594715160217732,
    -0.37612626666720331023,
    0.12837916584835094603,
)
"""erf(x) / x - 1 over x^2, for |x| <= 1; error 2^-29.6."""

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
"""log(erfc(x)) for 0.9 <= x <= 3.95, weighted by erfc / erf; error 2^-34 of erf."""

_ONE_FROM = 3.95
"""From here on erf rounds to 1."""


def erf(x: Any) -> Any:
    """The error function."""
    floats = Floats(x.type)
    size = floats.absolute(x)
    near = floats.fma(x, floats.polynomial(_NEAR, floats.mul(x, x)), x)
    far_size = floats.at_most(_ONE_FROM, size)
    exponent, difference = reduced(floats, floats.polynomial(_FAR, far_size))
    power = floats.mul(floats.add(difference, 1), floats.power_of_two(exponent))
    result = floats.select(floats.below(size, 1), near, floats.sub(1, power))
    return floats.copysign(result, x)
