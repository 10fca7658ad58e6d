"""NumPy's reductions that leave NaN out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from linalg_ext.errors import DTypeError, caller_location
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing import reductions, scans
from linalg_ext.tracing.casting import cast_to
from linalg_ext.tracing.complex_functions import created
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.elements import Element, as_dtype, imaginary, part_dtype, real, select
from linalg_ext.tracing.emission import pointwise
from linalg_ext.tracing.traced import Traced, xp
from linalg_ext.tracing.unsupported import refuse


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


def _refuse_dtype(name: str, value: Traced, dtype: Any) -> None:
    """Refuse a result of integers, where values are such that NaN may be among them."""
    if dtype is not None and value.dtype.kind not in "iub" and as_dtype(dtype).kind in "iub":
        refuse(f"numpy.{name} of {value.dtype} with dtype={dtype}", "give a dtype of floats")


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
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Any:
    """`numpy.nanmean`."""
    value = as_traced(a)
    _refuse_dtype("nanmean", value, dtype)
    counted = xp.logical_and(~xp.isnan(value), where)
    return reductions.mean(value, axis, dtype, out, keepdims, where=counted)


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Any:
    """`numpy.nanvar`."""
    value = as_traced(a)
    is_number = ~xp.isnan(value)
    counted = xp.logical_and(is_number, where)
    found = reductions.var(_with(value, 0.0), axis, dtype, out, ddof, keepdims, where=counted)
    if value.dtype.kind in "iub":
        return found
    # Of fewer values than degrees of freedom, NumPy gives NaN.
    count = xp.count_nonzero(counted, axis, keepdims=keepdims)
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
    return scans.cumsum(_with(a, 0.0), axis, dtype)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """`numpy.nancumprod`."""
    return scans.cumprod(_with(a, 1.0), axis, dtype)


def _fitting(number: Any, dtype: DType) -> Traced:
    """Return the number that stands in the place of another one, in its dtype."""
    value = as_traced(number)
    if not np.can_cast(value.dtype, dtype, "same_kind"):
        raise DTypeError(
            f"nan_to_num: {value.dtype} in the place of {dtype}",
            where=caller_location(),
            hint="cast it with .astype(...)",
        )
    return cast_to(value, dtype)


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """`numpy.nan_to_num`: of complex values in each part."""
    value = as_traced(x)
    if value.dtype.kind in "iub":
        return value
    part = part_dtype(value.dtype)
    limits: Any = ml_dtypes.finfo(part)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    numbers = [_fitting(each, part) for each in (nan, high, low)]

    def replaced(x: Element, *numbers: Element) -> Element:
        nan, high, low = numbers
        found = select(x.is_nan(), nan, x)
        found = select(x.equals(math.inf), high, found)
        return select(x.equals(-math.inf), low, found)

    def body(x: Element, *numbers: Element) -> Element:
        if x.dtype.kind == "c":
            return created(replaced(real(x), *numbers), replaced(imaginary(x), *numbers))
        return replaced(x, *numbers)

    found = pointwise("nan_to_num", body, [value, *numbers], value.dtype)
    return xp.broadcast_to(found, value.shape)
