"""Ops of the library called on arrays: what they make of NaN, of infinities, of no `out`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, DTypeError, ShapeError

nan, inf = np.nan, np.inf


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8])
def test_the_first_of_equals_is_the_place(dtype: Any) -> None:
    a = np.array([[3, 7, 7], [0, 0, 0], [200, 9, 1]]).astype(dtype)
    for name, function in (("argmax", np.argmax), ("argmin", np.argmin)):
        values, places = getattr(lx.ops, f"row_{name}")(a)
        np.testing.assert_array_equal(places, function(a, axis=1))
        np.testing.assert_array_equal(values, getattr(a, name[3:])(1))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_first_nan_is_the_place(name: str) -> None:
    a = np.array([[1, nan, 5, nan], [nan, 1, 2, 3], [inf, -inf, inf, -inf], [1, 2, 3, nan]])
    values, places = getattr(lx.ops, f"column_{name}")(a.T)
    np.testing.assert_array_equal(places, getattr(np, name)(a, axis=1))
    np.testing.assert_array_equal(values, getattr(np, name[3:])(a, axis=1))
    lowest = np.full((2, 3), -inf if name == "argmax" else inf)
    assert getattr(lx.ops, f"row_{name}")(lowest)[1].tolist() == [0, 0]


def test_predicates_of_special_numbers() -> None:
    x = np.array([0.0, -0.0, 1e308, -inf, inf, nan, -nan])
    for name in ("isnan", "isinf", "isfinite"):
        np.testing.assert_array_equal(getattr(lx.ops, name)(x), getattr(np, name)(x))
    np.testing.assert_array_equal(lx.ops.sign(x), np.sign(x))
    np.testing.assert_array_equal(lx.ops.heaviside(x, 0.5), np.heaviside(x, 0.5))
    np.testing.assert_array_equal(lx.ops.logical_not(x), np.logical_not(x))
    assert not np.isnan(lx.ops.replace_nan(x, 7.0)).any()
    y = np.roll(x, 1)
    close = lx.ops.isclose(x, y, 1e-5, 1e-8)
    np.testing.assert_array_equal(close, np.isclose(x, y))
    np.testing.assert_array_equal(lx.ops.isclose(x, x, 1e-5, 1e-8), np.isclose(x, x))


def test_no_overflow_on_the_way() -> None:
    big = np.array([1e300, 3e300, 0.0, inf])
    np.testing.assert_allclose(
        lx.ops.hypot(big, big[[0, 0, 2, 0]]), [2**0.5 * 1e300, 10**0.5 * 1e300, 0, inf]
    )
    np.testing.assert_allclose(
        lx.ops.logaddexp(np.array([1e4, -inf, inf]), np.array([1e4, -inf, 1.0])),
        [1e4 + np.log(2), -inf, inf],
    )
    zero = np.zeros(1)
    assert lx.ops.xlogy(zero, zero)[0] == 0
    assert lx.ops.binary_cross_entropy(np.array([0.0, 1.0]), np.array([0.0, 1.0])).tolist() == [
        0,
        0,
    ]
    assert lx.ops.row_entropy(np.array([[1.0, 0.0]]))[0] == 0


def test_outputs_that_are_larger_than_inputs() -> None:
    x = np.arange(6.0).reshape(1, 3, 2)
    assert lx.ops.pad_nwc(x, 0.0).shape == (1, 3, 2)
    assert lx.ops.pad_nwc(x, -1.0, low=2, high=1)[0, :, 0].tolist() == [-1, -1, 0, 2, 4, -1]
    assert lx.ops.dilate_nwc(x, strides=3)[0, :, 1].tolist() == [1, 0, 0, 3, 0, 0, 5]
    assert lx.ops.im2col_nwc(x, kernel=2).shape == (1, 2, 2, 2)
    assert lx.ops.roll(np.arange(4), shift=0).tolist() == [0, 1, 2, 3]
    assert lx.ops.kron_2d(np.ones((2, 3)), np.ones((4, 5))).shape == (8, 15)
    with pytest.raises(ShapeError, match=r"pad_nwc: O has size 4 along axis 1"):
        lx.ops.pad_nwc(x, 0.0, low=2, out=np.empty((1, 4, 2)))
    with pytest.raises(ArgumentError, match=r"low = \[-1\] is negative"):
        lx.ops.pad_nwc(x, 0.0, low=-1)


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (3, 2)])
def test_a_transposed_convolution_is_zeros_between_and_a_convolution(
    stride: int, dilation: int
) -> None:
    random = np.random.default_rng(0)
    x, kernel = random.random((2, 4, 3)), random.random((3, 3, 2))
    reach = 2 * dilation
    spread = lx.ops.dilate_nwc(x, strides=stride)
    padded = lx.ops.pad_nwc(spread, 0.0, low=reach, high=reach)
    flipped = np.ascontiguousarray(kernel[::-1])
    two_steps = lx.ops.conv_1d_nwc_wcf(padded, flipped, dilations=dilation)
    at_once = lx.ops.transposed_conv_1d_nwc_wcf(x, kernel, strides=stride, dilations=dilation)
    np.testing.assert_allclose(at_once, two_steps)


def test_means_of_integers_are_floats() -> None:
    a = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_allclose(lx.ops.row_mean(a, dtype=np.float64), a.mean(1))
    with pytest.raises(DTypeError, match="row_mean: reciprocal has no meaning for i32"):
        lx.ops.row_mean(a)


@pytest.mark.parametrize("name", ["huber_loss", "smooth_l1_loss"])
def test_no_fraction_becomes_an_integer(name: str) -> None:
    a = np.array([1, 2])
    with pytest.raises(
        DTypeError, match=r"0\.5 has no meaning for i64(.|\n)*call the op on floats"
    ):
        getattr(lx.ops, name)(a, a, 1)


def test_complex_numbers() -> None:
    random = np.random.default_rng(0)
    a, b = (random.random((3, 4)) + 1j * random.random((3, 4)) for _ in range(2))
    np.testing.assert_allclose(lx.ops.vdot(a[0], b[0]), np.vdot(a[0], b[0]))
    np.testing.assert_allclose(lx.ops.matmul_conjugate_transpose_a(a, b), a.conj().T @ b)
    np.testing.assert_allclose(lx.ops.matmul_conjugate_transpose_b(a, b), a @ b.conj().T)
    np.testing.assert_allclose(lx.ops.conjugate_transpose(a), a.conj().T)
    squares = lx.ops.abs2(a, dtype=np.float64)
    assert squares.dtype == np.float64
    np.testing.assert_allclose(squares, np.abs(a) ** 2)
    assert lx.ops.not_equal(a, b).all()
    assert not lx.ops.row_any(np.zeros((1, 2), complex))[0]


def test_half_precision_and_booleans() -> None:
    x = np.array([[0.5, -2, 7]], np.float16)
    largest, place = lx.ops.row_argmax(x)
    assert (largest.dtype, place[0]) == (np.float16, 2)
    bits = np.array([[True, False], [True, True]])
    assert lx.ops.row_all(bits).tolist() == [False, True]
    assert lx.ops.column_count_nonzero(bits).tolist() == [2, 1]
    assert lx.ops.bitwise_xor(bits[0], bits[1]).tolist() == [False, True]


def test_labels_that_name_nothing() -> None:
    table = np.array([[1.0, 2.0], [inf, nan]])
    labels = np.array([0, -1, 2, 0])
    assert lx.ops.embedding(table, labels).tolist() == [[1, 2], [0, 0], [0, 0], [1, 2]]
    assert lx.ops.histogram(labels, out=np.empty(2, np.int64)).tolist() == [2, 0]


def test_halves_are_rounded_to_even() -> None:
    x = np.array([[-1.25, -0.75, 0.25, 0.75, 100.0]])
    limits = (-8.0, 7.0)
    expected = [-2, -2, 0, 2, 7]
    assert lx.ops.quantize_to_even(x[0], 0.5, 0.0, *limits, dtype=np.int8).tolist() == expected
    rows = lx.ops.quantize_rows(x, np.array([0.5]), *limits, dtype=np.int8)
    columns = lx.ops.quantize_columns(x, np.full(5, 0.5), *limits, dtype=np.int8)
    assert rows.tolist() == columns.tolist() == [expected]


@pytest.mark.parametrize("empty", [0, 1])
def test_an_empty_operand_that_an_index_wraps_around_in(empty: int) -> None:
    operands = [np.ones(2), np.ones(2)]
    operands[empty] = np.ones(0)
    with pytest.raises(ShapeError, match=r"concatenate: `.* mod .` divides by a size that is 0"):
        lx.ops.concatenate(*operands)
    assert lx.ops.flip(np.ones(0)).shape == (0,)
    assert lx.ops.row_argmax(np.ones((2, 0)))[1].tolist() == [0, 0]
