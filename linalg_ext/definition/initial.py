"""Initial values of outputs that accumulate: neutral elements, where a call gives none."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.functions import REDUCTIONS, Function
from linalg_ext.definition.model import Assignment
from linalg_ext.definition.scalar import Apply, Carried
from linalg_ext.errors import ArgumentError, DTypeError

_HINT = "give that: init= for arrays, outs= for IR values"


def initial_number(
    assignment: Assignment, attributes: CallAttributes, dtype: np.dtype[Any]
) -> complex:
    """The number that an output of a dtype starts from.

    Args:
        assignment: the assignment that writes the output; it reads the output's former value.
        attributes: the attributes of the call; one of them may choose the reduction.
        dtype: the output's, which says whether integers are unsigned.

    Raises:
        ArgumentError: it is not a reduction, or a fold that states no start.
        DTypeError: the reduction has no neutral element for the dtype.
    """
    reduction = assignment.reduction
    if reduction is None:
        raise ArgumentError(
            f"`{assignment}` reads {assignment.target.operand} as it was before the op", hint=_HINT
        )
    chosen = reduction.attribute
    start = attributes.functions[chosen] if chosen else reduction.function or reduction.initial
    if start is None:
        raise ArgumentError(
            f"`{assignment}` is a fold that states no start",
            hint=f"{_HINT}; or say fold[...](value, init=...)",
        )
    if not isinstance(start, Function):
        return start
    number: complex = neutral_element(start.name, dtype).item()
    return number


def recurrence_start(
    assignment: Assignment, attributes: CallAttributes, dtype: np.dtype[Any]
) -> complex:
    """The number that a recurrence reads before its first step.

    It is the neutral element where the recurrence is a reduction so far, `O[n - 1] + X[n]`; else 0.
    """
    value = assignment.value
    if isinstance(value, Apply):
        function = attributes.functions.get(value.attribute or "", value.function)
        is_carried = [isinstance(arg, Carried) for arg in value.args]
        elsewhere = [part for arg in value.args for part in arg.walk() if isinstance(part, Carried)]
        if function in REDUCTIONS and any(is_carried) and len(elsewhere) == 1:
            number: complex = neutral_element(function.name, dtype).item()
            return number
    return 0


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
        infinity = np.array(np.inf if largest else -np.inf).astype(dtype)
        if np.isinf(infinity.astype(np.float64)):
            return infinity[()]
        limits = ml_dtypes.finfo(dtype)
        return limits.max if largest else limits.min
    if unsigned and limits.min < 0:
        # Read as unsigned, the bits of -1 are the largest number.
        return dtype.type(-1 if largest else 0)
    return dtype.type(limits.max if largest else limits.min)
