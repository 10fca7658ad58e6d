"""New values: zeros, ranges, identities, triangles; made where they are used, and never constants.

NumPy's own `np.zeros(...)` and `np.arange(...)` give arrays, which become constants; these take
open sizes too, as of `lx.Dim`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np

from linalg_ext.errors import ArgumentError, ArityError, ShapeError
from linalg_ext.tracing.functions.complex_functions import created
from linalg_ext.tracing.functions.shaping import as_shape
from linalg_ext.tracing.functions.ufuncs import demand_fit
from linalg_ext.tracing.values.conversion import (
    affine,
    arrays_of,
    as_constant,
    as_traced,
    cast_to,
    common_dtype,
)
from linalg_ext.tracing.values.elements import (
    INT64,
    Element,
    as_dtype,
    part_dtype,
    position,
    select,
)
from linalg_ext.tracing.values.emission import full as filled
from linalg_ext.tracing.values.emission import pointwise, structured
from linalg_ext.tracing.values.sizes import AnySize, Size
from linalg_ext.tracing.values.traced import Traced, xp
from linalg_ext.tracing.values.unsupported import refuse


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Traced:
    sizes = as_shape(shape)
    if isinstance(fill_value, Traced) or np.ndim(fill_value):
        value = cast_to(fill_value, dtype) if dtype is not None else as_traced(fill_value)
        return xp.broadcast_to(value, sizes)
    result_dtype = as_dtype(dtype) if dtype is not None else as_constant(fill_value).dtype
    return filled(
        sizes, as_constant(fill_value, result_dtype).astype(result_dtype).item(), result_dtype
    )


def zeros(shape: Any, dtype: Any = float) -> Traced:
    return full(shape, 0, float if dtype is None else dtype)


def ones(shape: Any, dtype: Any = float) -> Traced:
    return full(shape, 1, float if dtype is None else dtype)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: Any = True,
    shape: Any = None,
) -> Traced:
    like = as_traced(a)
    kind = like.dtype if dtype is None else as_dtype(dtype)
    demand_fit(fill_value, kind)
    return full(like.shape if shape is None else shape, fill_value, kind)


def zeros_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None
) -> Traced:
    """`numpy.zeros_like`; `empty_like` too, for there is no memory to leave unwritten."""
    return full_like(a, 0, dtype, shape=shape)


def ones_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None
) -> Traced:
    return full_like(a, 1, dtype, shape=shape)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> Traced:
    """`numpy.arange`; a stop that is open starts from an integer and steps by one."""
    if stop is None:
        start, stop = 0, start
    if not any(isinstance(bound, Size) for bound in (start, stop)):
        return as_traced(cast(Any, np).arange(start, stop, step, dtype))
    count: AnySize = (stop - start + (step - 1)) // step
    result_dtype = as_dtype(dtype) if dtype is not None else INT64
    if isinstance(start, Size):
        return cast_to(as_traced(start) + affine((count,), 0, [step], INT64), result_dtype)
    return affine((count,), start, [step], result_dtype)


def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, *, dtype: Any = None
) -> Traced:
    if not isinstance(num, Size) and not any(isinstance(b, Traced) for b in (start, stop)):
        return as_traced(np.linspace(start, stop, num, endpoint, dtype=dtype))
    wide = common_dtype("linspace", [start, stop, 1.0])
    first, last = arrays_of(start, stop)
    steps = num - 1 if endpoint else num
    whole = as_traced(steps) if isinstance(steps, Size) else max(steps, 1)
    apart = cast_to(last, wide) - cast_to(first, wide)
    # Places are along a new first axis.
    places = cast_to(xp.reshape(arange(num), (num, *[1] * apart.ndim)), wide)
    step = apart / cast_to(whole, wide)
    # A step too small for the dtype is 0: the part of the whole stands for it.
    value = xp.where(xp.any(step == 0), places / cast_to(whole, wide) * apart, places * step)
    value = value + cast_to(first, wide)
    if endpoint:
        value = xp.where((places == steps) & (places != 0), cast_to(last, wide), value)
    if dtype is None:
        return value
    return cast_to(xp.floor(value) if as_dtype(dtype).kind in "iu" else value, dtype)


def eye(n_rows: Any, n_cols: Any = None, /, *, k: int = 0, dtype: Any = float) -> Traced:
    return _by_diagonal(lambda distance: distance.equals(k), n_rows, n_cols, dtype)


def tri(n_rows: Any, n_cols: Any = None, k: int = 0, dtype: Any = float) -> Traced:
    return _by_diagonal(lambda distance: distance <= k, n_rows, n_cols, dtype)


def _by_diagonal(
    holds: Callable[[Element], Element], n_rows: Any, n_cols: Any, dtype: Any
) -> Traced:
    result_dtype = as_dtype(float if dtype is None else dtype)
    shape = as_shape((n_rows, n_rows if n_cols is None else n_cols))
    return structured(
        lambda: holds(position(1) - position(0)).to(result_dtype), [], shape, result_dtype
    )


def _side(name: str, m: Any, k: int = 0) -> Traced:
    value = as_traced(m)
    if not value.ndim:
        raise ShapeError(f"{name} of an array of rank 0", expected="rank 1 or more")
    row, column = value.ndim - 2, value.ndim - 1
    if value.ndim == 1:
        value = xp.broadcast_to(value, (value.shape[0], value.shape[0]))
        row, column = 0, 1

    def body(x: Element) -> Element:
        distance = position(column) - position(row)
        is_kept = distance <= k if name == "tril" else distance >= k
        return select(is_kept, x, x.like(0))

    return structured(body, [value], value.shape, value.dtype)


tril, triu = partial(_side, "tril"), partial(_side, "triu")


def diag(v: Any, k: int = 0) -> Traced:
    value = as_traced(v)
    if value.ndim == 2:
        return xp.diagonal(value, k)
    size = value.shape[0]
    above, below = max(k, 0), max(-k, 0)
    wide = xp.pad(value, (above, below)) if k else value
    total = size + above + below
    shape = (total, total)
    column = xp.broadcast_to(wide, shape)

    def body(x: Element) -> Element:
        return select((position(1) - position(0)).equals(k), x, x.like(0))

    return structured(body, [column], shape, value.dtype)


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Traced:
    x, y = (
        value if isinstance(value, int | float | complex) else as_traced(value) for value in (a, b)
    )
    # Integers are subtracted as floats: a difference of theirs may wrap around.
    y = cast_to(y, common_dtype("isclose", [y, 1.0])) if isinstance(y, Traced) else y * 1.0
    tolerance = abs(y) * rtol + atol
    near = (np.abs(xp.subtract(x, y)) <= tolerance) & xp.isfinite(y)
    close = xp.logical_or(near, xp.equal(x, y))
    if not equal_nan:
        return close
    return xp.logical_or(close, xp.isnan(x) & xp.isnan(y))


def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    return xp.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    first, second = as_traced(a1), as_traced(a2)
    if len(first.shape) != len(second.shape) or first.shape != second.shape:
        return False
    same = first == second
    return xp.all(same | (xp.isnan(first) & xp.isnan(second)) if equal_nan else same)


def array_equiv(a1: Any, a2: Any) -> Any:
    first, second = as_traced(a1), as_traced(a2)
    try:
        return xp.all(first == second)
    except ShapeError:
        return False


def clip(
    a: Any,
    a_min: Any = np._NoValue,
    a_max: Any = np._NoValue,
    *,
    min: Any = np._NoValue,
    max: Any = np._NoValue,
) -> Traced:
    if a_min is np._NoValue and a_max is np._NoValue:
        a_min, a_max = min, max
    elif a_min is np._NoValue or a_max is np._NoValue:
        raise ArityError("clip with one of a_min and a_max", expected="both, or min= or max=")
    elif min is not np._NoValue or max is not np._NoValue:
        raise ArgumentError("clip with a_min and a_max, and min= or max=", expected="two bounds")
    low, high = (None if bound is np._NoValue else bound for bound in (a_min, a_max))
    bounds = [bound for bound in (low, high) if bound is not None]
    value = as_traced(a)
    if not bounds:
        return value
    dtype = common_dtype("clip", [a, *bounds])
    if low is not None:
        value = xp.maximum(value, low, dtype=dtype)
    return value if high is None else xp.minimum(value, high, dtype=dtype)


def round_(a: Any, decimals: int = 0) -> Traced:
    value = as_traced(a)
    if value.dtype == np.bool_:
        if decimals:
            refuse("numpy.round of booleans to decimals", "convert them with .astype(int) first")
        return xp.rint(value)
    if value.dtype.kind in "iub":
        if decimals >= 0:
            return value
        scale = 10**-decimals
        half = xp.rint(value / float(scale))
        return cast_to(half * scale, value.dtype)
    if not decimals:
        return xp.rint(value)
    if value.dtype.kind == "c":
        both = [round_(part, decimals) for part in (xp.real(value), xp.imag(value))]
        return pointwise("round", created, both, value.dtype)
    scale = 10.0 ** abs(decimals)
    rounded = xp.rint(value * scale) / scale if decimals > 0 else xp.rint(value / scale) * scale
    return cast_to(rounded, value.dtype)


def copy(a: Any, order: Any = "K", subok: Any = False) -> Traced:
    """`numpy.copy`: no view of its source."""
    value = as_traced(a)
    return Traced(value.tensor, value.dtype, value.shape, value.axes)


def part(name: str, body: Any, val: Any) -> Traced:
    """`numpy.real` and `numpy.imag`."""
    value = as_traced(val)
    return pointwise(name, body, [value], part_dtype(value.dtype))
