"""Random shapes, strides and dtypes through ops on arrays, against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import linalg_ext as lx

Array = np.ndarray[Any, Any]

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
DTYPES = [np.dtype(kind) for kind in (*INTEGERS, *FLOATS)]

# Every example compiles a kernel: few examples, each with much variety, and no deadline.
RUN = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def arrays(draw: st.DrawFn, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array of small whole numbers, laid out in some way."""
    seed = draw(st.integers(0, 2**32 - 1))
    low = 0 if dtype.kind == "u" else -6
    values = np.random.default_rng(seed).integers(low, 7, shape).astype(dtype)
    layout = draw(st.sampled_from(["c", "f", "reversed", "strided", "offset"]))
    if layout == "f":
        return np.asfortranarray(values)
    if layout == "reversed" and shape:
        return np.ascontiguousarray(values[::-1])[::-1]
    if layout == "strided" and shape:
        room = np.zeros((*shape[:-1], 2 * shape[-1] + 1), dtype)
        room[..., 1::2][..., : shape[-1]] = values
        return room[..., 1::2][..., : shape[-1]]
    if layout == "offset":
        room = np.zeros(values.size + 3, dtype)
        room[3:] = values.ravel()
        return room[3:].reshape(shape)
    return values


sizes = st.integers(0, 6)
dtypes = st.sampled_from(DTYPES)


@RUN
@given(st.data())
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add", np.add),
        ("sub", np.subtract),
        ("mul", np.multiply),
        ("max", np.maximum),
        ("min", np.minimum),
    ],
)
def test_elementwise(name: str, expected: Any, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(sizes, max_size=5)))
    dtype = data.draw(dtypes)
    a, b = data.draw(arrays(shape, dtype)), data.draw(arrays(shape, dtype))
    result = getattr(lx.ops, name)(a, b)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, expected(a, b), strict=True)


@RUN
@given(st.data())
@pytest.mark.parametrize(("name", "expected"), [("row_sum", np.sum), ("row_max", np.max)])
def test_reduction(name: str, expected: Any, data: st.DataObject) -> None:
    shape = (data.draw(sizes), data.draw(st.integers(1, 6)))
    dtype = data.draw(dtypes)
    a = data.draw(arrays(shape, dtype))
    result = getattr(lx.ops, name)(a)
    np.testing.assert_array_equal(result, expected(a.astype(np.float64), axis=1).astype(dtype))


@RUN
@given(st.data())
def test_contraction(data: st.DataObject) -> None:
    m, n, k = (data.draw(sizes) for _ in range(3))
    left, right = data.draw(dtypes), data.draw(dtypes)
    a, b = data.draw(arrays((m, k), left)), data.draw(arrays((k, n), right))
    wide = a.astype(np.float64) @ b.astype(np.float64)
    result = lx.ops.matmul(a, b, dtype=np.float64)
    np.testing.assert_array_equal(result, wide, strict=True)
    out = data.draw(arrays((m, n), np.dtype(np.float32)))
    if out.flags.writeable:
        lx.ops.matmul(a, b, out=out)
        np.testing.assert_array_equal(out, wide.astype(np.float32))


@RUN
@given(st.data())
def test_convolution(data: st.DataObject) -> None:
    stride, dilation, kernel = (data.draw(st.integers(1, 3)) for _ in range(3))
    length = data.draw(st.integers((kernel - 1) * dilation + 1, 14))
    channels, filters = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    dtype = data.draw(st.sampled_from([np.dtype(np.float32), np.dtype(np.int32)]))
    x = data.draw(arrays((2, length, channels), dtype))
    w = data.draw(arrays((kernel, channels, filters), dtype))
    result = lx.ops.conv_1d_nwc_wcf(x, w, strides=stride, dilations=dilation)
    windows = np.lib.stride_tricks.sliding_window_view(x, (kernel - 1) * dilation + 1, axis=1)
    picked = windows[:, ::stride, :, ::dilation]
    np.testing.assert_array_equal(result, np.einsum("nock,kcf->nof", picked, w).astype(dtype))
