"""NumPy's polynomials: coefficients along the first axis, that of the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, ShapeError, caller_location
from linalg_ext.tracing.casting import cast_to, common_dtype
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.signals import convolve
from linalg_ext.tracing.traced import Traced, xp


def _coefficients(name: str, value: Any) -> Traced:
    found = xp.atleast_1d(as_traced(value))
    if found.ndim != 1 or not isinstance(found.shape[0], int):
        raise ShapeError(
            f"{name} of coefficients of shape {found.shape}",
            where=caller_location(),
            expected="one dimension of known size",
        )
    return found


def polyval(p: Any, x: Any) -> Traced:
    """`numpy.polyval`, by Horner's rule."""
    factors, at = _coefficients("polyval", p), as_traced(x)
    dtype = common_dtype("polyval", [factors, at])
    found = xp.zeros_like(at, dtype=dtype)
    for place in range(factors.shape[0]):
        found = found * at + factors[place]
    return found


def polyadd(a1: Any, a2: Any) -> Traced:
    """`numpy.polyadd`."""
    one, other = _padded("polyadd", a1, a2)
    return one + other


def polysub(a1: Any, a2: Any) -> Traced:
    """`numpy.polysub`."""
    one, other = _padded("polysub", a1, a2)
    return one - other


def _padded(name: str, a: Any, b: Any) -> list[Traced]:
    values = [_coefficients(name, each) for each in (a, b)]
    most = max(value.shape[0] for value in values)
    return [xp.pad(value, (most - value.shape[0], 0)) for value in values]


def polymul(a1: Any, a2: Any) -> Traced:
    """`numpy.polymul`."""
    return convolve(_coefficients("polymul", a1), _coefficients("polymul", a2))


def polyder(p: Any, m: Any = 1) -> Traced:
    """`numpy.polyder`."""
    factors = _coefficients("polyder", p)
    for _ in range(_times("polyder", m)):
        degree = factors.shape[0] - 1
        factors = factors[:-1] * xp.arange(degree, 0, -1)
    return factors


def polyint(p: Any, m: Any = 1, k: Any = None) -> Traced:
    """`numpy.polyint`."""
    factors = _coefficients("polyint", p)
    count = _times("polyint", m)
    constants = [0] * count if k is None else list(k) if hasattr(k, "__len__") else [k] * count
    for number in range(count):
        powers = xp.arange(factors.shape[0], 0, -1)
        factors = xp.append(factors / powers, xp.atleast_1d(as_traced(constants[number])))
    return factors


def _times(name: str, m: Any) -> int:
    count = m.__index__() if hasattr(m, "__index__") else -1
    if count < 0:
        raise ArgumentError(f"{name}: m={m!r}", where=caller_location(), expected="0 or more")
    return int(count)


def vander(x: Any, N: Any = None, increasing: bool = False) -> Traced:
    """`numpy.vander`."""
    value = as_traced(x)
    if value.ndim != 1:
        raise ShapeError(
            f"vander of shape {value.shape}", where=caller_location(), expected="one dimension"
        )
    count = value.shape[0].__index__() if N is None else N.__index__()
    dtype = np.promote_types(value.dtype, int)
    column = xp.ones_like(value, dtype=dtype)
    columns = []
    for _ in range(count):
        columns.append(column)
        column = column * cast_to(value, dtype)
    if not columns:
        return xp.reshape(column[:0], (value.shape[0], 0))
    return xp.stack(columns if increasing else columns[::-1], 1)
