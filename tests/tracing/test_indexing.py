"""`x[...]` and `x.at[...]`, beside NumPy's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ExecutionError, LinalgExtError, ShapeError, TraceError
from traced_functions import agree, check, random

X = random(4, 5)


def test_integers_slices_and_new_axes() -> None:
    check(
        lambda x: (
            x[0],
            x[-1],
            x[1, 2],
            x[:, 1],
            x[::-1],
            x[1::2, ::-2],
            x[..., 0],
            x[None, :, None],
            x[..., None, ::2],
            x[1:1],
            x[9:],
            x[-3:-1, -9:3],
            x.T[1:, 2],
            x[None][0, 1:, None, 3],
            x[2:3].T,
        ),
        X,
    )


def test_arrays_of_integers() -> None:
    rows, columns = np.array([2, 0, 3, -1]), np.array([[1], [3]])
    check(
        lambda x, i, j: (
            x[i],
            x[:, i],
            x[i, i],
            x[i, 0],
            x[0, i],
            x[i[:, None], j[:, 0]],
            x[None, i],
            x[j],
            x[i][:, 1:],
            x[[0, 2]],
            x[rows, 1:],
            np.take(x, i, axis=1),
            np.take(x, i),
            np.take(x, i + 9, mode="wrap"),
            np.take_along_axis(x, x.argsort(1) if isinstance(x, np.ndarray) else j0(x), axis=1),
        ),
        X,
        rows,
        columns,
    )


def j0(x: Any) -> Any:
    """The order of each row: how many elements are smaller, and then where that is the place."""
    ranks = (x[:, None, :] < x[:, :, None]).sum(-1)
    return (ranks[:, None, :] == np.arange(5)[:, None]).astype(np.int64) @ np.arange(5)


def test_axes_between_arrays() -> None:
    check(lambda x, i: (x[i, :, i], x[:, i, 0], x[i, None, 1]), random(4, 3, 4), np.array([0, 2]))


def test_masks_that_are_known() -> None:
    mask = X > 0
    check(lambda x: (x[mask], x[mask[:, 0]]), X)


@pytest.mark.parametrize("index", [[0, 4], [-5, 0]])
def test_an_index_out_of_bounds_is_an_error(index: list[int]) -> None:
    with pytest.raises(ExecutionError, match="out of bounds"):
        lx.jit(lambda x, i: x[i])(X, np.array(index))
    with pytest.raises(ShapeError, match="out of bounds"):
        lx.jit(lambda x: x[np.array(index)])(X)


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        (4, ShapeError),
        ((0, 0, 0), ShapeError),
        ((..., ...), ShapeError),
        ("a", LinalgExtError),
        (True, TraceError),
        (1.5, LinalgExtError),
    ],
)
def test_what_is_no_index_is_refused(index: Any, kind: type[LinalgExtError]) -> None:
    with pytest.raises(kind):
        lx.jit(lambda x: x[index])(X)


def test_updates() -> None:
    places = np.array([0, 2, 0])

    def update(x: Any, mask: Any) -> Any:
        if isinstance(x, np.ndarray):
            return in_numpy(x, mask)
        return (
            x.at[1:3].set(0),
            x.at[0].add(5),
            x.at[:, ::-2].multiply(np.arange(3, dtype=np.float32)),
            x.at[places].add(1.0),
            x.at[places, 1].set(2.0),
            x.at[mask].set(-1),
            x.at[2, 2].max(9),
            x,
        )

    def in_numpy(x: Any, mask: Any) -> Any:
        a, b, c, d, e, f, g = (x.copy() for _ in range(7))
        a[1:3] = 0
        b[0] += 5
        c[:, ::-2] *= np.arange(3, dtype=np.float32)
        np.add.at(d, places, 1.0)
        e[places, 1] = 2.0
        f[mask] = -1
        g[2, 2] = max(g[2, 2], 9)
        return a, b, c, d, e, f, g, x

    check(update, X, X > 0)


@pytest.mark.parametrize("index", [-4, 5, (..., -3), (slice(None), 2)])
def test_integers_beyond_an_open_axis(index: Any) -> None:
    """A negative one would be a place before the array."""
    x = np.arange(6.0).reshape(3, 2)
    part = lx.jit(lambda x: x[index], dynamic=True)
    with pytest.raises(IndexError):
        x[index]
    with pytest.raises(ShapeError, match=r"index .* of axis"):
        part(x)
    wide = np.arange(48.0).reshape(6, 8)
    np.testing.assert_array_equal(part(wide), wide[index])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "index",
    [
        ([True, False],),
        (slice(None), [True, False, True]),
        (..., [True, False, True]),
        (None, np.zeros((4, 3), bool)),
        np.array([1.0]),
        [0.5],
    ],
)
def test_masks_of_other_sizes_and_floats_are_refused(index: Any, dynamic: bool) -> None:
    x = random(3, 4)
    with pytest.raises(IndexError):
        x[index]
    with pytest.raises(ArgumentError, match="an index by"):
        lx.jit(lambda x: x[index], dynamic=dynamic)(x)


@pytest.mark.parametrize(
    "index",
    [
        lambda n: [n - 1, 0],
        lambda n: ((0, 1), (1, n - 1)),
        lambda n: (range(2), 1),
        lambda n: (..., [True, False, True]),
    ],
)
def test_sequences_as_indices(index: Callable[[Any], Any]) -> None:
    x = random(3, 3)
    for dynamic in (False, True):
        part = lx.jit(lambda x: x[index(x.shape[0])], dynamic=dynamic)
        agree(part(x), x[index(3)])
