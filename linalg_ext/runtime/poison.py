"""New memory filled with a pattern: LINALG_EXT_POISON=1, to find reads of unwritten memory.

    results              `empty`, in the place of numpy.empty; the native caller's own way
    buffers of kernels   compiled code fills each as it gets it, on the heap and on the stack

A float that was never written is a NaN then, and an integer one of a few strange ones. The variable
is read once. Where it is not set, nothing of this is compiled or called.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError

ENVIRONMENT = "LINALG_EXT_POISON"

PATTERN = 0x7FF4_7FF4_7FF4_7FF4
"""Eight bytes of it: a signalling NaN as an f64, a NaN as an f32, an f16 and a bf16."""

VARIABLE = "lx_poison_1"
"""The variable of compiled code that holds the pattern, for who wants to compare two."""


def _is_requested() -> bool:
    text = os.environ.get(ENVIRONMENT, "").strip()
    if text not in ("", "0", "1"):
        raise ArgumentError(f"{ENVIRONMENT} is {text!r}", expected="1, or nothing")
    return text == "1"


ON = _is_requested()
"""True where new memory is filled."""


def filled(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A new array, filled with the pattern from its first byte on; it has no gaps."""
    if not array.dtype.hasobject and array.nbytes:
        flat = array.reshape(-1).view(np.uint8)
        pattern = np.frombuffer(PATTERN.to_bytes(8, "little"), np.uint8)
        flat[:] = np.resize(pattern, flat.size)
    return array


def _poisoned(shape: Any, dtype: Any = float) -> np.ndarray[Any, Any]:
    return filled(np.empty(shape, dtype))


empty: Callable[..., np.ndarray[Any, Any]] = _poisoned if ON else np.empty
"""A new array in row-major order, of undefined content."""
