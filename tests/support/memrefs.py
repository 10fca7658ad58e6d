"""Arrays as the memrefs that they lie in memory as."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

ELEMENTS = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "int8": "i8",
    "uint8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
}
"""MLIR's name of the elements of a dtype."""


def element_of(array: Array) -> str:
    """MLIR's name of the type of an array's elements."""
    return ELEMENTS[array.dtype.name]


def memref(array: Array, *, known: str = "all") -> str:
    """The type of an array.

    Args:
        array: what lies in memory.
        known: `all`; `unit` for unit strides alone; or `none`.
    """
    strides = [stride // array.itemsize for stride in array.strides]
    shape = [str(size) if known == "all" else "?" for size in array.shape]
    kept = {"all": strides, "unit": [1], "none": []}[known]
    layout = ", ".join(str(stride) if stride in kept else "?" for stride in strides)
    type_ = "x".join([*shape, element_of(array)])
    return f"memref<{type_}, strided<[{layout}], offset: ?>>"


def integers(*shape: int, dtype: str = "f4", seed: int = 0) -> Array:
    """Small whole numbers: sums of their products are exact, in whatever order."""
    random = np.random.default_rng([seed, *shape])
    return random.integers(-4, 5, shape).astype(dtype)
