"""A function under `jit` beside the same function in NumPy: one the oracle of the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import linalg_ext as lx

Array = np.ndarray[Any, Any]


def random(*shape: int, dtype: Any = np.float32, seed: int = 5) -> Array:
    """Normally distributed numbers, scaled to be of some size as integers."""
    values = np.random.default_rng(seed).standard_normal(shape)
    if np.dtype(dtype).kind in "iub":
        return (values * 50).astype(np.int64).astype(dtype)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * np.random.default_rng(seed + 1).standard_normal(shape)
    return values.astype(dtype)


def check(function: Callable[..., Any], *arguments: Any, rtol: float = 2e-5) -> None:
    """The function under `jit` gives what it gives in NumPy: values, dtypes and shapes."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = function(*arguments)
    agree(lx.jit(function)(*arguments), expected, rtol)


def agree(found: Any, expected: Any, rtol: float = 2e-5) -> None:
    """Two results, or tuples of them, are equal up to rounding, in dtype and shape as well."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            agree(one, other, rtol)
        return
    one, other = np.asarray(found), np.asarray(expected)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    wide = np.complex128 if other.dtype.kind == "c" else np.float64
    exact = other.dtype.kind in "iub"
    np.testing.assert_allclose(
        one.astype(wide), other.astype(wide), rtol=0 if exact else rtol, atol=0 if exact else rtol
    )
