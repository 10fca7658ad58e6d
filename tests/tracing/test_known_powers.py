"""Powers whose exponent is known to be a whole number and a half: roots and products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx

HALVES = [-3.5, -2.5, -1.5, -0.5, 1.5, 2.5, 3.5]
BITS: dict[str, Any] = {"f4": np.int32, "f8": np.int64}


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("exponent", HALVES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_of_every_kind(dtype: str, exponent: float) -> None:
    finite, info = np.finfo(dtype), np.iinfo(BITS[dtype])
    random = np.random.default_rng(0).integers(info.min, info.max, 1 << 16, BITS[dtype])
    odd = [0, 1, 2, np.inf, np.nan, finite.max, finite.tiny, finite.smallest_subnormal]
    x = np.concatenate([random.view(dtype), np.array(odd, dtype), -np.array(odd, dtype)])
    actual = lx.jit(lambda x: x**exponent)(x)
    exact = x.astype(np.longdouble) ** exponent
    expected = exact.astype(dtype)
    is_same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    units = np.abs(actual.astype(np.longdouble) - exact) / np.spacing(np.abs(expected))
    assert np.where(is_same, 0, units).max() <= 3
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual[is_number]), np.signbit(expected[is_number]))


def test_they_are_roots() -> None:
    x = np.ones(100, np.float32)
    for exponent, is_root in ((-0.5, True), (1.5, True), (4.5, False), (0.25, False)):
        text = lx.jit(lambda x: x**exponent).lower(x).as_text()  # noqa: B023
        assert ("math.sqrt" in text) == is_root
        assert ("math.powf" in text) != is_root


def test_narrow_floats_are_rounded_once() -> None:
    x = np.linspace(0.5, 100, 1000).astype(np.float16)
    actual = lx.jit(lambda x: x**1.5)(x)
    np.testing.assert_array_equal(actual, (x.astype(np.float64) ** 1.5).astype(np.float16))
