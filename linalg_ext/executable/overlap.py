"""Checks for memory that arrays share, with one another or within themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

_MAX_WORK: Any = 100_000  # NumPy's stub knows the two special values only


def share_memory(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Return whether one byte at least belongs to both. Two interleaved views share none.

    The exact answer can be hard to find; where it is, the answer is yes.
    """
    if not np.may_share_memory(one, other):
        return False
    try:
        return np.shares_memory(one, other, max_work=_MAX_WORK)
    except np.exceptions.TooHardError:
        return True


def overlaps_itself(array: np.ndarray[Any, Any]) -> bool:
    """Return whether two elements may share a byte, as in a broadcast array or a sliding window."""
    if array.size == 0:
        return False
    reach = array.itemsize
    axes = sorted(
        (abs(stride), size)
        for stride, size in zip(array.strides, array.shape, strict=True)
        if size > 1
    )
    for stride, size in axes:
        if stride < reach:
            return True
        reach += stride * (size - 1)
    return False
