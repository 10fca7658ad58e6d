"""Convolutions, integrals, differences, polynomials and covariances, beside NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ShapeError
from traced_functions import check, random

X, Y, V, W = random(4, 6), random(4, 6, seed=2), random(9), random(4, seed=3)
C = random(5, dtype=np.complex64)
WORD: Any = "most"
THIRD: Any = 3


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(
    ("a", "v"),
    [(V, W), (W, V), (V, V), (V[:8], W), (W, V[:8]), (V[:8], W[:3]), (C, C[:2]), (C[:2], C)],
)
def test_convolutions(a: Any, v: Any, mode: Any) -> None:
    check(lambda a, v: (np.convolve(a, v, mode), np.correlate(a, v, mode)), a, v)


def test_convolutions_of_integers() -> None:
    check(lambda a, v: np.convolve(a, v), np.array([1, 2, 3]), np.array([0, 1, 5, 7], np.int8))


def test_integrals() -> None:
    check(
        lambda y, x: (
            np.trapezoid(y),
            np.trapezoid(y, dx=0.5, axis=0),
            np.trapezoid(y, np.arange(6.0) ** 2),
            np.trapezoid(y, x, axis=1),
        ),
        X,
        Y,
    )


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradients(edge_order: Any) -> None:
    check(
        lambda x: (
            np.gradient(x, edge_order=edge_order),
            np.gradient(x, 2.0, axis=1, edge_order=edge_order),
            np.gradient(x, 0.5, np.arange(6) ** 2.0, edge_order=edge_order),
            np.gradient(x[0], edge_order=edge_order),
        ),
        X,
    )
    check(lambda x: np.gradient(x, edge_order=edge_order), random(4, 6, dtype=np.int32))
    flat = lx.jit(lambda x: np.gradient(x, edge_order=edge_order))(np.full(5, 3.0))
    assert not np.signbit(flat).any()  # a sum that is 0 has no sign, at either edge


def test_differences_and_phases() -> None:
    check(lambda x: (np.ediff1d(x), np.ediff1d(x, [1, 2], 7)), X)
    check(lambda x: (np.unwrap(x * 3), np.unwrap(x, axis=0, period=1.0)), X, rtol=1e-4)
    check(lambda x: np.unwrap(x, period=7), random(4, 6, dtype=np.int32))
    check(lambda x: (np.sinc(x), np.sinc(x * 0)), X)
    check(lambda x: (np.angle(x), np.angle(x, deg=True), np.angle(x.real)), C)


def test_polynomials() -> None:
    check(
        lambda p, x: (
            np.polyval(p, x),
            np.polyadd(p, x[0]),
            np.polysub(x[0], p),
            np.polymul(p, x[0]),
            np.polyder(p),
            np.polyder(p, 2),
            np.polyint(p),
            np.polyint(p, 2, [1, 2]),
            np.vander(p),
            np.vander(p, 3, True),
        ),
        W,
        X,
    )
    check(lambda p: (np.polyder(p), np.polyint(p), np.polyval(p, p), np.vander(p, 0)), np.arange(4))


def test_covariances() -> None:
    check(
        lambda x, y: (
            np.cov(x),
            np.cov(x, rowvar=False),
            np.cov(x, bias=True),
            np.cov(x, y, ddof=0),
            np.cov(x[0]),
            np.corrcoef(x, y),
            np.corrcoef(x[0]),
        ),
        X,
        Y,
    )
    check(lambda x: np.cov(x), random(2, 5, dtype=np.complex64))


def test_spaces_between_arrays() -> None:
    a = random(3, 2, dtype=np.float64)
    check(
        lambda a: (
            np.linspace(a, a + 1, 4),
            np.linspace(a, 1, 1),
            np.linspace(0, a, 5, endpoint=False),
            np.logspace(a[0, 0], 3.0, 5),
            np.geomspace(np.abs(a[0, 0]) + 1, 9.0, 4),
        ),
        a,
    )


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda x: np.convolve(x, x), ShapeError, "one dimension each"),
        (lambda x: np.convolve(x[0], x[1], WORD), ArgumentError, "full, same or valid"),
        (lambda x: np.gradient(x, 1.0, 2.0, 3.0), ArgumentError, "3 distances for 2 axes"),
        (lambda x: np.gradient(x[:1]), ShapeError, "at least 2 elements"),
        (lambda x: np.gradient(x, edge_order=THIRD), ArgumentError, "1 or 2"),
        (lambda x: np.polyval(x, x), ShapeError, "one dimension of known size"),
        (lambda x: np.polyder(x[0], -1), ArgumentError, "0 or more"),
        (lambda x: np.vander(x), ShapeError, "one dimension"),
        (lambda x: np.cov(x[None]), ShapeError, "at most 2 dimensions"),
    ],
)
def test_what_is_wrong_is_said(function: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        lx.jit(function)(X)
