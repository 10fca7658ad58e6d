"""The functions of scalar expressions in NumPy, for the oracle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from linalg_ext.definition.functions import Function
from linalg_ext.errors import DTypeError

Array = np.ndarray[Any, np.dtype[Any]]


def apply_function(function: Function, args: Sequence[Array]) -> Array:
    """A function of arrays, in their dtype; a predicate gives booleans."""
    with np.errstate(all="ignore"):
        result = np.asarray(NUMPY_FUNCTIONS[function.name](*args))
    if function.is_predicate or (function.name == "abs" and args[0].dtype.kind == "c"):
        return result
    return result.astype(args[-1].dtype)


def cast_values(value: Array, dtype: np.dtype[Any], function: str) -> Array:
    """An array cast as `cast_signed` or `cast_unsigned` says."""
    if function == "cast_unsigned":
        value = _as_unsigned(value)
    with np.errstate(all="ignore"):
        if value.dtype.name in ("int4", "uint4"):
            # The two do not know one another.
            value = value.astype(np.int16)
        return value.astype(dtype)


def _as_unsigned(value: Array) -> Array:
    if value.dtype.name == "int4":
        # Calls of kernels that are kept do not wait for the package.
        from ml_dtypes import uint4

        return (value.astype(np.int16) % 16).astype(uint4)
    return value.view(f"u{value.dtype.itemsize}") if value.dtype.kind == "i" else value


def _unsigned(operation: Any) -> Any:
    def apply(x: Array, y: Array) -> Array:
        if x.dtype.kind in "fc" or "float" in x.dtype.name:
            raise DTypeError(
                f"a function of unsigned integers has no meaning for {x.dtype}",
                hint="use the signed one, max_signed for max_unsigned, or cast to integers",
            )
        return np.asarray(operation(_as_unsigned(x), _as_unsigned(y))).view(x.dtype)

    return apply


def _divide(x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iub":
        return np.asarray(x / y)
    # Towards zero, as compiled code divides; NumPy's rounds down. Both give 0 for x / 0.
    inexact = (x % y != 0) & ((x < 0) != (y < 0))
    return np.asarray(x // y + inexact)


def _round(x: Array) -> Array:
    whole = np.trunc(x)
    return np.asarray(whole + np.copysign(np.abs(x - whole) >= 0.5, x))


def _elementwise(function: Any) -> Any:
    """A function of Python's math module, which NumPy lacks."""
    over_doubles = np.vectorize(function, otypes=[np.float64])
    return lambda x: over_doubles(x.astype(np.float64))


def _angle(y: Array, x: Array) -> Array:
    if y.dtype.kind == "c":  # of which NumPy has none
        return np.asarray(-1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))).astype(y.dtype)
    return np.asarray(np.arctan2(y, x))


_NAMES_OF_NUMPY = (
    "exp log abs ceil floor sqrt tanh sin cos tan asin acos atan sinh cosh asinh acosh atanh exp2 "
    "expm1 log2 log10 log1p cbrt trunc conj copysign"
)
"""Functions that have one name here and in NumPy."""

NUMPY_FUNCTIONS: dict[str, Any] = {
    **{name: getattr(np, name) for name in _NAMES_OF_NUMPY.split()},
    "negf": np.negative,
    "reciprocal": lambda x: 1 / x,
    "round": _round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "square": lambda x: x * x,
    "erf": _elementwise(math.erf),
    "erfc": _elementwise(math.erfc),
    "roundeven": np.rint,
    "not": np.invert,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _divide,
    "div_unsigned": _unsigned(_divide),
    "rem": np.fmod,
    "max_signed": np.maximum,
    "min_signed": np.minimum,
    "max_unsigned": _unsigned(np.maximum),
    "min_unsigned": _unsigned(np.minimum),
    "powf": np.power,
    "atan2": _angle,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "select": lambda condition, x, y: np.where(condition.astype(bool), x, y),
    "clamp": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "fma": lambda x, y, z: x * y + z,
}
