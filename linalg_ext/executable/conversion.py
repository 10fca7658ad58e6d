"""Python's own numbers, and lists of them, in the dtype that a parameter has.

Python's numbers have no dtype, so the parameter's is taken if its kind can hold them. A bool goes
anywhere, an int to integers wide enough and to floats, a float to floats, a complex to complex. A
value with a dtype of its own must have the right one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.errors import (
    ArgumentError,
    DTypeError,
    LinalgExtError,
    ShapeError,
    caller_location,
)
from linalg_ext.executable.argument import Argument, Array
from linalg_ext.runtime.dlpack import from_dlpack, is_exported
from linalg_ext.runtime.dtypes import DType, ElementType, by_dtype, integer_range
from linalg_ext.utils.hooks import is_dask

PYTHON_NUMBERS = (bool, int, float, complex)

_ACCEPTED = {
    "bool": "b",
    "integer": "bui",
    "index": "bui",
    "float": "buif",
    "complex": "buifc",
}
_PYTHON_NAMES = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}


def is_python_number(value: Any) -> bool:
    """Return whether this is one of Python's own numbers: it takes the dtype of what it meets."""
    return isinstance(value, PYTHON_NUMBERS) and not isinstance(value, np.generic)


def from_python(value: Any, element: ElementType, argument: Argument) -> Array:
    """An array of `element` holding the Python number, or the (nested) list of them, `value`.

    Raises:
        ShapeError: a ragged list.
        DTypeError: numbers that the element type cannot hold.
    """
    if isinstance(value, int) and not isinstance(value, bool) and element.kind != "bool":
        return _from_int(value, element, argument)
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError) as error:
        what = f"got a {type(value).__name__} that makes no array: {error}"
        raise argument.error(ShapeError, what) from None
    if array.size == 0:
        return array.astype(element.dtype)
    kind = array.dtype.kind
    if kind not in _ACCEPTED[element.kind]:
        shown = f"a Python {_PYTHON_NAMES[kind]}" if kind in _PYTHON_NAMES else _other(array)
        raise argument.error(
            DTypeError,
            f"got {shown}" + (" in a list" if isinstance(value, list | tuple) else ""),
            expected=" or ".join(str(dtype) for dtype in element.dtypes),
            hint=f"convert it first, with numpy.asarray(value).astype({str(element.dtype)!r})",
        )
    if element.kind in ("integer", "index") and kind != "b":
        low, high = int(array.min()), int(array.max())
        return array.astype(_wide_enough(low, high, element, argument))
    with np.errstate(over="ignore"):
        return array.astype(element.dtype)


def as_array(value: Any, name: str) -> Array:
    """An array of whatever makes one, with an element type that MLIR knows.

    Args:
        value: an array, a number, a (nested) list of numbers.
        name: its name in errors.

    Raises:
        DTypeError: the dtype has no element type.
        ArgumentError: a masked array, one on a device, or no array at all.
    """
    # To ask of every array would load numpy.ma, which takes longer than most calls.
    if type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            f"{name} is a masked array, and compiled code knows no mask",
            where=caller_location(),
            hint="fill it first: array.filled(value)",
        )
    if is_dask(value):
        raise ArgumentError(
            f"{name} is a dask array, and its elements are wanted here",
            where=caller_location(),
            hint="compute it first: x.compute()",
        )
    try:
        array = from_dlpack(value, name) if is_exported(value) else np.asarray(value)
    except LinalgExtError:
        raise
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"{name} is a {type(value).__name__}, which makes no array",
            where=caller_location(),
            notes=[str(error)],
        ) from None
    if not isinstance(value, np.ndarray) and array.dtype.kind in "OSU":
        raise DTypeError(
            f"{name} is {_shown(value)}",
            where=caller_location(),
            expected="an array of numbers",
        )
    try:
        by_dtype(array.dtype)
    except DTypeError as error:
        raise DTypeError(
            f"{name}: {error.what}",
            where=caller_location(),
            expected=error.expected,
            hint=error.hint,
        ) from None
    return array


def of_buffer(value: Any) -> Array | None:
    """The memory of an object with the buffer protocol; None of any other object."""
    try:
        return np.asarray(memoryview(value))
    except (TypeError, ValueError):
        return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"a {type(value).__name__}"


def _from_int(value: int, element: ElementType, argument: Argument) -> Array:
    if element.kind in ("integer", "index"):
        return np.array(value, _wide_enough(value, value, element, argument))
    try:
        number = float(value)
    except OverflowError:
        number = float("inf") if value > 0 else float("-inf")
    with np.errstate(over="ignore"):
        return np.array(number).astype(element.dtype)


def _other(array: Array) -> str:
    return "other objects than numbers" if array.dtype.kind == "O" else f"{array.dtype} values"


def _wide_enough(low: int, high: int, element: ElementType, argument: Argument) -> DType:
    for dtype in element.dtypes:
        least, most = integer_range(dtype)
        if least <= low and high <= most:
            return dtype
    ranges = [
        f"{dtype} ({least} to {most})"
        for dtype in element.dtypes
        for least, most in [integer_range(dtype)]
    ]
    raise argument.error(
        DTypeError,
        f"got the integer {high}, which it cannot hold"
        if low == high
        else f"got integers from {low} to {high}, which it cannot hold",
        expected=" or ".join(ranges),
    )
