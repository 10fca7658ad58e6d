"""Medians, quantiles and places in sorted arrays under `jit`, beside NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ShapeError, TraceError
from traced_functions import agree, check, random

UNKNOWN: Any = "odd"

X, WHOLE, CUBE = random(4, 6), random(4, 6, dtype=np.int32), random(4, 5, 6)
ROW = random(9)
SORTED = np.sort(ROW)
WORD: Any = "most"


def with_nan() -> Any:
    x = X.copy()
    x[1, 2], x[2] = np.nan, np.nan
    return x


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("x", [X, WHOLE, CUBE], ids=["f32", "i32", "cube"])
def test_quantiles(x: Any, axis: Any, keepdims: bool) -> None:
    options: Any = {"axis": axis, "keepdims": keepdims}
    check(
        lambda x: (
            np.median(x, **options),
            np.percentile(x, 40, **options),
            [np.quantile(x, q, **options) for q in (0, 1, 0.3, [0.1, 0.55, 1.0], [0, 1])],
        ),
        x,
    )


@pytest.mark.parametrize("method", ["lower", "higher", "midpoint", "nearest", "linear"])
def test_methods(method: Any) -> None:
    for x in (X, WHOLE, random(9)):
        check(
            lambda x: (
                np.quantile(x, 0.37, method=method),
                np.quantile(x, [0.2, 0.5], 0, method=method),
                np.percentile(x, 37.5, method=method),
            ),
            x,
        )


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_quantiles_without_nan(axis: Any) -> None:
    check(
        lambda x: (
            np.nanmedian(x, axis),
            np.nanmedian(x, axis, keepdims=True),
            np.nanquantile(x, 0.3, axis),
            np.nanpercentile(x, [10, 50], axis, keepdims=True),
        ),
        with_nan(),
    )


def test_a_row_with_nan_has_none() -> None:
    check(lambda x: (np.median(x, 1), np.quantile(x, 0.4, 1), np.median(x)), with_nan())
    infinite = np.array([[np.inf, np.inf, 1], [-np.inf, 0, np.inf]], np.float32)
    check(lambda x: np.median(x, 1), infinite)


def test_quantiles_of_open_sizes() -> None:
    f = lx.jit(
        lambda x: (np.median(x, 1), np.quantile(x, 0.3, axis=1), np.searchsorted(x[0], x)),
        dynamic=True,
    )
    for shape in ((3, 7), (2, 4), (1, 1)):
        x = np.sort(random(*shape), 1)
        found = f(x)
        agree(found[0], np.median(x, 1))
        agree(found[1], np.quantile(x, 0.3, axis=1))
        agree(found[2], np.searchsorted(x[0], x))


@pytest.mark.parametrize("side", ["left", "right"])
def test_places_in_a_sorted_row(side: Any) -> None:
    check(lambda a, v: np.searchsorted(a, v, side), SORTED, X)
    check(lambda a, v: np.searchsorted(a, v, side), SORTED, SORTED)
    check(lambda a, v: np.searchsorted(a, v, side), SORTED[:1], X)
    check(lambda a, v: np.searchsorted(a, v, side), SORTED[:0], X)
    check(lambda a, v: np.searchsorted(a, v, side), np.array([1, 1, 1, 3, 3, 7]), WHOLE % 9)
    check(
        lambda a, v: np.searchsorted(a, v, side), np.append(SORTED, np.float32("nan")), with_nan()
    )
    check(lambda v: np.searchsorted(SORTED, v, side), np.float32(0.3))
    check(lambda a, v: np.searchsorted(a, v, side, np.argsort(a)), ROW, X)


@pytest.mark.parametrize("right", [False, True])
def test_bins(right: bool) -> None:
    check(
        lambda x: (np.digitize(x, [-1, 0, 0.5, 1], right), np.digitize(x, [1, 0.5, 0, -1], right)),
        X,
    )


@pytest.mark.parametrize("bins", [10, [-2, -1, 0, 0.5, 2]])
def test_histograms(bins: Any) -> None:
    check(lambda x: (np.histogram(x, bins), np.histogram(x, bins, density=True)), X)
    check(lambda x, w: np.histogram(x, bins, weights=w), X, random(4, 6, seed=2))
    check(lambda x: (np.histogram(x, 7, range=(-1, 1)), np.histogram(x * 0, 3)), X)
    check(lambda x: np.histogram(x, 5), WHOLE)
    if isinstance(bins, int):
        on_edges = np.concatenate([np.linspace(-3, 5, 41), np.nextafter(np.linspace(-3, 5, 41), 9)])
        for dtype in (np.float64, np.float32):
            check(lambda x: np.histogram(x, 40, range=(-3, 5)), on_edges.astype(dtype))


def test_interpolation() -> None:
    check(lambda x: np.interp(x, [-1, 0, 0.5], [3.0, 1, 2]), X)
    check(lambda x, a, b: np.interp(x, a, b, left=-5, right=5), X, SORTED, ROW)


def test_membership() -> None:
    check(
        lambda x, y: (np.isin(x, y), np.isin(x, [1, 2]), np.isin(x, y, invert=True)),
        WHOLE,
        WHOLE[:1],
    )
    many = random(500, dtype=np.int32, seed=9)
    check(lambda x, y: (np.isin(x, y), np.isin(x, y[:0])), WHOLE, many)


def test_orders_by_several_keys() -> None:
    keys = random(3, 20, dtype=np.int32) // 30
    check(lambda k: (np.lexsort(k), np.lexsort((k[0], k[2]))), keys)


def test_a_partition_is_one_at_every_place() -> None:
    found, places = lx.jit(lambda x: (np.partition(x, 2), np.argpartition(x, 2)))(X)
    np.testing.assert_array_equal(found[:, 2], np.sort(X)[:, 2])
    np.testing.assert_array_equal(np.take_along_axis(X, places, -1), found)


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda x: np.quantile(x, 1.5), ArgumentError, "q=1.5.*(.|\n)*from 0 to 1"),
        (lambda x: np.percentile(x, -1), ArgumentError, "q=-1.*(.|\n)*from 0 to 100"),
        (lambda x: np.quantile(x, x[0, 0]), TraceError, "a traced q"),
        (lambda x: np.quantile(x, 0.5, method=UNKNOWN), TraceError, "use linear"),
        (lambda x: np.median(x[:0]), ShapeError, "median of no elements"),
        (lambda x: np.median(x, 5), ShapeError, "axis 5 of an array of rank 2"),
        (lambda x: np.searchsorted(x, 1.0), ShapeError, "one dimension"),
        (lambda x: np.searchsorted(x[0], 1.0, WORD), ArgumentError, "left or right"),
        (lambda x: np.digitize(x, [0, 2, 1]), ArgumentError, "go up and down"),
        (lambda x: np.histogram(x, "auto"), TraceError, "give a number of bins"),
        (lambda x: np.histogram(x, 0), ArgumentError, "1 or more"),
        (lambda x: np.interp(x, [0, 1], [2, 3], period=1), TraceError, "remainder"),
    ],
)
def test_what_is_wrong_is_said(function: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        lx.jit(function)(X)
