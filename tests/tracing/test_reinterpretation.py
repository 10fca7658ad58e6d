"""`x.view(dtype)` under jit: bits, widths, memory that is shared, and views that do not exist."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import LinalgExtError, ShapeError

NAMES = ("i1", "u2", "f2", "f4", "i4", "u8", "f8", "c8", "c16", ml_dtypes.bfloat16)


def bits(array: Any) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


@pytest.mark.parametrize(("old", "new"), [*product(NAMES, NAMES)])
def test_bits_are_those_of_numpy(old: Any, new: Any) -> None:
    raw = np.random.default_rng(1).integers(0, 256, 3 * 16 * np.dtype(old).itemsize)
    x = raw.astype(np.uint8).view(old).reshape(3, 16)
    result = lx.jit(lambda x: x.view(new))(x)
    expected = x.view(new)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(bits(result), bits(expected))


def test_booleans_are_bytes() -> None:
    x = np.array([True, False, True])
    np.testing.assert_array_equal(lx.jit(lambda x: x.view(np.uint8))(x), [1, 0, 1])
    y = np.array([2, 0, 1], np.uint8)
    np.testing.assert_array_equal(lx.jit(lambda y: y.view(bool))(y), [True, False, True])


@pytest.mark.parametrize("dtype", [np.int32, np.int16, np.complex64])
def test_a_view_that_is_written_writes_the_array(dtype: Any) -> None:
    def clear(x: Any) -> Any:
        x = x.copy()
        x.view(dtype)[:, 1] = 0
        return x

    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(lx.jit(clear)(x), clear(x))


def test_scalars_and_open_sizes() -> None:
    assert lx.jit(lambda x: x[0].view(np.int32))(np.ones(3, np.float32)) == 0x3F800000
    f = lx.jit(lambda x: x.view(np.int32), dynamic=True)
    for n in (3, 5):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_array_equal(f(x), x.view(np.int32))


@pytest.mark.parametrize(
    ("shape", "dtype"), [((), np.int16), ((), np.float64), ((2, 3), np.float64), ((3,), "c8")]
)
def test_views_that_do_not_exist_are_refused(shape: tuple[int, ...], dtype: Any) -> None:
    x = np.ones(shape, np.float32)
    with pytest.raises(ValueError, match=r"size|divisor"):
        x.view(dtype)
    with pytest.raises(ShapeError, match="has no view of"):
        lx.jit(lambda x: x.view(dtype))(x)


def test_a_dtype_that_cannot_be_traced_is_refused() -> None:
    with pytest.raises(LinalgExtError, match=r"datetime64"):
        lx.jit(lambda x: x.view("datetime64[s]"))(np.arange(3))
