"""The array API's namespace on traced values: the answer of `x.__array_namespace__()` gives.

Names and parameters are those of the Python array API standard (data-apis.org, 2024.12), for the
functions of NumPy's that are recorded; it takes arrays and numbers beside traced values. A function
of the standard that this lacks raises an AttributeError that says so.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, UnrecordedAttributeError, caller_location
from linalg_ext.tracing.functions import creation, sorting
from linalg_ext.tracing.functions.concatenation import unstack as unstack
from linalg_ext.tracing.functions.linear_algebra import vecdot as vecdot
from linalg_ext.tracing.values.conversion import as_traced, cast_to
from linalg_ext.tracing.values.elements import as_dtype
from linalg_ext.tracing.values.traced import Traced, xp

__array_api_version__ = "2024.12"

e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi

bool = np.dtype(np.bool_)
int8, int16, int32, int64 = (np.dtype(f"int{width}") for width in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{width}") for width in (8, 16, 32, 64))
float32, float64 = np.dtype(np.float32), np.dtype(np.float64)
complex64, complex128 = np.dtype(np.complex64), np.dtype(np.complex128)
finfo, iinfo, isdtype, result_type = np.finfo, np.iinfo, np.isdtype, np.result_type
__array_namespace_info__ = np.__array_namespace_info__

_ONE = (
    "abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag "
    "isfinite isinf isnan log log1p log2 log10 logical_not negative positive real reciprocal round "
    "sign signbit sin sinh sqrt square tan tanh trunc"
)
_TWO = (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign "
    "divide equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and "
    "logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract"
)
_SHAPED = (
    "all any argmax argmin broadcast_to count_nonzero cumulative_prod cumulative_sum diff "
    "expand_dims flip matmul matrix_transpose max mean min moveaxis permute_dims prod repeat "
    "reshape roll searchsorted squeeze std sum take take_along_axis tensordot tile tril triu var"
)
_LINALG = (
    "cholesky cross det diagonal eigh eigvalsh inv matrix_norm matrix_power matrix_rank outer pinv "
    "qr slogdet solve svd svdvals trace vector_norm"
)
_FFT = "fft fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftn"
_LISTS = "concat stack where"
_MADE = "arange eye full full_like linspace ones ones_like zeros zeros_like"

linalg = SimpleNamespace()
"""The extension of linear algebra; decompositions are NumPy's, called from the kernel."""

fft = SimpleNamespace()
"""The extension of Fourier transforms: NumPy's, called from the kernel."""


def _recorded(function: Any) -> Callable[..., Any]:
    """Return a function of NumPy's that is recorded of arrays and of numbers alone, too.

    A number beside an array remains one: it takes the array's dtype.
    """

    def call(*arguments: Any, **keywords: Any) -> Any:
        if not [x for x in arguments if isinstance(x, Traced)]:  # `any` is the standard's here
            arrays = [place for place, x in enumerate(arguments) if isinstance(x, np.ndarray)]
            place = arrays[0] if arrays else 0
            first = as_traced(arguments[place])
            arguments = (*arguments[:place], first, *arguments[place + 1 :])
        return function(*arguments, **keywords)

    call.__name__ = function.__name__
    call.__doc__ = f"`numpy.{function.__name__}`."
    if not isinstance(function, np.ufunc):  # which have no signature before NumPy 2.4
        call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return call


def _with_device(function: Callable[..., Traced]) -> Callable[..., Traced]:
    """Return a function that makes an array, with `device=` beside its own parameters."""

    def make(*arguments: Any, device: Any = None, **keywords: Any) -> Traced:
        _check_device(device)
        return function(*arguments, **keywords)

    own = inspect.signature(function)
    device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)
    make.__name__, make.__doc__ = function.__name__, function.__doc__
    make.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[*own.parameters.values(), device]
    )
    return make


def _check_device(device: Any) -> None:
    if device not in (None, "cpu"):
        raise ArgumentError(
            f"an array on device={device!r}", where=caller_location(), expected="None or 'cpu'"
        )


for _name in (_ONE + " " + _TWO + " " + _SHAPED).split():
    globals()[_name] = _recorded(getattr(np, _name))
for _name in _LISTS.split():
    globals()[_name] = getattr(np, _name)
for _name in _LINALG.split():
    setattr(linalg, _name, _recorded(getattr(np.linalg, _name)))
for _name in _FFT.split():
    setattr(fft, _name, _recorded(getattr(np.fft, _name)))
for _name in ("matmul", "matrix_transpose", "tensordot", "vecdot"):
    setattr(linalg, _name, globals()[_name])

for _name in _MADE.split():
    globals()[_name] = _with_device(getattr(creation, _name))
empty, empty_like = globals()["zeros"], globals()["zeros_like"]


def broadcast_arrays(*arrays: Any) -> list[Traced]:
    """Return the arrays, in their common shape."""
    return list(xp.broadcast_arrays(*map(as_traced, arrays)))


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Traced]:
    """Return the coordinates of a grid."""
    return list(xp.meshgrid(*map(as_traced, arrays), indexing=indexing))


def clip(x: Any, /, min: Any = None, max: Any = None) -> Traced:
    """Return the elements, at least `min` and at most `max`."""
    return xp.clip(as_traced(x), min, max)


def _frequencies(
    function: Any, n: Any, /, *, d: Any = 1.0, dtype: Any = None, device: Any = None
) -> Traced:
    return asarray(function(n, d), dtype=dtype, device=device)


fft.fftfreq = functools.partial(_frequencies, np.fft.fftfreq)
fft.rfftfreq = functools.partial(_frequencies, np.fft.rfftfreq)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Traced:
    """Return a traced value of an array, a number, or a list of these."""
    _check_device(device)
    return as_traced(obj) if dtype is None else cast_to(obj, dtype)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Traced:
    """Return a traced value of an array of another library."""
    return x if isinstance(x, Traced) else as_traced(np.from_dlpack(x))


def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Traced:
    """Return the elements cast."""
    return cast_to(x, dtype)


def can_cast(from_: Any, to: Any, /) -> Any:
    """Return whether a dtype, or that of a value, can be cast to another."""
    return np.can_cast(getattr(from_, "dtype", from_), as_dtype(to))


def sort(x: Any, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> Traced:
    """Return a value in order along an axis."""
    return sorting.ordered(as_traced(x), axis, stable, descending)


def argsort(x: Any, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> Traced:
    """Return the places of the elements along an axis, in their order."""
    return sorting.order_of(as_traced(x), axis, descending)


def namespace() -> ModuleType:
    """Return this module, for `x.__array_namespace__()`."""
    return sys.modules[__name__]


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    raise UnrecordedAttributeError(
        f"the namespace of traced values has no {name!r}",
        where=caller_location(),
        hint="compute it outside the function, or write it with its functions: "
        + ", ".join(sorted((_ONE + " " + _TWO + " " + _SHAPED).split())[:8])
        + ", ...",
    )
