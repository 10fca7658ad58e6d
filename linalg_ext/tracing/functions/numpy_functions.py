"""NumPy's functions that are no ufuncs, recorded: the table that `__array_function__` looks up."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from linalg_ext.errors import ArityError, ShapeError
from linalg_ext.tracing.functions import arithmetic as own
from linalg_ext.tracing.functions import (
    concatenation,
    creation,
    indexing,
    linear_algebra,
    reductions,
    shaping,
    signals,
    sorting,
)
from linalg_ext.tracing.functions.ufuncs import BODIES, OTHER_UFUNCS
from linalg_ext.tracing.values.axes import normal_axis
from linalg_ext.tracing.values.conversion import as_traced, cast_to, common_dtype
from linalg_ext.tracing.values.emission import demand
from linalg_ext.tracing.values.traced import xp
from linalg_ext.tracing.values.unsupported import refuse, refuse_function


def _of(module: Any, names: str) -> dict[str, Callable[..., Any]]:
    return {name: getattr(module, name) for name in names.split()}


def _linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, *, dtype: Any = None
) -> Any:
    return creation.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)


def _allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    return xp.all(creation.isclose(a, b, rtol, atol, equal_nan))


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    one, other = as_traced(a1), as_traced(a2)
    if len(one.shape) != len(other.shape) or one.shape != other.shape:
        return False
    same = one == other
    return xp.all(same | (xp.isnan(one) & xp.isnan(other)) if equal_nan else same)


def _array_equiv(a1: Any, a2: Any) -> Any:
    one, other = as_traced(a1), as_traced(a2)
    try:
        return xp.all(one == other)
    except ShapeError:
        return False


def _rows_and_columns(value: Any, k: int) -> tuple[int, int, int]:
    rows, columns = as_traced(value).shape
    return rows.__index__(), k, columns.__index__()


def _square(value: Any) -> tuple[int, int]:
    traced = as_traced(value)
    if traced.ndim < 2 or len(set(traced.shape)) != 1:
        raise ShapeError(f"diag_indices_from of shape {traced.shape}", expected="equal sizes")
    return traced.shape[0].__index__(), traced.ndim


def _average(
    a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = False
) -> Any:
    if weights is None:
        mean = reductions.mean(a, axis, keepdims=keepdims)
        # The number of elements of each mean.
        count = xp.sum(xp.ones_like(as_traced(a), dtype=mean.dtype), axis, keepdims=keepdims)
        return (mean, count) if returned else mean
    value, factor = as_traced(a), as_traced(weights)
    if factor.ndim == 1 and value.ndim > 1 and axis is not None:
        factor = xp.moveaxis(xp.expand_dims(factor, tuple(range(1, value.ndim))), 0, axis)
    dtype = common_dtype("average", [value, factor])
    if value.dtype.kind in "iub":
        dtype = np.result_type(dtype if dtype.kind == "c" else np.float64, np.float64)
    products = cast_to(value, dtype) * cast_to(factor, dtype)
    weight = np.sum(xp.broadcast_to(cast_to(factor, dtype), value.shape), axis, keepdims=keepdims)
    # NumPy raises a ZeroDivisionError.
    demand(xp.all(weight != 0), "average: weights sum to zero")
    mean = np.sum(products, axis, keepdims=keepdims) / weight
    return (mean, xp.broadcast_to(weight, mean.shape)) if returned else mean


def _dtype(value: Any) -> Any:
    return getattr(value, "dtype", value)


def _size(a: Any, axis: Any = None) -> Any:
    value = as_traced(a)
    return value.size if axis is None else value.shape[normal_axis(axis, value.ndim, "size")]


_SIMPLE: Mapping[str, Callable[..., Any]] = {
    **_of(
        shaping, "reshape ravel transpose matrix_transpose swapaxes moveaxis expand_dims squeeze"
    ),
    **_of(shaping, "broadcast_to broadcast_arrays flip roll tile repeat rot90"),
    **_of(
        concatenation,
        "concatenate stack hstack vstack dstack column_stack append split array_split",
    ),
    **_of(concatenation, "pad where meshgrid piecewise"),
    **_of(linear_algebra, "dot inner vdot outer kron tensordot einsum diagonal"),
    **_of(creation, "full_like zeros_like ones_like tril triu diag isclose clip copy"),
    **_of(reductions, "mean var std argmax argmin count_nonzero ptp"),
    **_of(reductions, "cumsum cumprod cumulative_sum cumulative_prod diff"),
    **_of(indexing, "take take_along_axis"),
    **_of(sorting, "sort argsort"),
    **_of(sorting, "median quantile percentile nanmedian nanquantile nanpercentile"),
    **_of(sorting, "partition argpartition lexsort searchsorted digitize interp isin"),
    **_of(sorting, "histogram bincount"),
    **_of(shaping, "packbits unpackbits"),
    **_of(reductions, "nanmax nanmin nanmean nanvar nanstd nanargmax nanargmin"),
    **_of(reductions, "nancumsum nancumprod nan_to_num"),
    **_of(signals, "polyval polyadd polysub polymul polyder polyint vander"),
    **_of(signals, "convolve correlate trapezoid gradient ediff1d unwrap sinc angle cov corrcoef"),
    **_of(signals, "logspace geomspace"),
    **_of(
        concatenation, "hsplit vsplit dsplit unstack insert delete compress resize block choose ix_"
    ),
    **_of(concatenation, "unravel_index rollaxis diagflat"),
    "linspace": _linspace,
    "select": concatenation.select_,
    "trace": linear_algebra.trace_of,
    "cross": linear_algebra.cross,
    "empty_like": creation.zeros_like,
    "sum": reductions.sum_,
    "prod": reductions.prod,
    "max": reductions.max_,
    "amax": reductions.max_,
    "min": reductions.min_,
    "amin": reductions.min_,
    "any": reductions.any_,
    "all": reductions.all_,
    "round": creation.round_,
    "around": creation.round_,
    "real": creation.parts("real", own.real_part),
    "imag": creation.parts("imag", own.imaginary_part),
    "atleast_1d": shaping.at_least(1),
    "atleast_2d": shaping.at_least(2),
    "atleast_3d": shaping.at_least(3),
    "fliplr": lambda m: shaping.flip(m, 1),
    "flipud": lambda m: shaping.flip(m, 0),
    "nansum": reductions.nan_free("sum", 0),
    "nanprod": reductions.nan_free("prod", 1),
    "allclose": _allclose,
    "array_equal": _array_equal,
    "array_equiv": _array_equiv,
    "astype": lambda x, dtype, /, *, copy=True, device=None: cast_to(x, dtype),
    "fix": lambda x: xp.trunc(as_traced(x)),
    "isposinf": lambda x: as_traced(x) == np.inf,
    "isneginf": lambda x: as_traced(x) == -np.inf,
    "iscomplex": lambda x: xp.imag(as_traced(x)) != 0,
    "isreal": lambda x: xp.imag(as_traced(x)) == 0,
    "diag_indices_from": lambda arr: np.diag_indices(*_square(arr)),
    "tril_indices_from": lambda arr, k=0: np.tril_indices(*_rows_and_columns(arr, k)),
    "triu_indices_from": lambda arr, k=0: np.triu_indices(*_rows_and_columns(arr, k)),
    "average": _average,
    "ndim": lambda a: as_traced(a).ndim,
    "shape": lambda a: as_traced(a).shape,
    "size": _size,
    "iscomplexobj": lambda x: as_traced(x).dtype.kind == "c",
    "isrealobj": lambda x: as_traced(x).dtype.kind != "c",
    "can_cast": lambda from_, to, casting="safe": np.can_cast(_dtype(from_), _dtype(to), casting),
    "min_scalar_type": lambda a: as_traced(a).dtype,
    "result_type": lambda *values: np.result_type(*map(_dtype, values)),
}
_LINALG: Mapping[str, Callable[..., Any]] = {
    **_of(linear_algebra, "norm vector_norm matrix_norm matrix_power multi_dot cross"),
    **_of(linear_algebra, "outer tensordot vecdot matmul"),
    "trace": lambda x, /, *, offset=0, dtype=None: linear_algebra.trace_of(
        x, offset, -2, -1, dtype
    ),
    "diagonal": lambda x, /, *, offset=0: linear_algebra.diagonal(x, offset, -2, -1),
    "matrix_transpose": shaping.matrix_transpose,
}

_FFT: Mapping[str, Callable[..., Any]] = {
    "fftshift": concatenation.shifted(1),
    "ifftshift": concatenation.shifted(-1),
}

_CALLED_OF_LINALG = (
    "inv pinv solve tensorsolve tensorinv lstsq det slogdet matrix_rank cond cholesky qr svd "
    "svdvals eigh eigvalsh eig eigvals"
)
_CALLED_OF_FFT = "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn"
_CALLED = (
    "apply_along_axis apply_over_axes polyfit i0 histogram_bin_edges histogram2d histogramdd "
    "sort_complex ravel_multi_index"
)
CALLED_BACK: Mapping[Any, str] = {
    getattr(module, name): f"{prefix}{name}"
    for module, prefix, names in (
        (np, "", _CALLED),
        (np.linalg, "linalg.", _CALLED_OF_LINALG),
        (np.fft, "fft.", _CALLED_OF_FFT),
    )
    for name in names.split()
    if hasattr(module, name)
}
"""NumPy's functions that are not recorded: the kernel calls NumPy."""

