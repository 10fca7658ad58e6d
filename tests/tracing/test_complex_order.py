"""Complex numbers in NumPy's order: by the real parts, then by the imaginary ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx

PARTS = np.array([1.0, -2.0, 0.0, np.inf, -np.inf, np.nan])
NUMBERS = np.stack([np.repeat(PARTS, 6), np.tile(PARTS, 6)], axis=-1).view(complex).reshape(6, 6)
SUMMED = np.isfinite(NUMBERS)


def _of_two(name: str) -> Callable[[Any, Any], Any]:
    return lambda x, y: getattr(np, name)(x, y)


def _of_rows(name: str) -> Callable[[Any, Any], Any]:
    return lambda x, _: getattr(np, name)(x, axis=1)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{name: _of_two(name) for name in ("less", "less_equal", "greater", "greater_equal")},
    **{name: _of_two(name) for name in ("maximum", "minimum", "fmax", "fmin")},
    **{
        name: _of_rows(name)
        for name in ("max", "min", "argmax", "argmin", "nanmax", "nanmin", "ptp")
    },
    "accumulate": lambda x, _: np.maximum.accumulate(x, axis=1),
    "where": lambda x, _: np.min(x, where=SUMMED, initial=1j),
    "clip": lambda x, _: np.clip(x, -1, 1 + 1j),
    "searchsorted": lambda x, y: np.searchsorted(np.sort(x.ravel()), y, "right"),
    "rint": lambda x, _: np.rint(x * 0.7),
    "round": lambda x, _: np.round(x * (1 / 3), 1),
}


@pytest.mark.filterwarnings("ignore:All-NaN slice")
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_like_numpy(name: str, dtype: Any) -> None:
    x, y = NUMBERS.astype(dtype), NUMBERS.T[::-1].astype(dtype)
    with np.errstate(invalid="ignore"):
        expected = FUNCTIONS[name](x, y)
    found = lx.jit(FUNCTIONS[name])(x, y)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.real, expected.real)
    np.testing.assert_array_equal(found.imag, expected.imag)
