"""np.sort and np.argsort under `jit`, beside NumPy's own: dtypes, NaN, zeros, axes, open sizes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ShapeError, TraceError
from traced_functions import check, random

BUBBLE: Any = "bubble"


def special(dtype: str) -> Any:
    """Numbers of a dtype, with its ends, equal ones, NaN of both signs and both zeros."""
    x = random(3, 40, dtype=np.dtype(dtype))
    if x.dtype.kind in "iu":
        x[0, 3:5] = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
    if x.dtype.kind == "f":
        x[0, 3:9] = np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0
    if x.dtype.kind == "c":
        x = np.round(x).astype(x.dtype)
        parts = [0, 1, np.nan, -np.inf]
        x[0, :16] = [complex(a, b) for a in parts for b in parts]
    x[1] = x[1, ::-1]
    return x


def same(found: Any, expected: Any) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint64", "bool", "complex64"])
def test_the_order_of_each_dtype(dtype: str) -> None:
    x = special(dtype)
    sorted_, places = lx.jit(lambda x: (np.sort(x), np.argsort(x, stable=True)))(x)
    same(sorted_, np.sort(x))
    same(places, np.argsort(x, kind="stable"))


def test_the_order_of_a_stable_sort() -> None:
    x = special("float64")
    same(lx.jit(lambda x: np.sort(x, kind="stable"))(x), np.sort(x, kind="stable"))


def test_a_stable_sort_keeps_the_order_of_zeros() -> None:
    x = np.array([0.0, -0.0, 1, -0.0, 0.0, -1, -0.0], np.float32)
    found = lx.jit(lambda x: np.sort(x, stable=True))(x)
    assert np.signbit(found).tolist() == [True, False, True, True, False, True, False]
    assert np.signbit(lx.jit(np.sort)(x)).tolist() == [True] * 4 + [False] * 3


def test_narrow_floats() -> None:
    x = (random(60) * 9).astype(ml_dtypes.float8_e4m3fn)
    x[7], x[9] = np.nan, x[8]
    wide = x.astype(np.float32)
    found, places = lx.jit(lambda x: (np.sort(x), np.argsort(x)))(x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found.astype(np.float32), np.sort(wide))
    np.testing.assert_array_equal(places, np.argsort(wide, kind="stable"))


def test_axes() -> None:
    x = random(4, 5, 6)
    check(lambda x: (np.sort(x, axis=-2), np.sort(x, axis=None), np.argsort(x, 0)), x)


def test_in_place() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        y.sort(axis=0)
        return y

    check(function, random(5, 3))


def test_what_a_sort_is_for() -> None:
    """The largest three of each row, and ranks."""
    check(
        lambda x: (
            np.sort(x, axis=1)[:, :-4:-1],
            np.take_along_axis(x, np.argsort(-x, axis=1)[:, :3], axis=1),
            np.argsort(np.argsort(x, axis=1), axis=1),
        ),
        random(4, 9),
    )


def test_sizes_that_are_open_or_0() -> None:
    function = lx.jit(lambda x: (np.sort(x), np.argsort(x, 0)), dynamic=True)
    for shape in ((3, 20), (20, 3), (0, 4)):
        x = random(*shape)
        found = function(x)
        same(found[0], np.sort(x))
        same(found[1], np.argsort(x, 0, kind="stable"))


def test_inside_loops_and_branches() -> None:
    def function(x: Any) -> Any:
        return lx.cond(x[0] > x[1], lambda x: np.sort(x), lambda x: -np.sort(-x), x)

    for x in (np.array([3.0, 1, 2]), np.array([1.0, 3, 2])):
        same(lx.jit(function)(x), function(x))


def test_the_array_api_sorts_either_way() -> None:
    def function(x: Any) -> Any:
        xp = x.__array_namespace__()
        down = xp.argsort(x, descending=True)
        return xp.sort(x), xp.sort(x, descending=True, stable=False), down, xp.sort(x, axis=0)

    x = np.array([[3.0, 1, 3, 2], [0, 5, 5, -1]])
    up, down, places, columns = lx.jit(function)(x)
    same(up, np.sort(x))
    same(down, np.sort(x)[:, ::-1])
    assert places.tolist() == [[0, 2, 3, 1], [1, 2, 0, 3]]  # equal ones in their order
    same(columns, np.sort(x, 0))


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ShapeError, "sort: axis 2", lambda x: np.sort(x, 2)),
        (ShapeError, "argsort: axis -3", lambda x: np.argsort(x, -3)),
        (ShapeError, "rank 0", lambda x: np.sort(x[0, 0])),
        (ArgumentError, "kind='bubble'", lambda x: np.sort(x, kind=BUBBLE)),
        (
            ArgumentError,
            "kind='stable' and stable=",
            lambda x: np.sort(x, kind="stable", stable=True),
        ),
        (TraceError, "order=", lambda x: np.sort(x, order="name")),
    ],
)
def test_misuse(error: type[Exception], message: str, call: Any) -> None:
    with pytest.raises(error, match=message):
        lx.jit(lambda x: call(x))(random(2, 3))
