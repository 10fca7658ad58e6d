"""The angle of the point (0, 0) has the sign of both zeros, constants or not."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("y", "x"), [(0.0, 0.0), (-0.0, 0.0), (0.0, -0.0), (-0.0, -0.0)])
def test_angles_of_zeros(dtype: Any, y: float, x: float) -> None:
    given = np.ones(3, dtype)
    found, constant = lx.jit(
        lambda one: (
            np.arctan2(one * dtype(y), one * dtype(x)),
            np.arctan2(np.full_like(one, y), np.full_like(one, x)),
        )
    )(given)
    expected = np.arctan2(given * dtype(y), given * dtype(x)).astype(float)
    for angle in (found, constant):
        np.testing.assert_allclose(angle.astype(float), expected, rtol=1e-2)
        np.testing.assert_array_equal(np.signbit(angle.astype(float)), np.signbit(expected))
