"""Results of known shapes: by `size=`, by `minlength=`, of slices at traced places, of windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ExecutionError, ShapeError, TraceError
from traced_functions import agree, check, random

X = np.arange(12.0).reshape(3, 4)
PLACES = np.array([2, 0, 2])
FLAGS = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1, 1], bool)
SPARSE = np.array([[0, 1, 0], [2, 0, 0]])
TWICE = np.array([3.0, 1, 3, np.nan, 2, np.nan])


def _written(x: Any, i: Any) -> Any:
    x = x.copy()
    x[i[1] : i[1] + 2] = 0
    x.flat[5] = -1
    x.flat[[1, 2]] = 8
    return x


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "bincount": (
        lambda i, x: (np.bincount(i, minlength=5), np.bincount(i, x, 4)),
        (PLACES, X[0, :3]),
    ),
    "windows": (
        lambda x: (sliding_window_view(x, 2, axis=1), sliding_window_view(x, (2, 3)).sum((-1, -2))),
        (X,),
    ),
    "piecewise": (
        lambda x: (
            np.piecewise(x, [x < 3, x > 8], [lambda v: -v, lambda v: v * 2, 7.0]),
            np.piecewise(x, [x < 3], [0, 1]),
        ),
        (X,),
    ),
    "joined": (
        lambda x: (
            np.r_[x[0], 1, x[1]],
            np.c_[x[0], x[1]],
            np.r_[1:4, x[0]],
            np.c_[x, x[:, 0]],
            np.r_["0,2", x[0], x[1]],
            np.r_["-1", x, x],
        ),
        (X,),
    ),
    "column-major": (
        lambda x: (
            x.reshape(2, 6, order="F"),
            x.ravel(order="F"),
            x.flatten("F"),
            np.reshape(x, (-1, 2), order="F"),
        ),
        (X,),
    ),
    "differences": (
        lambda x: (
            np.diff(x, prepend=0),
            np.diff(x, axis=0, append=x[:1], n=2),
            np.diff(x, prepend=x[:, :2], append=9),
        ),
        (X,),
    ),
    "averages": (
        lambda x: (
            np.average(x, returned=True),
            np.average(x, axis=1, weights=np.arange(4.0), returned=True),
        ),
        (X,),
    ),
    "slices": (
        lambda x, i: (
            x[i[1] : i[1] + 2],
            x[i[0] - 1 : i[0] + 1, 1:3],
            x[:, i[1] * 2 : (i[1] + 1) * 2],
        ),
        (X, PLACES),
    ),
    "written": (_written, (X, PLACES)),
    "histogram2d": (lambda x: np.histogram2d(x[0], x[1], bins=3), (X,)),
    "quantiles": (
        lambda x: [np.quantile(x, [0, 0.1, 0.5], method=m) for m in ("hazen", "inverted_cdf")],
        (X,),
    ),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_like_numpy(name: str, dynamic: bool) -> None:
    function, arguments = FUNCTIONS[name]
    agree(lx.jit(function, dynamic=dynamic)(*arguments), function(*arguments))


def test_bits_and_flat() -> None:
    check(
        lambda b: (
            np.packbits(b),
            np.packbits(b, bitorder="little"),
            *(np.unpackbits(np.packbits(b), count=n) for n in (None, 10, -3, 20)),
            sum(b.flat),
            b.flat[3],
        ),
        FLAGS,
    )


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda m: lx.nonzero(m, size=3, fill_value=-1), ([0, 1, -1], [1, 0, -1])),
        (lambda m: lx.nonzero(m, size=1), ([0], [1])),
        (lambda m: (lx.flatnonzero(m, size=2),), ([1, 3],)),
        (lambda m: (lx.argwhere(m > 0, size=3, fill_value=9),), ([[0, 1], [1, 0], [9, 9]],)),
        (lambda m: (lx.flatnonzero(m * 0, size=2, fill_value=7),), ([7, 7],)),
        (lambda m: (m[lx.nonzero(m, size=2)],), ([1, 2],)),
    ],
)
def test_places_of_a_known_number(function: Any, expected: Any) -> None:
    for found in (
        function(SPARSE),
        lx.jit(function)(SPARSE),
        lx.jit(function, dynamic=True)(SPARSE),
    ):
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == np.int64
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("size", [2, 4, 6])
def test_values_of_a_known_number(size: int) -> None:
    def function(x: Any) -> Any:
        return lx.unique(x, size=size, return_index=True, return_inverse=True, return_counts=True)

    values, index, inverse, counts = np.unique(
        TWICE, return_index=True, return_inverse=True, return_counts=True
    )
    for found in (function(TWICE), lx.jit(function)(TWICE)):
        one = [
            np.concatenate([each, np.repeat(fill, 6)])[:size]
            for each, fill in ((values, values[0]), (index, 0), (counts, 0))
        ]
        np.testing.assert_array_equal(found[0], one[0])
        np.testing.assert_array_equal(found[1], one[1])
        np.testing.assert_array_equal(found[2], inverse)
        np.testing.assert_array_equal(found[3], one[2])


@pytest.mark.parametrize("start", [0, 2, 9, -3])
def test_dynamic_slices_stay_inside(start: int) -> None:
    def part(x: Any, n: Any) -> Any:
        return lx.dynamic_slice(x, (n, 1), (2, 2))

    def put(x: Any, n: Any) -> Any:
        return lx.dynamic_update_slice(x, -x[:2, :2], (n, n))

    row = min(max(start, 0), 1)
    np.testing.assert_array_equal(part(X, start), X[row : row + 2, 1:3])
    for function in (part, put):
        np.testing.assert_array_equal(lx.jit(function)(X, start), function(X, start))
        np.testing.assert_array_equal(lx.jit(function, dynamic=True)(X, start), function(X, start))


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda x, n: x[n : n + 2], ExecutionError, "a slice is out of bounds"),
        (lambda x, n: x[:n], TraceError, r"its size is not known(.|\n)*lx\.dynamic_slice"),
        (lambda x, n: x[n : 2 * n], TraceError, "its size is not known"),
        (lambda x, n: np.bincount(n[None], minlength=2), ExecutionError, "not below minlength"),
        (lambda x, n: np.bincount(n[None]), TraceError, "give minlength="),
        (lambda x, n: lx.dynamic_slice(x, (n,), (2, 2)), ShapeError, "one start and one size"),
        (lambda x, n: lx.dynamic_slice(x, (n, 0), (2, 9)), ShapeError, "no size beyond"),
        (lambda x, n: lx.nonzero(x, size=-1), ArgumentError, "size=-1"),
        (lambda x, n: lx.nonzero(x[0, 0], size=1), ArgumentError, "rank 0"),
        (lambda x, n: np.unique(x), TraceError, r"lx\.unique\(x, size=n\)"),
        (lambda x, n: x[x > 1], TraceError, r"lx\.nonzero\(mask, size=n\)"),
        (lambda x, n: sliding_window_view(x[0], 9), ShapeError, "no larger than the array"),
    ],
)
def test_refused(function: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        lx.jit(function)(X, 3)


def test_slices_of_a_loop() -> None:
    """The number of a round is a place like any other."""
    x = random(8, dtype=np.float64)

    def sums(x: Any) -> Any:
        def step(i: Any, total: Any) -> Any:
            return total + x[i * 2 : (i + 1) * 2]

        return lx.loop(4, step, np.zeros(2))

    np.testing.assert_allclose(lx.jit(sums)(x), x.reshape(4, 2).sum(0))
