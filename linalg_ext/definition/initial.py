"""Initial values of an accumulating output where a call gives none."""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.functions import REDUCTIONS, Function
from linalg_ext.definition.model import Assignment
from linalg_ext.definition.neutral import neutral_element
from linalg_ext.definition.scalar import Apply, Carried
from linalg_ext.errors import ArgumentError

_CURE = "give that: init= for arrays, outs= for IR values"


def initial_number(
    assignment: Assignment, attributes: CallAttributes, dtype: np.dtype[Any]
) -> complex:
    """The number that an output of a dtype starts from.

    Args:
        assignment: what is written to the output; it reads what was there before.
        attributes: the attributes of the call; one of them may choose the reduction.
        dtype: the output's, which says whether integers are unsigned.

    Raises:
        ArgumentError: it is no reduction, or a fold that states no start.
        DTypeError: the reduction has no neutral element for the dtype.
    """
    reduction = assignment.reduction
    if reduction is None:
        raise ArgumentError(
            f"`{assignment}` reads what {assignment.target.operand} was before the op", hint=_CURE
        )
    chosen = reduction.attribute
    start = attributes.functions[chosen] if chosen else reduction.function or reduction.initial
    if start is None:
        raise ArgumentError(
            f"`{assignment}` is a fold that states no start",
            hint=f"{_CURE}; or say fold[...](value, init=...)",
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
