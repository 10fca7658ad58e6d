"""NumPy's functions, operators and methods, each beside NumPy itself."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from traced_functions import check, random

X, Y = random(4, 5), random(4, 5, seed=6)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), ()])
def test_reductions(axis: Any, keepdims: bool) -> None:
    options: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    check(
        lambda x: (
            x.sum(**options),
            np.prod(x, **options),
            np.mean(x, **options),
            x.var(ddof=1, **options),
            np.std(x, **options),
            x.max(**options),
            np.min(x, **options),
            np.any(x > 1, **options),
            (x > -9).all(**options),
            np.count_nonzero(x > 0, **options),
            np.ptp(x, **options),
        ),
        X,
    )


def test_reductions_with_start_dtype_and_mask() -> None:
    check(
        lambda x, y: (
            np.sum(x, initial=3.0),
            np.max(x, axis=0, initial=1.0),
            np.sum(x, dtype=np.float64),
            np.sum(x, axis=1, where=y > 0),
            np.mean(x, axis=1, where=y > -1),
            np.add.reduce(x),
            np.maximum.reduce(x, axis=1),
            np.nansum(np.where(y > 0, x, np.nan), axis=0),
            np.average(x, axis=1, weights=np.arange(1.0, 6.0)),
        ),
        X,
        Y,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.bool_])
def test_places_of_extrema(dtype: Any) -> None:
    x = random(4, 6, dtype=dtype)
    x[1] = x[1, 0]
    check(
        lambda x: (x.argmax(), x.argmin(0), np.argmax(x, 1), np.argmin(x, axis=1, keepdims=True)),
        x,
    )


def test_nan_is_where_numpy_has_it() -> None:
    x = X.copy()
    x[1, 2], x[2, 0], x[3, 3] = np.nan, np.inf, -np.inf
    check(
        lambda x: (
            x.argmax(1),
            x.argmin(1),
            np.maximum(x, 0),
            np.fmax(x, 0),
            x.max(0),
            np.isnan(x),
            np.isinf(x),
            np.isfinite(x),
            np.nan_to_num(x),
            np.sign(x),
            np.clip(x, -1, 1),
            x != x,
        ),
        x,
    )


def test_scans() -> None:
    check(
        lambda x: (
            np.cumsum(x),
            x.cumsum(0),
            x.cumsum(1),
            np.cumprod(x, axis=1),
            np.cumulative_sum(x, axis=0, include_initial=True),
            np.maximum.accumulate(x, axis=1),
            np.cumsum(x[:, None], axis=1),
            np.diff(x, n=2, axis=0),
        ),
        X,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_elementwise_of_floats(dtype: Any) -> None:
    x, y = X.astype(dtype) * 3, Y.astype(dtype)
    small, large = np.tanh(y) * dtype(0.9), np.abs(x) + dtype(1.1)
    check(
        lambda x, y: (
            x // y,
            x % y,
            np.fmod(x, y),
            np.divmod(x, y),
            x**2,
            x**3,
            x**-1,
            abs(x) ** 0.5,
            abs(x) ** y,
            2**y,
            np.hypot(x, y),
            np.arctan2(x, y),
            np.logaddexp(x, y),
            np.copysign(x, y),
            np.heaviside(y, 0.5),
            np.floor(x),
            np.rint(x),
            np.trunc(x),
            np.round(x, 1),
            np.square(y),
            np.reciprocal(y),
        ),
        x,
        y,
    )
    check(
        lambda s, g: (
            np.arcsin(s),
            np.arccos(s),
            np.arctan(s),
            np.sinh(s),
            np.cosh(s),
            np.tan(s),
            np.arctanh(s),
            np.expm1(s),
            np.log1p(s),
            np.exp2(s),
            np.sqrt(g),
            np.cbrt(g),
            np.log2(g),
            np.log10(g),
            np.arccosh(g),
            np.degrees(s),
            np.deg2rad(s),
            np.signbit(s),
        ),
        small,
        large,
    )


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8, np.uint64])
def test_integers(dtype: Any) -> None:
    i = np.arange(-12, 12).astype(dtype)
    j = np.array([3, -3, 0, -1, 7, 2] * 4).astype(dtype)
    check(
        lambda i, j: (
            i + j,
            i - 3,
            i * j,
            i // j,
            i % j,
            np.fmod(i, j),
            i / 4,
            i**2,
            i & j,
            i | j,
            i ^ j,
            ~i,
            i << 2,
            i >> 1,
            i << (j & 7),
            -i,
            abs(i),
            np.sign(i),
            i > j,
            i == 3,
            i < 300,
            i >= -300,
            i.sum(),
            i.mean(),
            i.max(),
            np.floor(i),
            i.astype(np.float32),
            np.invert(i > 0),
            np.bitwise_count(i),
        ),
        i,
        j,
    )


def test_mixed_integers_are_compared_as_numbers() -> None:
    signed, unsigned = np.array([-1, 5], np.int64), np.array([2**63 + 1, 5], np.uint64)
    check(lambda s, u: (s < u, u < s, s == u, s >= u, u != s), signed, unsigned)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats(dtype: Any) -> None:
    check(
        lambda x: (x + 1, x * 2.5, np.exp(x), x.max(0), abs(x), x > 0, x.astype(np.float32)),
        X.astype(dtype),
        rtol=2e-2,
    )


def test_sums_of_narrow_floats_are_wide_inside() -> None:
    ones = np.full(3000, 1, np.float16)
    check(lambda x: (x.sum(), x.mean(), x @ x), ones)


def test_complex_numbers() -> None:
    check(
        lambda z: (
            z * z,
            z / (z + 1),
            abs(z),
            z.real,
            z.imag,
            np.conj(z),
            np.exp(z),
            z.sum(0),
            z @ z.T,
            np.vdot(z, z),
            np.linalg.norm(z),
            z**2,
            np.sign(z),
        ),
        random(3, 3, dtype=np.complex64),
    )


def test_shapes() -> None:
    check(
        lambda x: (
            np.expand_dims(x, (0, 2)),
            x[None].squeeze(0),
            np.swapaxes(x, 0, 1),
            np.moveaxis(x[None], 0, -1),
            x.T.reshape(-1),
            x.reshape(2, -1, 5).mT,
            np.flip(x),
            x[:, ::-1],
            np.roll(x, 2, 1),
            np.roll(x, -1),
            np.roll(x, (1, 2), (0, 1)),
            np.tile(x, (2, 3)),
            np.tile(x, 2),
            np.repeat(x, 2, axis=1),
            np.repeat(x, 3),
            np.rot90(x),
            np.broadcast_to(x, (3, 4, 5)),
            np.atleast_3d(x),
            np.ravel(x.T),
        ),
        X,
    )


@pytest.mark.parametrize("shape", [(70, 3), (3, 70, 2), (65,), (70, 1, 2)])
def test_joining_the_rows_of_one_array(shape: tuple[int, ...]) -> None:
    axes = [*range(len(shape) - 1), None]
    check(lambda x: tuple(np.concatenate(x, axis=axis) for axis in axes), random(*shape))


def test_joining() -> None:
    check(
        lambda x, y: (
            np.concatenate([x, y, x], axis=1),
            np.stack([x, y], axis=1),
            np.vstack([x, y[0]]),
            np.hstack([x, y]),
            np.column_stack([x[:, 0], y]),
            np.concatenate([x, y.astype(np.float64)], axis=None),
            np.split(x, 2),
            np.array_split(y, 3, axis=1),
            np.pad(x, ((1, 2), (0, 3)), constant_values=2),
            np.pad(x, 1, mode="reflect"),
            np.pad(x, ((0, 2), (1, 1)), mode="wrap"),
            np.append(x, y, axis=0),
            np.where(x > y, x, 0),
            np.select([x > 1, x > 0], [x, y], -1),
            np.meshgrid(x[0], y[:, 0]),
        ),
        X,
        Y,
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 2)),
        ((4,), (4, 2)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((5, 3, 4), (4, 2)),
        ((2, 1, 3, 4), (5, 4, 6)),
        ((1, 3, 4), (5, 4, 1)),
        ((5, 3, 4), (4,)),
        ((0, 4), (4, 2)),
        ((3, 0), (0, 2)),
    ],
)
def test_matmul_of_any_rank(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check(lambda a, b: a @ b, random(*left), random(*right))


def test_products() -> None:
    vecdot: Any = np.vecdot  # whose type has no axis=
    check(
        lambda a, b: (
            np.dot(a, b),
            np.tensordot(a, b, 1),
            np.tensordot(a, b.T, ([0, 1], [0, 1])),
            np.inner(a, b.T),
            np.outer(a, b),
            np.vecdot(a, a),
            vecdot(a, a, axis=0),
            np.matvec(a, b[:, 0]),
            np.vecmat(a[:, 0], a),
            np.trace(a @ b),
            np.kron(a, b),
            np.einsum("ij,jk->ki", a, b),
            np.einsum("ii", a @ b),
            np.einsum("...j,jk", a[None], b),
            np.linalg.norm(a),
            np.linalg.norm(a, axis=1),
            np.linalg.norm(a, 1),
            np.linalg.norm(a, np.inf, axis=0),
            np.linalg.matrix_power(a @ b, 3),
            np.cross(a[:, :3], a[:, 1:]),
            a.T @ a,
            (a @ b).T @ a,
        ),
        random(3, 4),
        random(4, 3),
    )


def test_matrices() -> None:
    check(
        lambda x: (
            np.tril(x),
            np.triu(x, 1),
            np.tril(x[0]),
            np.diag(x),
            np.diag(x[0], -1),
            np.diagonal(x, 1),
            np.zeros_like(x),
            np.full_like(x, 3, dtype=np.int32),
            np.isclose(x, x + 1e-9),
            np.allclose(x, x),
        ),
        random(4, 4),
    )


def test_a_number_of_python_is_weak() -> None:
    def compute(x: Any, n: int, f: float) -> Any:
        return x * f, x + n, (n * f) * x, n + 1, n // 2, np.sqrt(f), n / 3

    found = lx.jit(compute)(X, 3, 0.5)
    expected = compute(X, 3, 0.5)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
        assert one.dtype == np.asarray(other).dtype


def test_in_place_operators() -> None:
    def compute(x: Any) -> Any:
        first = x * 1
        second = first
        first += 1
        first *= x
        return first, second

    check(compute, X)


def test_constants_that_a_formula_makes() -> None:
    def compute(x: Any) -> Any:
        places = np.arange(100, 400, 3).reshape(10, 10)
        return x * places, x + np.tri(10, k=-2), x - np.zeros((10, 10)), x * np.full((10, 10), 7)

    check(compute, random(10, 10))
    assert "dense" not in lx.jit(compute).lower(random(10, 10)).as_text()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (1,), (1, 1)])
def test_small_and_empty_arrays(shape: tuple[int, ...]) -> None:
    check(
        lambda x: (x + 1, x.sum(), x.sum(0), np.concatenate([x, x]), x.reshape(-1), x * x[..., :1]),
        random(*shape),
    )


def test_inserted_values_have_the_axes_that_numpy_gives_them() -> None:
    """The places' axis of the values is the first one where the place is a number."""
    a, b = np.array([[1, 1], [2, 2], [3, 3]]), np.arange(24.0).reshape(2, 3, 4)
    check(
        lambda a, b: (
            np.insert(a, 1, [[1], [2], [3]], axis=1),
            np.insert(a, [1], [[1], [2], [3]], axis=1),
            np.insert(a, [1], [1, 2, 3], axis=1),
            np.insert(a, slice(1, 2), [1, 2], axis=0),
            np.insert(a, [-1, 0], [5, 6]),
            np.insert(b, 1, [1.0, 2, 3, 4], axis=1),
            np.insert(b, 1, np.ones((2, 4)), axis=1),
        ),
        a,
        b,
    )


