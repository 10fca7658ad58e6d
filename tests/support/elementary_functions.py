"""Elementary functions of NumPy's beside those of the math dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

REFERENCES: dict[str, Callable[[Any], Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": lambda x: erf_and_rest(x)[0],
    "erfc": lambda x: erf_and_rest(x)[1],
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}
"""Functions of one number by the names of their ops; the error functions in long double."""


def erf_and_rest(x: Any) -> tuple[Any, Any]:
    """erf(x) and 1 - erf(x) in long double, to more digits than f64 has.

    By the series of erf near 0, and by the continued fraction of erfc beyond: Abramowitz and
    Stegun, Handbook of Mathematical Functions, 7.1.6 and 7.1.14.
    """
    x = x.astype(np.longdouble)
    size = np.minimum(np.abs(x), 40)
    near = np.minimum(size, 1.5)
    term = total = near
    for count in range(1, 80):
        term = term * 2 * near**2 / (2 * count + 1)
        total = total + term
    root_of_pi = np.sqrt(np.longdouble(np.pi) + np.longdouble(1.2246467991473532e-16))
    erf = 2 / root_of_pi * np.exp(-(near**2)) * total
    far = np.maximum(size, 1.5)
    fraction = far
    for count in range(600, 0, -1):
        fraction = far + np.longdouble(count) / 2 / fraction
    # The square in two parts, the first exact: of an exponent every digit counts.
    short = far.astype(np.float32).astype(np.longdouble)
    power = np.exp(-(short**2)) * np.exp(-(far - short) * (far + short))
    rest = np.where(size < 1.5, 1 - erf, power / fraction / root_of_pi)
    erf = np.where(size < 1.5, erf, 1 - rest)
    return np.copysign(erf, x), np.where(x < 0, 2 - rest, rest)