FUNCTIONS: Mapping[Any, Callable[..., Any]] = {
    **{getattr(np.fft, name): made for name, made in _FFT.items()},
    **{getattr(np, name): made for name, made in _SIMPLE.items() if hasattr(np, name)},
    np.lib.stride_tricks.sliding_window_view: indexing.sliding_window_view,
    **{
        getattr(np.linalg, name): made for name, made in _LINALG.items() if hasattr(np.linalg, name)
    },
}
"""NumPy's functions, and what records each, with those parameters of NumPy that mean something."""


def record_function(function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """Record a call of one of NumPy's functions.

    Raises:
        TraceError: it is not covered, or not with these arguments; says what is nearest.
    """
    recorded = FUNCTIONS.get(function)
    module = str(getattr(function, "__module__", "numpy"))
    if recorded is None and function in CALLED_BACK:
        return linear_algebra.called(CALLED_BACK[function], function, arguments, keywords)
    if recorded is None:
        refuse_function(function.__name__, module)
    parameters = _signature(recorded).parameters
    given = {
        name: value
        for name, value in keywords.items()
        if value is not reductions.UNSET and (value is not None or name in parameters)
    }
    try:
        _signature(recorded).bind(*arguments, **given)
    except TypeError as error:
        unknown = [name for name in given if name not in parameters]
        if unknown:
            refuse(
                f"{module}.{function.__name__} with {unknown[0]}= cannot be recorded",
                f"the recorded parameters are {', '.join(parameters)}",
            )
        raise ArityError(f"{module}.{function.__name__}: {error}") from None
    return recorded(*arguments, **given)


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


@cache
def recorded_names() -> tuple[str, ...]:
    """The names of all that is recorded, as `numpy.x`."""
    names = {*_SIMPLE, *BODIES, *OTHER_UFUNCS}
    found = {f"np.{name}" for name in names}
    found |= {f"np.linalg.{name}" for name in _LINALG} | {f"np.fft.{name}" for name in _FFT}
    return tuple(sorted(found))
