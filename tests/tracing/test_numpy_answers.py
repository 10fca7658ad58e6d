"""Answers of NumPy's that are easily missed, to the bit: dtypes, NaN, zeros, numbers that wrap."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, DTypeError, ExecutionError, ShapeError, TraceError
from traced_functions import agree

NAN, INF = np.nan, np.inf
FLAGS = np.array([True, False, True])
SMALL = np.array([-3, 0, 2, 127, -128], np.int8)
WHOLE = np.array([[3, -1, 4], [0, 5, -2]])
FLOATS = np.array([[1.5, NAN, -0.0], [INF, -INF, 2.5]])
COMPLEX = np.array([complex(x, y) for x in (NAN, INF, -INF, 1.0) for y in (NAN, INF, -INF, 2.0)])
PLACES = np.array([0.0, 1, 1, 2, 2, 2, 3])
VALUES = np.array([0, NAN, 5, INF, -INF, 3, 4])
AT = np.array([-1, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4, NAN, INF, -INF])


def by_numpy(function: Callable[..., Any], *arguments: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*arguments)


def same(found: Any, expected: Any) -> None:
    """Two results are the same: dtype, shape, numbers, NaN, and signs of zeros."""
    if isinstance(expected, tuple | list):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    np.testing.assert_array_equal(found, expected, strict=isinstance(expected, np.ndarray))
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    if np.asarray(expected).dtype.kind == "f":
        is_number = ~np.isnan(expected)
        signs = np.signbit(found) == np.signbit(expected)
        assert np.all(signs | ~is_number)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda z: (np.nan_to_num(z), np.nan_to_num(z, nan=7, posinf=8, neginf=-9)), [COMPLEX]),
        (lambda a, b: (np.vdot(a, b), np.vecdot(a, b), np.vecmat(a, b[:, None])), [FLAGS, FLAGS]),
        (lambda a: (a.conj(), np.conjugate(a)), [FLAGS]),
        (np.reciprocal, [SMALL]),
        (np.reciprocal, [SMALL.astype(np.int64)]),
        (lambda a, b: a**b, [SMALL.view(np.uint8), np.abs(SMALL[:3]).repeat(2)[:5]]),
        (lambda a: (np.angle(a), np.angle(a, deg=True)), [np.array([3, 5, 0], np.uint8)]),
        (lambda a: (np.angle(a), np.sinc(a)), [np.array([0, 0, 0], np.int8)]),
        (np.interp, [AT, PLACES, VALUES]),
        (np.interp, [AT, PLACES[:1], VALUES[:1]]),
        (np.interp, [AT, np.array([-INF, 0, 1, 2, 3, INF, INF]), np.arange(7.0)]),
        (lambda a: (np.sqrt(a) * 2).astype(np.int8), [np.array([-1, NAN, INF, 4, 1e9] * 7, "f4")]),
        (lambda a: a.astype(np.uint64), [np.array([-2.5, 2e19, NAN, 1e18, 9.3e18, -INF])]),
        (lambda a: a.astype(np.int16), [np.array([70000.0, -1.5, NAN, 1e12], np.float32)]),
        (lambda a: np.nanvar(a, axis=0), [FLOATS]),
        (lambda a: (np.nanvar(a), np.nanstd(a, ddof=1)), [WHOLE]),
        (lambda a: np.std(a, ddof=40, where=a > 0, keepdims=True), [np.ones((2, 3), np.float16)]),
        (np.logaddexp, [FLOATS, FLOATS[::-1]]),
        (np.logaddexp2, [FLOATS, FLOATS]),
        (lambda a: np.isclose(a, np.int32(2147483647), 1e-3), [np.array([-1, 5], np.int32)]),
        (lambda a: np.round(a), [FLAGS]),
        (lambda a: np.unwrap(a, discont=1.0), [SMALL]),
        (lambda a: np.unwrap(a, period=4), [WHOLE]),
        (lambda a: (np.inner(a, 2.5), np.dot(a, 2.5), np.outer(a, 2.5)), [SMALL.astype("f4")]),
        (lambda a: (np.linalg.vector_norm(a, ord=1), np.linalg.vector_norm(a)), [SMALL]),
        (lambda a: np.linspace(a, 3, 9, dtype=np.uint16), [SMALL]),
        (lambda a: np.linspace(a, a * 3, 5), [np.array([1.5, 5e-324, -7.0])]),
        (lambda a: np.linspace(a, 2.5, 5), [np.array([1.5, -7.0], np.float32)]),
        (lambda a: np.clip(a, False, True), [FLAGS]),
        (lambda a: np.clip(a, -0.5, np.array([0.0, 1.0, NAN])), [FLOATS]),
        (lambda a: np.divmod(a, 2, dtype=np.float64), [SMALL]),
        (lambda a: np.logical_and.accumulate(a), [SMALL]),
        (lambda a: np.vander(a, 0), [SMALL]),
        (lambda x, n: (x < n, x == n, n >= x), [SMALL.view(np.uint8), -3]),
        (lambda x, n: (x < n, x != n), [SMALL.view(np.uint8), 300]),
        (lambda x, n: (x + n, x * n), [SMALL, 7]),
        (lambda x: np.ediff1d(x, to_end=[1, 2], to_begin=3), [SMALL]),
    ],
)
def test_answers(function: Callable[..., Any], arguments: list[Any]) -> None:
    same(lx.jit(lambda *given: function(*given))(*arguments), by_numpy(function, *arguments))


@pytest.mark.parametrize("start", [2.0, np.array([[1.0], [-8.0]]), np.array([1 + 1j])])
def test_sequences_of_powers(start: Any) -> None:
    def function(x: Any) -> Any:
        return np.geomspace(x, x * 4, 7), np.geomspace(x, 3 * x, 5, endpoint=False)

    agree(lx.jit(function)(np.asarray(start)), function(np.asarray(start)), rtol=1e-12)
    x = np.array([1.5, -7.0], np.float32)
    agree(lx.jit(lambda x: np.logspace(x, 2.5, 5))(x), np.logspace(x, 2.5, 5), rtol=1e-6)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,)])
def test_open_sizes_beside_no_elements(shape: tuple[int, ...]) -> None:
    def function(x: Any) -> Any:
        return (
            x.reshape(-1),
            x.reshape(0, 4),
            np.tile(x, 2),
            np.repeat(x, 2),
            np.roll(x, 1),
            x.cumsum(),
        )

    x = np.ones(shape, np.float32)
    same(lx.jit(function, dynamic=True)(x), function(x))


def test_an_open_size_that_turned_out_is_in_the_type() -> None:
    x = np.ones(17, np.float32)
    same(lx.jit(lambda x: x.reshape(1, 17) + 1, dynamic=True)(x), x.reshape(1, 17) + 1)
    y = np.ones((17, 1), np.int16)
    same(
        lx.jit(lambda x, y: np.dstack([x, y]), dynamic=True)(y, y[:, 0].reshape(17, 1)),
        np.dstack([y, y]),
    )


@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile"])
def test_a_quantile_at_a_fraction_is_refused(name: str) -> None:
    with pytest.raises(ArgumentError, match=r"float\(q\)"):
        lx.jit(lambda x: getattr(np, name)(x, Fraction(1, 4))).lower(FLOATS)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x: np.quantile(x > 0, 0.5), TraceError),
        (lambda x: np.median(x[:, :0], axis=()), ShapeError),
        (lambda x: np.max(x, where=x > 0), ArgumentError),
        (lambda x: np.nanmin(x, where=x > 0), ArgumentError),
        (lambda x: np.cumulative_sum(x), ArgumentError),
        (lambda x: np.stack([x, x], dtype=bool), DTypeError),
        (lambda x: np.ediff1d(x, to_end=1j), DTypeError),
        (lambda x: np.full_like(x, -2, dtype=np.uint8), DTypeError),
        (lambda x: np.nanmax(x.astype(np.uint8), initial=-2), DTypeError),
        (lambda x: np.bitwise_and.reduce(x), DTypeError),
        (lambda x: np.nanmean(x, dtype=np.int8), TraceError),
        (lambda x: np.nanstd(x, dtype=np.int8), TraceError),
        (lambda x: np.pad(x[:0], 2, mode="reflect"), ShapeError),
        (lambda x: np.tril(x[0, 0]), ShapeError),
        (lambda x: np.interp(x, x[0, :0], x[0, :0]), ShapeError),
        (lambda x: np.matvec(x, x[0], dtype=np.int8), DTypeError),
        (lambda x: np.nan_to_num(x, nan=COMPLEX[-1]), DTypeError),
        (lambda x: x[0].sort(axis=None), ArgumentError),
        (lambda x: (x * 1).__imatmul__(x.T), ShapeError),
    ],
)
def test_what_numpy_refuses_is_refused(function: Callable[..., Any], kind: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        by_numpy(function, FLOATS)
    with pytest.raises(kind) as caught:
        lx.jit(lambda x: function(x)).lower(FLOATS)
    assert caught.value.where is not None


@pytest.mark.parametrize("function", [lambda x: np.var(x, dtype=bool), lambda x: np.ix_(x[0] > 0)])
def test_what_has_no_kernel_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(TraceError) as caught:
        lx.jit(lambda x: function(x)).lower(FLOATS)
    assert caught.value.hint


def test_a_number_that_does_not_fit_is_not_written() -> None:
    with pytest.raises(DTypeError, match="-1 does not fit the dtype uint8"):
        lx.jit(lambda x: x.at[0].set(-1)).lower(SMALL.view(np.uint8))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda a, b: a**b, [SMALL.view(np.uint8), SMALL]),
        (np.geomspace, [np.array([0.0, 1.0]), np.array([2.0, 3.0])]),
        (np.histogram, [np.array([1.0, NAN])]),
        (lambda x, n: x + n, [SMALL.view(np.uint8), -1]),
    ],
)
def test_what_numpy_refuses_by_values_is_refused_by_the_call(
    function: Callable[..., Any], arguments: list[Any]
) -> None:
    with pytest.raises((ValueError, OverflowError)):
        by_numpy(function, *arguments)
    with pytest.raises(ExecutionError):
        lx.jit(lambda *given: function(*given))(*arguments)


def test_a_matrix_is_no_array() -> None:
    """Its `*` is a product of matrices."""
    with pytest.warns(PendingDeprecationWarning):
        matrix: Any = np.asmatrix(np.eye(2))
    for function, arguments in ((lambda x: x * x, [matrix]), (lambda x: x * matrix, [np.eye(2)])):
        with pytest.raises(ArgumentError, match=r"numpy\.matrix"):
            lx.jit(function)(*arguments)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_variances_of_narrow_floats_do_not_overflow(dtype: Any) -> None:
    x = np.array([300] + [0] * 9).astype(dtype)
    for name in ("var", "std", "nanvar", "nanstd"):
        function = getattr(np, name)
        expected = function(x.astype(np.float32)).astype(dtype)
        np.testing.assert_array_equal(lx.jit(lambda x, function=function: function(x))(x), expected)
