"""Neutral elements: the initial values of accumulating ops where a caller gives none."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from linalg_ext.errors import DTypeError


def neutral_element(function: str, dtype: np.dtype[Any]) -> Any:
    """The value `e` with `function(e, x) == x` for every `x` of a dtype, as a NumPy scalar.

    Args:
        function: `add`, `mul`, `max_signed`, `min_signed`, `max_unsigned`, `min_unsigned`, `and`,
            `or` or `xor`.
        dtype: any NumPy or ml_dtypes dtype. For a maximum over floats it is minus infinity, or the
            lowest number of a format that has no infinity.

    Raises:
        DTypeError: the function has no neutral element for the dtype.
    """
    dtype = np.dtype(dtype)
    if function == "add":
        zero = dtype.type(0)
        if zero != 0:
            raise DTypeError(f"{dtype} has no zero to add to", hint="give init=")
        return zero
    if function == "mul":
        return dtype.type(1)
    if function in ("and", "or", "xor"):
        return _neutral_of_bits(function, dtype)
    if dtype.kind == "c" or function.partition("_")[0] not in ("max", "min"):
        raise DTypeError(f"{function} has no neutral element for {dtype}", hint="give init=")
    largest = function.startswith("min")
    if dtype == np.bool_:
        return dtype.type(largest)
    return _extreme(dtype, largest=largest, unsigned=function.endswith("_unsigned"))


def _neutral_of_bits(function: str, dtype: np.dtype[Any]) -> Any:
    if dtype == np.bool_:
        return dtype.type(function == "and")
    try:
        limits: Any = ml_dtypes.iinfo(dtype)
    except ValueError:
        raise DTypeError(f"{function} has no meaning for {dtype}") from None
    if function != "and":
        return dtype.type(0)
    return dtype.type(-1 if limits.min < 0 else limits.max)


def _extreme(dtype: np.dtype[Any], *, largest: bool, unsigned: bool) -> Any:
    try:
        limits: Any = ml_dtypes.iinfo(dtype)
    except ValueError:
        return _extreme_float(dtype, largest=largest)
    if unsigned and limits.min < 0:
        # Read as unsigned, the bits of -1 are the largest number.
        return dtype.type(-1 if largest else 0)
    return dtype.type(limits.max if largest else limits.min)


def _extreme_float(dtype: np.dtype[Any], *, largest: bool) -> Any:
    infinity = np.array(np.inf if largest else -np.inf).astype(dtype)
    if np.isinf(infinity.astype(np.float64)):
        return infinity[()]
    limits: Any = ml_dtypes.finfo(dtype)
    return limits.max if largest else limits.min
