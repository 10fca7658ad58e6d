"""tanh(x) = d / (d + 2), where d = e^(2|x|) - 1; and the sign of x.

No cancellation anywhere, and one division. Largest error: 3 ulp.
"""

from __future__ import annotations

from typing import Any

from ._exponential import reduced
from ._floats import Floats

_ONE_FROM = {"f32": 10.0, "f64": 22.0}
"""From here on tanh rounds to 1."""


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    floats = Floats(x.type)
    bounded = floats.at_most(_ONE_FROM[floats.format.name], floats.absolute(x))
    exponent, difference = reduced(floats, floats.add(bounded, bounded))
    power = floats.power_of_two(exponent)
    whole = floats.fma(power, difference, floats.sub(power, 1))
    return floats.copysign(floats.div(whole, floats.add(whole, 2)), x)