def test_weights_along_several_axes() -> None:
    b = np.arange(24.0).reshape(2, 3, 4)
    check(
        lambda b: (
            np.average(b, axis=(0, 1), weights=np.arange(6.0).reshape(2, 3)),
            np.average(b, axis=(1, 0), weights=np.arange(6.0).reshape(3, 2)),
            np.average(b, axis=1, weights=np.arange(3.0)),
            np.average(b, axis=0, weights=b),
        ),
        b,
    )


@pytest.mark.parametrize("method", ["linear", "hazen", "inverted_cdf", "closest_observation"])
def test_quantiles_of_more_elements_than_their_dtype_counts(method: Any) -> None:
    x = np.zeros(65521, np.float16)
    x[:20_000] = 1
    check(lambda x: (np.percentile(x, 50, method=method), np.percentile(x, 99, method=method)), x)


def test_differences_of_places_do_not_wrap() -> None:
    check(
        lambda x, y: (np.gradient(np.arange(3.0), x), np.gradient(np.arange(2.0), y)),
        np.array([3, 2, 1], np.uint8),
        np.array([-1, 127], np.int8),
    )


def test_a_number_beside_an_array_takes_its_dtype() -> None:
    below = float(1 - np.finfo(np.float64).eps)
    check(
        lambda x: (
            np.isclose(x, below, rtol=0, atol=0),
            np.isclose(x, np.float64(below), rtol=0, atol=0),
            np.isclose(x, 2, rtol=below / 2, atol=0),
            np.isclose(x.astype(int), 1),
        ),
        np.ones(2, np.float32),
    )


def test_new_arrays_of_no_dtype_are_of_floats() -> None:
    @lx.jit(dynamic=True)
    def compute(x: Any) -> Any:
        n = x.shape[0]
        return np.zeros(n, dtype=None), np.ones((n, 2), dtype=None), np.eye(n, dtype=None)

    assert [each.dtype for each in compute(np.ones(3, np.int32))] == [np.float64] * 3


def test_corrections_of_variances() -> None:
    check(
        lambda x: (np.var(x, correction=1), np.nanvar(x, correction=0.5), np.nanstd(x, ddof=1)), X
    )


def test_methods_of_arrays() -> None:
    def written(x: Any) -> Any:
        low, changed = x.copy(), x.copy()
        low.partition(2)
        changed.put([1, 7], [0.5, 2.5])
        return low[:, 2], changed

    check(written, X)
    check(lambda x: x.compress([True, False, True], axis=1), X)
    check(lambda x: np.sort(x[0]).searchsorted(x), X)
    check(lambda x: np.take_along_axis(x, x.argpartition(2), -1)[:, 2], X)
