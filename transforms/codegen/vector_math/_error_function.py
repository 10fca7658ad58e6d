"""erf and erfc: an odd polynomial for erf near 0, e^-x^2 times a slow function beyond.

Of f32, 1 - e^q(|x|) is enough beyond 1, where q fits log(erfc). erfc needs every digit where it is
small: (1 + 2x) e^x^2 erfc(x) is a polynomial in (x - k) / (x + k), and x^2 is exact in two parts.
Largest error: 2 ulp for erf, 4 ulp for erfc.

Source of the form of erfc: M. Shepherd and J. Laframboise, Chebyshev Approximation of
(1 + 2x) exp(x^2) erfc x in 0 <= x < infinity, Mathematics of Computation 36 (1981).
"""

from __future__ import annotations

from typing import Any

from ._exponential import reduced
from ._floats import Floats

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

_ONE_FROM = 3.95
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


def erf(x: Any) -> Any:
    """The error function."""
    floats = Floats(x.type)
    size = floats.absolute(x)
    near = _near(floats, x)
    beyond = _far_rest(floats, size) if floats.format.name == "f32" else _rest(floats, size)
    result = floats.select(floats.below(size, 1), near, floats.sub(1, beyond))
    return floats.copysign(result, x)


def erfc(x: Any) -> Any:
    """The complementary error function, `1 - erf(x)`."""
    floats = Floats(x.type)
    rest = _rest(floats, floats.absolute(x))
    rest = floats.select(floats.below(x, 0), floats.sub(2, rest), rest)
    is_near = floats.below(floats.absolute(x), 0.5)
    return floats.select(is_near, floats.sub(1, _near(floats, x)), rest)


def _near(floats: Floats, x: Any) -> Any:
    """`erf(x)` for |x| <= 1."""
    return floats.fma(x, floats.polynomial(_NEAR[floats.format.name], floats.mul(x, x)), x)


def _far_rest(floats: Floats, size: Any) -> Any:
    """`1 - erf(size)` in f32 beyond 1, to the digits that erf needs."""
    bounded = floats.at_most(_ONE_FROM, size)
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
