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

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{ufunc.__name__: ufunc for ufunc in (np.less, np.less_equal, np.greater, np.greater_equal)},
    **{ufunc.__name__: ufunc for ufunc in (np.maximum, np.minimum, np.fmax, np.fmin)},
    "max": lambda x, _: (np.max(x, axis=1), np.min(x, axis=1), np.ptp(x, axis=1)),
    "argmax": lambda x, _: (np.argmax(x, axis=1), np.argmin(x, axis=1)),
    "nanmax": lambda x, _: (np.nanmax(x, axis=1), np.nanmin(x, axis=1)),
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
    pairs = (
        [(found, expected)] if isinstance(found, np.ndarray) else zip(found, expected, strict=True)
    )
    for one, other in pairs:
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.real, other.real)
        np.testing.assert_array_equal(one.imag, other.imag)
