"""NumPy's functions that are not ufuncs, recorded: the table that `__array_function__` looks up."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from linalg_ext.definition.calls import common_dtype
from linalg_ext.errors import ArityError, DTypeError, ShapeError
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
from linalg_ext.tracing.values.conversion import as_traced, cast_to
from linalg_ext.tracing.values.traced import xp
from linalg_ext.tracing.values.unsupported import refuse, refuse_function


def _of(module: Any, names: str) -> dict[str, Callable[..., Any]]:
    return {name: getattr(module, name) for name in names.split()}


_MAKERS = ("arange", "eye", "full", "ones", "tri", "zeros")
"""Functions that are asked for by no array: `known_arrays` replaces them."""


def _named(*modules: Any) -> dict[str, Callable[..., Any]]:
    """Return the functions of modules by their names, where NumPy has them, too.

    An underscore at the end tells one from Python's own: `sum_` is `numpy.sum`.
    """
    functions = {}
    for module in modules:
        for own_name, function in vars(module).items():
            name = own_name if hasattr(np, own_name) else own_name.removesuffix("_")
            theirs = getattr(np, name, None)
            home = getattr(getattr(function, "func", function), "__module__", "")
            is_theirs = callable(theirs) and not isinstance(theirs, np.ufunc)
            if home == module.__name__ and is_theirs and name not in _MAKERS:
                functions[name] = function
    return functions


def _rows_and_columns(value: Any, k: int) -> tuple[int, int, int]:
    rows, columns = as_traced(value).shape
    return rows.__index__(), k, columns.__index__()


def _square(value: Any) -> tuple[int, int]:
    traced = as_traced(value)
    if traced.ndim < 2 or len(set(traced.shape)) != 1:
        raise ShapeError(f"diag_indices_from of shape {traced.shape}", expected="equal sizes")
    return traced.shape[0].__index__(), traced.ndim


def _dtype(value: Any) -> Any:
    return getattr(value, "dtype", value)


def _size(a: Any, axis: Any = None) -> Any:
    value = as_traced(a)
    return value.size if axis is None else value.shape[normal_axis(axis, value.ndim, "size")]


def _promoted(value: Any) -> Any:
    """Return the dtype by which NumPy's promotion sees a value, or a number where it is weak."""
    weak = getattr(value, "weak", None)
    return weak(0) if weak else _dtype(value)


def _min_scalar_type(value: Any) -> Any:
    if value.ndim == 0:
        refuse("numpy.min_scalar_type of a traced scalar depends on its number", "use x.dtype")
    return value.dtype


def _real(name: str, x: Any) -> Any:
    value = as_traced(x)
    if value.dtype.kind == "c":
        raise DTypeError(f"{name} of {value.dtype}", expected="real numbers")
    return value


_SIMPLE: Mapping[str, Callable[..., Any]] = {
    **_named(concatenation, creation, indexing, linear_algebra),
    **_named(reductions, shaping, signals, sorting),
    "trace": linear_algebra.trace_of,
    "empty_like": creation.zeros_like,
    "amax": reductions.max_,
    "amin": reductions.min_,
    "around": creation.round_,
    "real": partial(creation.part, "real", own.real_part),
    "imag": partial(creation.part, "imag", own.imaginary_part),
    **{f"atleast_{rank}d": partial(shaping.at_least, rank) for rank in (1, 2, 3)},
    "fliplr": lambda m: shaping.flip(m, 1),
    "flipud": lambda m: shaping.flip(m, 0),
    "astype": lambda x, dtype, /, *, copy=True, device=None: cast_to(x, dtype),
    "fix": lambda x: xp.trunc(as_traced(x)),
    "isposinf": lambda x: _real("isposinf", x) == np.inf,
    "isneginf": lambda x: _real("isneginf", x) == -np.inf,
    "iscomplex": lambda x: xp.imag(as_traced(x)) != 0,
    "isreal": lambda x: xp.imag(as_traced(x)) == 0,
    "diag_indices_from": lambda arr: np.diag_indices(*_square(arr)),
    "tril_indices_from": lambda arr, k=0: np.tril_indices(*_rows_and_columns(arr, k)),
    "triu_indices_from": lambda arr, k=0: np.triu_indices(*_rows_and_columns(arr, k)),
    "ndim": lambda a: as_traced(a).ndim,
    "shape": lambda a: as_traced(a).shape,
    "size": _size,
    "iscomplexobj": lambda x: as_traced(x).dtype.kind == "c",
    "isrealobj": lambda x: as_traced(x).dtype.kind != "c",
    "can_cast": lambda from_, to, casting="safe": np.can_cast(_dtype(from_), _dtype(to), casting),
    "min_scalar_type": lambda a: _min_scalar_type(as_traced(a)),
    "result_type": lambda *values: common_dtype("result_type", list(map(_promoted, values))),
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
    "fftshift": partial(concatenation.shifted, 1),
    "ifftshift": partial(concatenation.shifted, -1),
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


def _owned(
    module: Any, recorders: Mapping[str, Callable[..., Any]]
) -> dict[Any, Callable[..., Any]]:
    return {getattr(module, name): f for name, f in recorders.items() if hasattr(module, name)}


FUNCTIONS: Mapping[Any, Callable[..., Any]] = {
    **_owned(np.fft, _FFT),
    **_owned(np, _SIMPLE),
    np.lib.stride_tricks.sliding_window_view: indexing.sliding_window_view,
    **_owned(np.linalg, _LINALG),
}
"""NumPy's functions, and the function that records each, with the parameters of NumPy that it
supports.
"""


def record_function(function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """Record a call of one of NumPy's functions.

    Raises:
        TraceError: it is not covered, or not with these arguments; names the nearest.
    """
    recorded = FUNCTIONS.get(function)
    module = str(getattr(function, "__module__", "numpy"))
    if recorded is None and function in CALLED_BACK:
        return linear_algebra.called(CALLED_BACK[function], function, arguments, keywords)
    if recorded is None:
        refuse_function(function.__name__, module)
    parameters = _signature(recorded).parameters
    options = {
        name: value
        for name, value in keywords.items()
        if value is not reductions.UNSET and (value is not None or name in parameters)
    }
    try:
        _check_call(recorded, len(arguments), tuple(options))
    except TypeError as error:
        unknown = [name for name in options if name not in parameters]
        if unknown:
            refuse(
                f"{module}.{function.__name__} with {unknown[0]}= cannot be recorded",
                f"the recorded parameters are {', '.join(parameters)}",
            )
        raise ArityError(f"{module}.{function.__name__}: {error}") from None
    return recorded(*arguments, **options)


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


@lru_cache(maxsize=4096)
def _check_call(recorded: Callable[..., Any], count: int, names: tuple[str, ...]) -> None:
    """Raise a TypeError where a function takes no `count` positional arguments and these names."""
    _signature(recorded).bind(*range(count), **dict.fromkeys(names))


@cache
def recorded_names() -> tuple[str, ...]:
    """Return the names of all that is recorded, as `numpy.x`."""
    names = {*_SIMPLE, *BODIES, *OTHER_UFUNCS}
    qualified = {f"np.{name}" for name in names}
    qualified |= {f"np.linalg.{name}" for name in _LINALG} | {f"np.fft.{name}" for name in _FFT}
    return tuple(sorted(qualified))
