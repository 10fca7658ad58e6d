"""Programs that random search found to differ from NumPy: dtype, shape, values or error."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, DTypeError, ExecutionError, ShapeError, TraceError

FLAGS = np.array([True, False, True])


def _added_at(x: Any, value: Any) -> Any:
    x = x.copy()
    np.add.at(x, [0, 1, 0], value)
    return x


def _copied_to(x: Any, value: Any) -> Any:
    x = x.copy()
    np.copyto(x, value)
    return x


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "all axes": (lambda x: np.logical_and.reduce(x, axis=None), (np.ones((2, 3)),)),
    "first axis": (lambda x: np.add.reduce(x), (np.ones((2, 3)),)),
    "one count": (lambda x: np.repeat(x, [2]), (FLAGS,)),
    "one count along an axis": (lambda x: np.repeat(x, [2], axis=1), (np.ones((2, 3)),)),
    "counts": (lambda x: np.repeat(x, [2, 0, 1]), (FLAGS,)),
    "inner, scalar": (np.inner, (np.array(True), FLAGS)),
    "inner, minus zero": (np.inner, (np.float32(-1), np.zeros(3, np.float32))),
    "insert": (lambda x: np.insert(x, 1, [3, 255]), (np.array([1, 2], np.uint8),)),
    "insert, wraps": (lambda x: np.insert(x, 1, np.int64(300)), (np.array([1, 2], np.uint8),)),
    "select": (
        lambda c, x, y: np.select([c, ~c], [x, y]),
        (FLAGS, np.array([1, 2, 3], np.float16), FLAGS),
    ),
    "select, numbers": (lambda c, x: np.select([c], [x], 1.5), (FLAGS, np.array([1, 2, 3], "i1"))),
    "append a number": (lambda x: np.append(x, 3), (np.array([1], np.uint32),)),
    "correlate flags": (np.correlate, (np.array([3, 4], np.uint8), np.array([True]))),
    "median of bf16": (np.median, (np.array([1, 3, 4, 2], ml_dtypes.bfloat16),)),
    "logaddexp of f16": (
        np.logaddexp,
        (np.array([-0.8135, -2.0], np.float16), np.array([-1.0, -0.11896], np.float16)),
    ),
    "power": (
        np.power,
        (np.array([2**31 - 1, 2, 3, 0], np.uint64), np.array([2**64 - 1, 2**63, 5, 0], np.uint64)),
    ),
    "square of booleans": (lambda x: x**2, (FLAGS,)),
    "reciprocals and roots of complex infinities": (
        lambda x: (x**-1).real + (x**0.5).imag,
        (np.array([complex(np.inf, 1), complex(1, -np.inf), 1 + 2j, 0.5 - 1j]),),
    ),
    "root of minus zero": (
        lambda x: np.minimum(np.power(x, np.float64(0.5)), x ** np.array(0.5)),
        (np.array([-0.0, 4], np.float32),),
    ),
    "an ellipsis of no axis between places": (
        lambda x, i: x[:, i, ..., i, -3],
        (np.arange(24).reshape(2, 3, 1, 4)[:, :, 0, :, None] + np.arange(5), np.array([0, 1, 0])),
    ),
    "a step along an axis of 1": (
        lambda x, i: (x * 2)[i, -1:40:3],
        (np.arange(3.0)[:, None, None], np.array(1)),
    ),
    "density of no bins": (
        lambda x, bins: np.histogram(x, bins, density=True)[0],
        (np.ones(3, np.float32), np.ones(1, np.float32)),
    ),
    "squares of nanvar, in the dtype of the values": (
        lambda x: np.nanvar(x, dtype=np.float64),
        (np.array([3e38, -3e38, np.nan], np.float32),),
    ),
    "nanvar about a mean": (
        lambda x: np.nanvar(x, axis=1, mean=np.array([[2.0]])),
        (np.array([[1, 5, np.nan]]),),
    ),
    "var about a mean that overflows": (
        lambda x, mean: np.var(x, mean=mean, dtype=np.float64),
        (np.array([3e38, 1], np.float32), np.array([-3e38], np.float32)),
    ),
    "cov of fewer values than degrees of freedom": (
        lambda x: np.cov(x, ddof=40).imag,
        (np.array([[1 + 2j, 3, 4j], [2, 1j, 5]]),),
    ),
    "a root of a number is a number": (lambda x, n: x * n**0.5, (np.ones(3, np.float32), 4)),
    "weights of no elements": (
        lambda x, w: np.bincount(x, w, minlength=2),
        (np.ones(0, int), np.ones(0)),
    ),
    "a row over and over": (lambda x: np.resize(x, (2, 5)), (np.arange(3),)),
    "nothing over and over": (lambda x: np.resize(x, 3), (np.ones(0),)),
    "partition of no elements": (lambda x: np.partition(x, 3), (np.ones(0),)),
    "ufunc.at, wider": (_added_at, (np.array([2**63 + 1, 3], np.uint64), 1)),
    "ufunc.at, fraction": (_added_at, (np.array([7, 3], np.int8), 2.5)),
    "ufunc.at, beyond": (_added_at, (np.array([100, 3], np.int8), 200)),
    "copyto": (_copied_to, (np.array([1], np.uint8), 3)),
    "result_type": (lambda x, y: x.astype(np.result_type(x, y)), (np.array([1], np.int8), 1)),
    "median, minus zero": (np.median, (np.array([-0.0, 1, -1]),)),
    "vdot of one": (
        lambda x, y: np.vdot(np.prod(x, keepdims=True, dtype=np.int8).T, y),
        (np.ones((2, 0), int), np.array([[7]])),
    ),
    "power, mixed": (
        np.power,
        (np.array([2**31 - 1, 5], np.uint32), np.array([2**64 - 1, 0], np.uint64)),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_numpy(name: str) -> None:
    function, arguments = PROGRAMS[name]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = function(*arguments)
    found = lx.jit(function)(*arguments)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        np.signbit(found.astype(float)), np.signbit(expected.astype(float))
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.reshape(2, 2),
        lambda x: np.split(x.ravel(), 2)[1],
        lambda x: x + np.size(x, axis=0),
    ],
    ids=["reshape", "split", "size"],
)
def test_known_shapes_of_open_sizes(function: Callable[[Any], Any]) -> None:
    x = np.arange(4.0).reshape(2, 2)
    np.testing.assert_array_equal(lx.jit(function, dynamic=True)(x), function(x))


def test_a_known_size_beside_an_open_one_is_that_of_both() -> None:
    def put(x: Any, y: Any) -> Any:
        x = x.copy()
        x[2::2, None] = y
        return x

    function = lx.jit(put, dynamic=True)
    for size, count in ((2, 0), (3, 1), (5, 2)):
        x, y = np.zeros(size), np.ones((count, 1))
        np.testing.assert_array_equal(function(x, y), put(x, y))
    with pytest.raises(ShapeError, match="broadcast of"):
        function(np.zeros(5), np.ones((0, 1)))


def test_no_elements_at_places_of_an_open_axis_take_a_value() -> None:
    def put(x: Any, y: Any) -> Any:
        x = x.copy()
        x[[1, 0], 3:] += y
        return x

    x = np.ones((2, 3))
    np.testing.assert_array_equal(lx.jit(put, dynamic=True)(x, np.ones((2, 0))), x)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("counts", [[1, 1], [1, -1, 1], [[1, 2, 3]], []])
def test_counts_of_a_repeat_are_those_of_the_elements(counts: Any, dynamic: bool) -> None:
    with pytest.raises((ValueError, TypeError)):
        np.repeat(np.arange(3), counts)
    with pytest.raises(ArgumentError, match="repeat of axis 0, of size"):
        lx.jit(lambda x: np.repeat(x, counts), dynamic=dynamic)(np.arange(3))


def _put_and_placed(x: Any, mask: Any) -> Any:
    y, z = x.copy(), x.copy()
    np.putmask(y, mask, [5.0, 6.0])
    np.place(z, mask, [7.0, 8.0, 9.0])
    return y, z, np.resize(x[:3], x.shape), np.resize(x, 3)


def test_values_are_repeated_over_open_sizes() -> None:
    compute = lx.jit(_put_and_placed, dynamic=True)
    for size in (7, 2, 1, 4, 0):
        x = np.arange(1.0, 1 + size)
        for one, other in zip(compute(x, x > 1), _put_and_placed(x, x > 1), strict=True):
            np.testing.assert_array_equal(one, other)
    assert len(compute.kernels) < 5


@pytest.mark.parametrize("name", ["partition", "argpartition"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_place_of_a_partition_is_one_of_the_axis(name: str, dynamic: bool) -> None:
    x = np.arange(5.0)
    for kth in (5, -6, [1, 9], 1.5, True, []):
        with pytest.raises((ArgumentError, ShapeError), match="kth="):
            lx.jit(partial(getattr(np, name), kth=kth), dynamic=dynamic)(x)
    at = lx.jit(getattr(np, name), dynamic=dynamic)
    np.testing.assert_array_equal(at(x, 4), x)
    with pytest.raises(ExecutionError, match="kth is out of bounds"):
        at(x, 5)


@pytest.mark.parametrize("name", ["max", "min", "ptp", "argmin", "nanmax", "nanargmax", "median"])
def test_no_elements_of_an_open_axis_have_no_extremum(name: str) -> None:
    x = np.arange(3.0)
    extremum = lx.jit(lambda x: getattr(np, name)(x[2:]), dynamic=True)
    np.testing.assert_array_equal(extremum(x), getattr(np, name)(x[2:]))
    with pytest.raises(ShapeError, match="of no elements"):
        extremum(x[:2])


def test_the_largest_of_no_elements_is_a_norm() -> None:
    x = np.zeros((0, 3))
    of_rows, of_all = lx.jit(lambda x: [np.linalg.norm(x, np.inf, 0), np.linalg.norm(x, 1)])(x)
    np.testing.assert_array_equal(of_rows, np.linalg.norm(x, np.inf, 0))
    np.testing.assert_array_equal(of_all, np.linalg.norm(x, 1))


def test_nothing_is_put_into_a_part_without_elements() -> None:
    put = lx.jit(lambda x, y: x.at[-2:0].set(y), dynamic=True)
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(put(x, np.zeros((0, 3))), x)


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize(
    "values", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.uint16, np.int32]
)
@pytest.mark.parametrize(
    "q", [0.5, 1, np.float64(0.5), np.float32(0.5), np.float16(0.5), [0.25, 0.5]], ids=repr
)
def test_quantiles_have_the_dtype_of_numpys(name: str, values: Any, q: Any) -> None:
    x = np.array([1, 2, 4, 3], values)
    expected = getattr(np, name)(x, q)
    found = lx.jit(lambda x: getattr(np, name)(x, q))(x)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=1e-2)


@pytest.mark.parametrize("function", [np.histogram, partial(np.bincount, minlength=4)])
def test_weights_have_the_shape_of_the_values(function: Callable[..., Any]) -> None:
    x, one = np.arange(3), np.ones(1)
    with pytest.raises(ValueError, match="same"):
        function(x, weights=one)
    with pytest.raises(ShapeError, match="the same shape"):
        lx.jit(lambda x, w: function(x, weights=w))(x, one)


METHODS: list[Any] = [
    "linear",
    "lower",
    "higher",
    "midpoint",
    "nearest",
    "inverted_cdf",
    "hazen",
    "weibull",
]
METHODS += ["averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf"]
METHODS += ["median_unbiased", "normal_unbiased"]


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_by_each_method(method: Any) -> None:
    """Their dtypes; differences of integers that wrap around; 64 bits, and infinities."""
    least, most = -(2**63), 2**63 - 1
    arrays = [
        np.array([1, 2, 4], np.uint8),
        np.array([-128, 127], np.int8),
        np.array([least, least + 1, most - 1, most]),
        np.array([1.0, -np.inf, np.inf, 0.0], np.float32),
        np.array([3, 1, 2], ml_dtypes.bfloat16),
    ]

    def quantiles(*arrays: Any) -> list[Any]:
        functions = (np.quantile, np.nanquantile)
        return [
            function(x, q, method=method)
            for x in arrays
            for q in (1, np.int8(1), [0, 1], 0.25, np.float32(0.75))
            for function in functions
        ]

    with np.errstate(invalid="ignore", over="ignore"):
        expected = [np.asarray(each) for each in quantiles(*arrays)]
    for one, other in zip(lx.jit(quantiles)(*arrays), expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_max_ulp(one.astype(float), other.astype(float), 1)


@pytest.mark.parametrize("x", [[1e8 + 2, 1e8 + 3, 1e8 + 7], [1e200, 2, 1]])
def test_deviations_are_in_the_wider_dtype(x: list[float]) -> None:
    with np.errstate(over="ignore"):
        expected = np.var(x, dtype=np.float32)
    found = lx.jit(lambda x: np.var(x, dtype=np.float32))(np.array(x))
    np.testing.assert_array_equal(found, expected)


def test_a_covariance_of_too_few_is_infinite() -> None:
    found = lx.jit(lambda x: np.cov(x, ddof=5))(np.eye(3))
    assert np.isinf(found).all()


def test_maxima_of_flags_take_any_number_as_a_flag() -> None:
    found = lx.jit(lambda x, y: x.at[()].max(y))(FLAGS, np.int64(-1))
    np.testing.assert_array_equal(found, [True, True, True])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.insert(x.astype(np.uint8), 0, -2), "-2 does not fit the dtype uint8"),
        (np.gradient, "gradient of booleans"),
        (lambda x: np.copyto(x.copy(), -2), "copyto of int64 into an array of bool"),
        (lambda x: np.copyto(x.astype(int), 2.5), "copyto of float64 into an array of int64"),
        (lambda x: np.histogram([0, 1, 1], [0, 1, 2], weights=x), "edges with weights of bool"),
    ],
)
def test_refused_as_by_numpy(function: Callable[[Any], Any], message: str) -> None:
    with pytest.raises((OverflowError, TypeError)):
        function(FLAGS)
    with pytest.raises(DTypeError, match=message):
        lx.jit(function)(FLAGS)


@pytest.mark.parametrize("weights", [np.float32, np.int8, np.bool_, np.complex64])
@pytest.mark.parametrize("values", [np.float32, np.float16, np.int8, np.bool_, np.complex64])
def test_averages_have_the_dtype_of_numpys(values: Any, weights: Any) -> None:
    x, w = np.array([1, 2, 4]).astype(values), np.array([1, 1, 2]).astype(weights)
    expected = np.average(x, weights=w)
    found = lx.jit(lambda x, w: np.average(x, weights=w))(x, w)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_weights_that_sum_to_zero_and_bins_in_no_order_are_errors_of_the_run() -> None:
    x = np.arange(3.0)
    average = lx.jit(lambda x, w: np.average(x, weights=w))
    with pytest.raises(ExecutionError, match="weights sum to zero"):
        average(x, np.array([1.0, -1.0, 0.0]))
    with pytest.raises(ExecutionError, match="out of bounds for shape"):
        lx.jit(lambda x: np.unravel_index(x, (3, 4)))(np.array([22]))
    with pytest.raises(ShapeError, match="into 2 equal parts"):
        lx.jit(lambda x: np.split(x, 2)[0], dynamic=True)(x)
    with pytest.raises(DTypeError, match="with dtype=int64"):
        lx.jit(lambda x: np.logical_or.reduce(x, dtype=np.int64))(x)
    places = lx.jit(np.digitize)
    np.testing.assert_array_equal(places(x, np.array([0.5, 1.5])), [0, 1, 2])
    with pytest.raises(ExecutionError, match="traced bins have to grow"):
        places(x, np.array([1.5, 0.5, 2.5]))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_functions_of_narrow_floats_are_rounded_once(dtype: Any) -> None:
    random = np.random.default_rng(0)
    x = (1e4 * random.standard_normal(4097)).astype(dtype)
    y = (4 * random.standard_normal(4097)).astype(dtype)
    functions = (np.floor_divide, np.remainder, np.hypot, np.logaddexp)
    for function in (*functions, lambda x, _: np.degrees(x).astype(x.dtype), lambda _, y: y**7):
        with np.errstate(over="ignore"):
            expected = function(x, y)
        np.testing.assert_array_equal(lx.jit(function)(x, y), expected)


def test_the_least_type_of_a_scalar_is_not_known() -> None:
    with pytest.raises(TraceError, match="depends on its number"):
        lx.jit(lambda x: x * np.ones(1, np.min_scalar_type(x)))(np.int64(3))


def test_half_a_loop_is_left_out() -> None:
    def program(x: Any) -> Any:
        x = x.copy()
        with contextlib.suppress(DTypeError):
            np.maximum.at(x, [0], 1)
        return x + 1

    np.testing.assert_array_equal(lx.jit(program)(np.ones(1, complex)), [2])


def test_types_without_a_common_one_are_refused() -> None:
    x, y = np.ones(2, np.int64), np.ones(2, ml_dtypes.bfloat16)
    with pytest.raises(DTypeError, match="could not be promoted"):
        lx.jit(lambda x, y: x.astype(np.result_type(x, y)))(x, y)
