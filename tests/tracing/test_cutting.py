"""Parts of arrays, and arrays put into others, under `jit`, beside NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ExecutionError, ShapeError, TraceError
from traced_functions import check, random

X, Y, CUBE, V = random(4, 6), random(4, 6, seed=2), random(4, 5, 6), random(9)
WHOLE = random(4, 6, dtype=np.int32)
WORD: Any = "most"


def test_splits() -> None:
    check(lambda x: (np.hsplit(x, 3), np.vsplit(x, 2), np.hsplit(x, [2, 3])), X)
    check(lambda x: np.dsplit(x, 2), CUBE)
    check(lambda x: np.hsplit(x, 3), V)
    check(lambda x: (np.unstack(x), np.unstack(x, axis=1)), X)


def test_insertions() -> None:
    check(
        lambda x: (
            np.insert(x, 2, 5, axis=1),
            np.insert(x, 1, 7.0),
            np.insert(x, [1, 3], 9, axis=1),
            np.insert(x, -1, x[0], axis=0),
            np.insert(x, [0, 2], x[:2], axis=0),
            np.insert(x, [2], x[:, :3], axis=1),
        ),
        X,
    )
    check(
        lambda x: (
            np.insert(x, [1, 1, 4], [7, 8, 9]),
            np.insert(x, slice(0, 4), 1),
            np.insert(x, 3, [1, 2, 3]),
        ),
        V,
    )


def test_deletions_and_choices_of_rows() -> None:
    check(
        lambda x: (
            np.delete(x, 1, 0),
            np.delete(x, [0, 2], 1),
            np.delete(x, slice(0, 4, 2)),
            np.delete(x, -1, 1),
            np.compress([True, False, True], x, axis=0),
            np.compress([False, True, True, False, True, True], x, axis=1),
        ),
        X,
    )


def test_shapes() -> None:
    check(
        lambda x, y: (
            np.resize(x, (3, 3)),
            np.resize(x, 40),
            np.block([[x, y], [y, x]]),
            np.block([x, y]),
            np.block([[x[0]], [y[0]]]),
            np.block([1.0, x[0]]),
            np.diagflat(x[:2, :2]),
            np.diagflat(x[0], 1),
        ),
        X,
        Y,
    )
    check(
        lambda x: (
            np.rollaxis(x, 2),
            np.rollaxis(x, 0, 2),
            np.rollaxis(x, 1, 0),
            np.rollaxis(x, 0, 3),
        ),
        CUBE,
    )
    check(lambda x: (np.fft.fftshift(x), np.fft.ifftshift(x, 1)), random(5, 4))


def test_choices() -> None:
    check(
        lambda i, x, y: (
            np.choose(i % 2, [x, y]),
            np.choose(i, [x, y, x], mode="clip"),
            np.choose(i, (x, y), mode="wrap"),
        ),
        WHOLE,
        X,
        Y,
    )
    with pytest.raises(ExecutionError):
        lx.jit(lambda i, x, y: np.choose(i, [x, y]))(WHOLE, X, Y)


def test_places() -> None:
    check(lambda v: np.ix_(v, v[:3]), V)
    check(
        lambda i: (np.unravel_index(i % 24, (4, 6)), np.unravel_index(i % 24, (4, 6), order="F")),
        WHOLE,
    )
    check(
        lambda x: (
            x[np.tril_indices_from(x)],
            x[np.triu_indices_from(x, 1)],
            x[:, :4][np.diag_indices_from(x[:, :4])],
        ),
        X,
    )


def test_questions_of_elements() -> None:
    x = np.array([np.inf, -np.inf, np.nan, -0.0, 1.5, -2.5, 3], np.float32)
    check(
        lambda x: (
            np.isposinf(x),
            np.isneginf(x),
            np.isreal(x),
            np.iscomplex(x),
            np.fix(x),
            np.modf(x),
            np.astype(x, np.float64),
            np.array_equiv(x[4:], x[4:5]),
        ),
        x,
    )
    check(lambda x: (np.isreal(x), np.iscomplex(x)), random(4, dtype=np.complex64))
    signs = lx.jit(lambda x: np.modf(x)[0])(x)
    np.testing.assert_array_equal(np.signbit(signs[:4]), [False, True, False, True])
    assert lx.jit(lambda x: x if np.array_equiv(x, x[:, :4]) else -x)(X)[0, 0] == -X[0, 0]


def test_parts_one_by_one() -> None:
    check(lambda x: (sum(x), [2 * row for row in x], np.vstack(x), np.stack(x, 1)), X)

    def unpacked(x: Any) -> Any:
        a, b, *rest = x
        return a * b + rest[-1]

    check(unpacked, X)


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda x: np.vsplit(x[0], 2), ShapeError, "rank 2 or more"),
        (lambda x: np.insert(x, 9, 1.0, axis=0), ArgumentError, "insert: index 9 is out of bounds"),
        (lambda x: np.insert(x, 1, np.ones(5), axis=0), ShapeError, r"\(5,\)|\(1, 5\)"),
        (lambda x: np.delete(x, 9, 0), ArgumentError, "out of bounds"),
        (lambda x: np.delete(x, x[0].astype(int)), TraceError, "traced places"),
        (lambda x: np.compress(x[0] > 0, x), TraceError, "np.where"),
        (lambda x: np.choose(x.astype(int), [x, x], mode=WORD), TraceError, "clip or wrap"),
        (lambda x: np.diag_indices_from(x), ShapeError, "equal sizes"),
        (lambda x: list(x[0, 0]), TypeError, "rank 0"),
    ],
)
def test_what_is_wrong_is_said(function: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        lx.jit(function)(X)
