"""NumPy's reductions that leave NaN out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linalg_ext.tracing import reductions, scans
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.traced import Traced, xp


def _with(a: Any, number: float) -> Traced:
    """A value with a number in the place of NaN."""
    value = as_traced(a)
    if value.dtype.kind in "iub":
        return value
    return xp.where(xp.isnan(value), value.dtype.type(number), value)


def nan_free(name: str, number: float) -> Callable[..., Any]:
    """`numpy.nansum` and its like: with a number in the place of NaN."""

    def reduce(a: Any, *arguments: Any, **keywords: Any) -> Any:
        return getattr(np, name)(_with(a, number), *arguments, **keywords)

    return reduce


def _extremum(name: str, number: float) -> Callable[..., Any]:
    def reduce(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **keywords: Any
    ) -> Any:
        function = getattr(np, name)
        value = as_traced(a)
        found = function(_with(value, number), axis=axis, out=out, keepdims=keepdims, **keywords)
        if value.dtype.kind in "iub" or keywords:
            return found
        # NaN is left where there is nothing else.
        is_nan = xp.all(xp.isnan(value), axis=axis, keepdims=keepdims)
        return xp.where(is_nan, value.dtype.type(np.nan), found)

    return reduce


nanmax, nanmin = _extremum("max", -np.inf), _extremum("min", np.inf)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
) -> Any:
    """`numpy.nanmean`."""
    value = as_traced(a)
    return reductions.mean(value, axis, dtype, out, keepdims, where=~xp.isnan(value))


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
) -> Any:
    """`numpy.nanvar`."""
    value = as_traced(a)
    is_number = ~xp.isnan(value)
    found = reductions.var(_with(value, 0.0), axis, dtype, out, ddof, keepdims, where=is_number)
    # Of fewer values than degrees of freedom, NumPy gives NaN.
    count = xp.count_nonzero(is_number, axis, keepdims=keepdims)
    return xp.where(count <= ddof, found.dtype.type(np.nan), found)


def nanstd(a: Any, *arguments: Any, **keywords: Any) -> Any:
    """`numpy.nanstd`."""
    return xp.sqrt(nanvar(a, *arguments, **keywords))


def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """`numpy.nanargmax`; 0 where all are NaN."""
    return reductions.argmax(_with(a, -np.inf), axis, out, keepdims=keepdims)


def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """`numpy.nanargmin`; 0 where all are NaN."""
    return reductions.argmin(_with(a, np.inf), axis, out, keepdims=keepdims)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """`numpy.nancumsum`."""
    return scans.cumsum(_with(a, 0.0), axis, dtype, out)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """`numpy.nancumprod`."""
    return scans.cumprod(_with(a, 1.0), axis, dtype, out)


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """`numpy.nan_to_num`."""
    value = as_traced(x)
    if value.dtype.kind in "iub":
        return value
    limits = np.finfo(value.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    value = _with(value, nan)
    value = xp.where(value == np.inf, value.dtype.type(high), value)
    return xp.where(value == -np.inf, value.dtype.type(low), value)
