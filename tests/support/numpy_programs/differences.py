"""Where `jit` may differ from NumPy: the table of `docs/numbers.md`, and when each row holds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from numpy_programs.arrays import Array, is_float

Allowed = Callable[[Any, list[Any], Array, Array, Callable[[Callable[[Any], Any]], Any]], Any]
"""A function of a step, its operands, both results, and NumPy on operands that are changed."""


_OF_PRODUCTS = (
    *("dot", "matmul", "matvec", "vecmat", "inner", "einsum", "convolve", "correlate"),
    *("polymul", "polyval", "multi_dot", "matrix_power"),
)
"""Functions that add up products."""


def is_elementwise(step: Any) -> bool:
    """Tell whether each element of a result is of one of each operand."""
    is_sum = step.name.endswith((".reduce", ".accumulate", *_OF_PRODUCTS, "matmul__"))
    return step.kind in ("ufunc", "operator", "in place") and not is_sum


def _everywhere(array: Array) -> Array:
    return np.ones(array.shape, bool)


def _nowhere(array: Array) -> Array:
    return np.zeros(array.shape, bool)


def _is_narrow(value: Any) -> bool:
    dtype = value if isinstance(value, np.dtype) else np.asarray(value).dtype
    return is_float(dtype) and dtype.itemsize < 4


def _casts(step: Any, operands: list[Any], found: Array, expected: Array, again: Any) -> Any:
    """Floats that are cast to integers, where one is beyond the range or NaN."""
    if expected.dtype.kind not in "iu":
        return _nowhere(found)
    info = np.iinfo(expected.dtype)

    def is_beyond(value: Any) -> bool:
        array = np.asarray(value)
        if array.dtype.kind == "c":
            array = array.real
        if not is_float(array.dtype):
            return False
        wide = np.trunc(array.astype(np.float64))
        return bool((~((wide >= info.min) & (wide <= info.max))).any())

    if step.name == "histogram":  # NumPy adds integer weights as float64
        return (expected == info.min) | (np.abs(expected.astype(np.float64)) >= 2.0**53)
    is_rounded = step.name in ("round", "around")
    if is_rounded or any(map(is_beyond, operands)) or step.keywords.get("dtype") is not None:
        return _everywhere(found)
    return _nowhere(found)


def _reciprocals(step: Any, operands: list[Any], found: Array, expected: Array, _: Any) -> Any:
    if step.name != "reciprocal" or expected.dtype.kind not in "iu":
        return _nowhere(found)
    return np.asarray(operands[0]) == 0


def _narrow_floats(
    step: Any, operands: list[Any], found: Array, expected: Array, again: Any
) -> Array:
    """Results of f16 and bf16 that are those of float32, rounded once."""
    return _as_widened(found, again, lambda value: value)


def _subnormals(step: Any, operands: list[Any], found: Array, expected: Array, again: Any) -> Array:
    """Sums of products of bf16 in which numbers below the least normal one are zeros."""

    def flushed(value: Any) -> Any:
        if np.asarray(value).dtype != ml_dtypes.bfloat16:
            return value
        least = ml_dtypes.finfo(ml_dtypes.bfloat16).smallest_normal
        return np.where(np.abs(value) < least, np.zeros_like(value), value)

    is_sum = step.name.endswith(_OF_PRODUCTS) and found.dtype == ml_dtypes.bfloat16
    return _as_widened(found, again, flushed) if is_sum else _nowhere(found)


def _as_widened(found: Array, again: Any, change: Callable[[Any], Any]) -> Array:
    """Tell where narrow results are those of float32 on changed operands, rounded once."""
    if not _is_narrow(found):
        return _nowhere(found)

    def widened(value: Any) -> Any:
        if not _is_narrow(value):
            return value
        wide = np.dtype(np.float32)
        return wide if isinstance(value, np.dtype) else np.asarray(change(value), wide)

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wide = np.asarray(again(widened))
        if wide.shape != found.shape:
            return _nowhere(found)
        exact = wide.astype(found.dtype)
        near = np.nextafter(exact, found), np.nextafter(exact, exact)
        is_near = (near[0] == found) | (exact == found)
        return np.asarray(is_near | (np.isnan(exact) & np.isnan(found)))


def is_unknown_to_numpy(step: Any, operands: list[Any]) -> bool:
    """Tell whether a step is of bfloat16, which NumPy does not take for a float there."""
    has = any(np.asarray(each).dtype == ml_dtypes.bfloat16 for each in operands)
    names = ["matmul", "matvec", "vecmat", "vecdot", "clip", "norm", "nan_to_num"]
    names += ["dot", "inner", "gradient", "einsum", "nanmedian", "isin"]
    # A scalar of it times a number is a float32.
    is_scalar = step.name == "angle" and np.ndim(operands[0]) == 0
    return has and (is_scalar or any(name in step.name for name in names))


def _bfloat16(step: Any, operands: list[Any], found: Array, expected: Array, _: Any) -> Any:
    return _everywhere(found) if is_unknown_to_numpy(step, operands) else _nowhere(found)


def _empty_like(step: Any, operands: list[Any], found: Array, expected: Array, _: Any) -> Any:
    is_unread = step.name == "unpackbits" and np.size(operands[0]) == 0
    return found == 0 if step.name == "empty_like" or is_unread else _nowhere(found)


def _ties(step: Any, operands: list[Any], found: Array, expected: Array, _: Any) -> Any:
    """Places of elements that are equal, in another order."""
    if step.name != "argsort" or step.keywords.get("kind") == "stable":
        return _nowhere(found)
    value = np.asarray(operands[0])
    axis = step.keywords.get("axis", -1)
    if axis is None:
        value, axis = value.reshape(-1), 0
    one, other = (np.take_along_axis(value, places, axis) for places in (found, expected))
    return (one == other) | (np.isnan(one.astype(complex)) & np.isnan(other.astype(complex)))


def _partitions(step: Any, operands: list[Any], found: Array, expected: Array, _: Any) -> Any:
    return _everywhere(found) if step.name in ("partition", "argpartition") else _nowhere(found)


def _zeros(step: Any, operands: list[Any], found: Array, expected: Array, _: Any) -> Any:
    """The order of 0.0 and -0.0."""
    names = ("max", "min", "clip", "sort", "median", "quantile", "percentile", "partition", "ptp")
    if not any(each in step.name for each in names):
        return _nowhere(found)
    return (found == 0) & (expected == 0)


def _products(step: Any, operands: list[Any], found: Array, expected: Array, _: Any) -> Any:
    """Zeros of products that are added to 0 or are not, which takes the sign of -0.0."""
    factors = [np.size(each) for each in operands]
    is_lone = step.name.endswith(("dot", "inner")) and np.prod(factors) == expected.size
    is_zero = (found == 0) & (expected == 0)
    return is_zero if is_lone or step.name == "einsum" else _nowhere(found)


def _underflow(step: Any, operands: list[Any], found: Array, expected: Array, _: Any) -> Any:
    """Zeros of sums of products that are below the least number."""
    if not step.name.endswith(_OF_PRODUCTS) or found.dtype.kind in "iub":
        return _nowhere(found)
    least = 1.0
    for each in operands:
        sizes = np.abs(np.asarray(each).astype(complex))
        least *= sizes[sizes > 0].min(initial=1)
    is_below = least < float(ml_dtypes.finfo(found.real.dtype).tiny)
    return (found == 0) & (expected == 0) if is_below else _nowhere(found)


def _roots(step: Any, operands: list[Any], found: Array, expected: Array, _: Any) -> Any:
    """Powers to 0.5 where the exponent is a number that the run alone knows."""
    is_power = step.name.partition(".")[0].strip("_") in ("power", "pow", "ipow", "rpow")
    if not is_power or not any(np.ndim(x) == 0 and x == 0.5 for x in operands):
        return _nowhere(found)
    return ((found == 0) & (expected == 0)) | (np.isinf(found) & np.isnan(expected))


def _unsorted(step: Any, operands: list[Any], found: Array, expected: Array, _: Any) -> Any:
    """Places that are looked up among places that are in no order."""
    if step.name not in ("interp", "searchsorted", "digitize"):
        return _nowhere(found)
    rows = [np.asarray(each) for each in operands if np.ndim(each) == 1]
    is_lost = any(bool((~(np.diff(row.astype(float)) >= 0)).any()) for row in rows)
    return _everywhere(found) if is_lost else _nowhere(found)


def _overflow(step: Any, operands: list[Any], found: Array, expected: Array, _: Any) -> Any:
    """Sums and complex products whose parts are not finite numbers, or are too large."""
    dtype = found.real.dtype
    if not is_float(dtype):
        return _nowhere(found)
    is_narrow = dtype.itemsize < 4  # computed as float32
    large = np.sqrt(float(ml_dtypes.finfo(np.float32 if is_narrow else dtype).max)) / 1e3

    def is_large(value: Any) -> bool:
        array = np.asarray(value)
        if array.dtype.kind not in "fciu" and not is_float(array.dtype):
            return False
        parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
        return any(bool((~(np.abs(part.astype(np.float64)) < large)).any()) for part in parts)

    is_lost = ~(np.isfinite(found) & np.isfinite(expected))
    if is_elementwise(step) and found.dtype.kind != "c":
        return _nowhere(found)
    # Complex covariances of few values are multiplied by infinity, zeros and roundings alike.
    is_far = "prod" in step.name or (step.name == "cov" and found.dtype.kind == "c")
    return is_lost if is_far or any(map(is_large, operands)) else _nowhere(found)


def _no_value(step: Any, operands: list[Any], found: Array, expected: Array, _: Any) -> Any:
    """No value differs, but an error, a dtype or a shape: see `allowed_error`, `allowed_kind`."""
    return _nowhere(found)


def allowed_error(step: Any, operands: list[Any], error: Exception) -> str | None:
    """Return the row that allows an answer where NumPy raises."""
    text = str(error)
    if type(error).__name__ == "DTypePromotionError" and "bfloat16" in text:
        return "bfloat16"
    has_narrow = any(getattr(each, "dtype", None) == ml_dtypes.bfloat16 for each in operands)
    of_dtype = step.keywords.get("dtype") == ml_dtypes.bfloat16
    if (has_narrow or of_dtype) and ("must be inexact" in text or "for einsum" in text):
        return "bfloat16"
    by_values = {
        "nanargmax": ("All-NaN slice",),
        "nanargmin": ("All-NaN slice",),
        "histogram": ("Too many bins", "out of bounds"),
        "average": ("division by zero",),
        **dict.fromkeys(("quantile", "percentile"), ("reshape array of size 0",)),
    }
    is_by_values = any(said in text for said in by_values.get(step.name, ()))
    return "errors by values" if is_by_values else None


def allowed_kind(step: Any, operands: list[Any], found: Array, expected: Array) -> str | None:
    """The row that allows another dtype or another shape."""
    if found.shape == expected.shape and is_unknown_to_numpy(step, operands):
        return "bfloat16"
    is_complex = step.name in ("linalg.eig", "linalg.eigvals") and found.dtype.kind == "c"
    if is_complex and np.allclose(found, expected, equal_nan=True):
        return "eigenvalues"
    is_quantile = step.name.endswith(("quantile", "percentile"))
    if is_quantile and step.name.startswith("nan") and found.size == expected.size == 0:
        return "quantiles of NaN"
    if is_quantile and found.shape == expected.shape == () and np.isnan(found) & np.isnan(expected):
        return "quantiles of NaN"
    if step.name == "polymul" and found.dtype == expected.dtype:
        leading = found.size - expected.size
        if (
            leading > 0
            and not found[:leading].any()
            # A zero that is kept is a factor of infinities, too.
            and (
                np.isclose(found[leading:].astype(complex), expected.astype(complex))
                | ~np.isfinite(found[leading:])
            ).all()
        ):
            return "leading zeros"
    return None


def _twins(step: Any, operands: list[Any], found: Array, expected: Array, _: Any) -> Any:
    """Integers that are another one of theirs once they are floats, as those they are sought in."""
    if step.name != "isin":
        return _nowhere(found)
    own = np.asarray(operands[0])
    distinct = np.unique(own)
    rounded = distinct.astype(np.result_type(own, np.asarray(operands[1])))
    _, groups, counts = np.unique(rounded, return_inverse=True, return_counts=True)
    return np.isin(own, distinct[counts[groups] > 1])


ALLOWED: Mapping[str, Allowed] = {
    "casts": _casts,
    "reciprocals": _reciprocals,
    "narrow floats": _narrow_floats,
    "subnormals": _subnormals,
    "bfloat16": _bfloat16,
    "empty_like": _empty_like,
    "ties": _ties,
    "partitions": _partitions,
    "zeros": _zeros,
    "products": _products,
    "underflow": _underflow,
    "roots": _roots,
    "unsorted": _unsorted,
    "twins": _twins,
    "overflow": _overflow,
    "errors by values": _no_value,
    "eigenvalues": _no_value,
    "quantiles of NaN": _no_value,
    "leading zeros": _no_value,
}
"""For each row of the table, by its name: where it holds."""
