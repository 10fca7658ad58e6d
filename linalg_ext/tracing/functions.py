"""NumPy's functions that are no ufuncs, recorded: the table that `__array_function__` looks up."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from linalg_ext.errors import ArityError, caller_location
from linalg_ext.tracing import arithmetic as own
from linalg_ext.tracing import (
    contractions,
    creation,
    gathering,
    joining,
    linear_algebra,
    reductions,
    scans,
    shaping,
    sorting,
)
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.misuse import refuse
from linalg_ext.tracing.nearest import refuse_function
from linalg_ext.tracing.traced import xp
from linalg_ext.tracing.ufuncs import BODIES


def _of(module: Any, names: str) -> dict[str, Callable[..., Any]]:
    return {name: getattr(module, name) for name in names.split()}


def _nan_free(name: str, number: float) -> Callable[..., Any]:
    """`numpy.nansum` and its like: with a number in the place of NaN."""

    def reduce(a: Any, *arguments: Any, **keywords: Any) -> Any:
        value = as_traced(a)
        if value.dtype.kind not in "iub":
            value = xp.where(xp.isnan(value), value.dtype.type(number), value)
        return getattr(np, name)(value, *arguments, **keywords)

    return reduce


def _nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
) -> Any:
    value = as_traced(a)
    return reductions.mean(value, axis, dtype, out, keepdims, where=~xp.isnan(value))


def _nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    value = as_traced(x)
    if value.dtype.kind in "iub":
        return value
    limits = np.finfo(value.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    value = xp.where(xp.isnan(value), value.dtype.type(nan), value)
    value = xp.where(value == np.inf, value.dtype.type(high), value)
    return xp.where(value == -np.inf, value.dtype.type(low), value)


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


def _average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: Any = False) -> Any:
    if weights is None:
        return reductions.mean(a, axis, keepdims=keepdims)
    value, factor = as_traced(a), as_traced(weights)
    if factor.ndim == 1 and value.ndim > 1 and axis is not None:
        factor = xp.moveaxis(xp.expand_dims(factor, tuple(range(1, value.ndim))), 0, axis)
    total = xp.sum(value * factor, axis, keepdims=keepdims)
    return total / np.sum(xp.broadcast_to(factor, value.shape), axis, keepdims=keepdims)


_SIMPLE: Mapping[str, Callable[..., Any]] = {
    **_of(
        shaping, "reshape ravel transpose matrix_transpose swapaxes moveaxis expand_dims squeeze"
    ),
    **_of(shaping, "broadcast_to broadcast_arrays flip roll tile repeat rot90"),
    **_of(joining, "concatenate stack hstack vstack dstack column_stack append split array_split"),
    **_of(joining, "pad where meshgrid"),
    **_of(contractions, "dot inner vdot outer kron tensordot einsum diagonal"),
    **_of(creation, "full_like zeros_like ones_like tril triu diag isclose clip copy"),
    **_of(reductions, "mean var std argmax argmin count_nonzero ptp"),
    **_of(scans, "cumsum cumprod cumulative_sum cumulative_prod diff"),
    **_of(gathering, "take take_along_axis"),
    **_of(sorting, "sort argsort"),
    "linspace": _linspace,
    "select": joining.select_,
    "trace": contractions.trace_of,
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
    "nansum": _nan_free("sum", 0),
    "nanprod": _nan_free("prod", 1),
    "nanmax": _nan_free("max", -np.inf),
    "nanmin": _nan_free("min", np.inf),
    "nanmean": _nanmean,
    "nan_to_num": _nan_to_num,
    "allclose": _allclose,
    "array_equal": _array_equal,
    "average": _average,
    "ndim": lambda a: as_traced(a).ndim,
    "shape": lambda a: as_traced(a).shape,
    "size": lambda a, axis=None: as_traced(a).size if axis is None else as_traced(a).shape[axis],
    "iscomplexobj": lambda x: as_traced(x).dtype.kind == "c",
    "isrealobj": lambda x: as_traced(x).dtype.kind != "c",
    "result_type": lambda *values: np.result_type(*(getattr(v, "dtype", v) for v in values)),
}
_LINALG: Mapping[str, Callable[..., Any]] = {
    **_of(linear_algebra, "norm vector_norm matrix_norm matrix_power multi_dot cross"),
    **_of(contractions, "outer tensordot vecdot matmul"),
    "trace": lambda x, /, *, offset=0, dtype=None: contractions.trace_of(x, offset, -2, -1, dtype),
    "diagonal": lambda x, /, *, offset=0: contractions.diagonal(x, offset, -2, -1),
    "matrix_transpose": shaping.matrix_transpose,
}

FUNCTIONS: Mapping[Any, Callable[..., Any]] = {
    **{getattr(np, name): made for name, made in _SIMPLE.items() if hasattr(np, name)},
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
                f"it is recorded with {', '.join(parameters)}",
            )
        raise ArityError(
            f"{module}.{function.__name__}: {error}", where=caller_location()
        ) from None
    return recorded(*arguments, **given)


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


@cache
def recorded_names() -> tuple[str, ...]:
    """The names of all that is recorded, as `numpy.x`."""
    names = {*_SIMPLE, *BODIES, "matmul", "vecdot", "divmod"}
    return tuple(
        sorted({f"np.{name}" for name in names} | {f"np.linalg.{name}" for name in _LINALG})
    )
