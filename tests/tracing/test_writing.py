"""Writes into arrays: as NumPy's, under each name and through views, or refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import DTypeError, ExecutionError, ShapeError, TraceError
from traced_functions import check

X = np.arange(12.0).reshape(3, 4)
PLACES = np.array([2, 0, 2])


def _elements(x: Any, i: Any) -> Any:
    acc = np.zeros(3)
    acc[1] = x.sum()
    acc[0] += x[0, 0]
    x = x.copy()
    x[i[0]] = 1
    x[i[1], 2] += 5
    return acc, x


def _rows(x: Any, i: Any) -> Any:
    out = np.empty_like(x)
    for k in range(3):
        out[k] = x[k] * k
    for k in range(1, 3):
        out[k] += out[k - 1]
    return out


def _names(x: Any, i: Any) -> Any:
    a = np.zeros(3)
    b, v = a, a[1:]
    a[0] = 1
    b[1] = x[0, 1]
    v[1] = 4
    c = x + 0
    d = c
    d += 1
    c[1] -= 5
    return a, b, v, c, d


def _views(x: Any, i: Any) -> Any:
    a = x.copy()
    row, turned, flat = a[0], np.swapaxes(a, 0, 1)[1:], a.reshape(-1)
    back = a[::-1]
    row[:] = 1
    turned[0] = 5
    flat[7] = 100
    back[0] += 2
    left, right = np.split(a, 2, axis=1)
    left[:] *= 3
    right[..., 0] = -1
    np.squeeze(a[None])[1] = 8
    a.T[3] = 7
    np.rot90(a)[0] += 1
    return a, row, turned, flat, back, left, right


def _views_of_zeros(x: Any, i: Any) -> Any:
    a = np.zeros((2, 2))
    flat, row = a.ravel(), a[1]
    flat[1] = x[1, 1]
    row += x[0, :2]
    a.T[0] = 7
    return a, flat, row


def _masks(x: Any, i: Any) -> Any:
    a, b, c = x * 1, x * 1, x.copy()
    a[a > 5] = 0
    b[b > 8] = np.array([1.0, 2.0, 3.0])
    c[:, x[0] > 1] = 0
    c[1, x[1] > 5] = -3
    return a, b, c


def _selections(x: Any, i: Any) -> Any:
    a, b = x - 5, x.copy()
    low = a < 0
    a[low] *= -1
    a[low] += a[low] * 2
    b[b > 3] = np.sqrt(b[b > 3]) + 1
    before = b[low]
    b[low] = 0
    return a, b, before.sum(), a[low].mean(), x[x > 7].max(), np.std(x[low])


def _arrays(x: Any, i: Any) -> Any:
    a = x.copy()
    a[:, i] = np.arange(3.0)[:, None]
    a[1:, [0, 1]] += 1
    a[::2, ::-1] = x[:2]
    a[:, 1::2] *= 2
    return a


def _functions(x: Any, i: Any) -> Any:
    a, b, c, d, e = (x.copy() for _ in range(5))
    sums = np.zeros(3)
    np.add.at(sums, i, 1.5)
    np.put_along_axis(a, i[:, None], 7.0, axis=1)
    np.fill_diagonal(b, 9)
    np.copyto(c, 0, where=x > 3)
    np.put(d, [1, 5, -1], [1.0, 2.0])
    np.putmask(d, x > 9, [7.0, 8.0, 9.0, 10.0, 11.0])
    np.place(d, x < 2, [3.0, 4.0])
    e.fill(x[1, 1])
    return sums, a, b, c, d, e


def _sorts(x: Any, i: Any) -> Any:
    a, b = -x, x.copy()[::-1]
    a.sort()
    b.sort(axis=0)
    return a, b


def _results(x: Any, i: Any) -> Any:
    a, b, c = np.empty((3, 4)), np.zeros(4), np.zeros((3, 3))
    np.add(x, 1, out=a)
    np.sum(x, axis=0, out=b)
    np.exp(x, out=a, where=x < 1)
    np.dot(x, x.T, out=c)
    return a, b, c, np.clip(x, 1, 3, a)


def _numbers(x: Any, i: Any) -> Any:
    weights = np.zeros(4)
    weights[1] = 2
    weights[2:] = 1
    chosen = np.arange(4)[weights > 0]
    total = x.sum()
    before = total
    total += 1
    return x[:, chosen] * weights[chosen], float(weights[1]) * x, total, before


def _casts(x: Any, i: Any) -> Any:
    a = i.copy()
    a[0] = x[0, 1] + 0.7
    a[1] = 2.9
    b = x.astype(float)
    b += 1
    return a, b, x


PROGRAMS = {
    function.__name__[1:]: function
    for function in (
        *(_elements, _rows, _names, _views, _views_of_zeros, _masks, _selections, _arrays),
        *(_functions, _sorts, _results, _numbers, _casts),
    )
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_numpy(name: str) -> None:
    check(PROGRAMS[name], X, PLACES)


def test_arrays_of_traced_values_are_made_by_numpys_names() -> None:
    check(
        lambda x: (
            np.array([x[0, 0], 2, x[1, 1]]),
            np.array([[x[0], x[1]]]),
            np.asarray(x),
            np.ascontiguousarray(x.T),
        ),
        X,
    )
    assert lx.jit(lambda x: x + np.zeros(x.shape), dynamic=True)(X).shape == (3, 4)


def test_a_list_of_traced_values_is_an_array_where_numpy_takes_one() -> None:
    check(
        lambda x, w: (
            np.max([x.max(), w[0].sum(), 2]),
            np.mean(a=[[x[0], x[1]], [x[2], x[0] + 1]], axis=0),
            np.linalg.norm([x[0, 0], w[1, 0]]),
            [x[0], x[1]] @ w,
            w - [x[0, 0], 1],
            np.multiply.outer([x[0, 0], x[1, 1]], x[2]),
            np.where(w > 0, [x[0, 0], x[1, 1]], 0),
            np.clip([x[0], x[1]], 0.5, x[2, 3]),
        ),
        X,
        X.reshape(4, 3)[:, 1:] - 4,
    )
    check(lambda values: np.sum(values) + np.argmax(values), [1.0, 3.0, 2.0])


def _into_argument(x: Any) -> Any:
    x[0] = 1
    return x


def _into_view_of_argument(x: Any) -> Any:
    turned = x.T
    turned += 1
    return x


def _by_layout(x: Any) -> Any:
    flat = (x * 2).reshape(-1)
    flat[0] = 1
    return flat


def _after_layout(x: Any) -> Any:
    turned = (x * 2).T
    flat = turned.reshape(-1)
    turned += 1
    return flat


def _into_diagonal(x: Any) -> Any:
    x = x.copy()
    np.diagonal(x)[:] = 0
    return x


def _into_scalar(x: Any) -> Any:
    total = x.sum()
    total[...] = 1
    return total


OUTSIDE = np.zeros(3)


def _into_outside(x: Any) -> Any:
    OUTSIDE[0] = x[0, 0]
    return x


def _unfit(x: Any) -> Any:
    counts = np.zeros(3, int)
    counts += x[0, :3]
    return counts


def _in_a_body(x: Any) -> Any:
    total = np.zeros(4)

    def body(i: Any, s: Any) -> Any:
        total[0] = 1
        return s

    return lx.loop(3, body, x), total


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (_into_argument, TraceError, r"an argument is written(.|\n)*x = x\.copy\(\)"),
        (_into_view_of_argument, TraceError, "an argument is written"),
        (_by_layout, TraceError, "layout in memory"),
        (_after_layout, TraceError, "used after the array that it was made of was written"),
        (_into_diagonal, TraceError, "read-only view"),
        (_into_scalar, TraceError, "a scalar"),
        (_into_outside, TraceError, r"np\.zeros"),
        (_unfit, DTypeError, "does not go into an array of int64"),
        (_in_a_body, TraceError, "outside is written in place"),
        (lambda x: np.sum(x, axis=0, out=OUTSIDE), TraceError, "with out="),
        (lambda x: x.copy().__setitem__((0, 9), x[0]), ShapeError, "out of bounds"),
    ],
)
def test_refused(function: Callable[[Any], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        lx.jit(function)(X)


def test_the_run_checks_that_there_is_a_value_for_each_true_place() -> None:
    def put(x: Any, values: Any) -> Any:
        x = x.copy()
        x[x > 8] = values
        return x

    with pytest.raises(ExecutionError, match="as many values as there are true places"):
        lx.jit(put)(X, np.ones(2))


def test_what_a_mask_selects_has_no_shape() -> None:
    for function in (
        lambda x: x[x > 1],
        lambda x: np.sort(x[x > 1]),
        lambda x: x[x > 1].shape,
        lambda x: x[x > 1] + x[0],
        lambda x: np.sum(x[x > 1], axis=0),
        lambda x: np.concatenate([x[x > 1], x[0]]),
    ):
        with pytest.raises(TraceError, match=r"of x\[mask\](.|\n)*lx\.nonzero\(mask, size=n\)"):
            lx.jit(function)(X)
    with pytest.raises(ExecutionError, match="masks that differ"):
        lx.jit(lambda x: (x[x > 1] + x[x > 2]).sum())(X)
    with pytest.raises(ExecutionError, match="max of no elements"):
        lx.jit(lambda x: x[x > 99].max())(X)


def test_code_of_c_gets_arrays_of_memory() -> None:
    """Generators make their results by `numpy.empty`, and write into the memory."""
    drawn = np.random.RandomState(3).rand(3)
    found = lx.jit(lambda x: x[0, :3] + np.random.RandomState(3).rand(3))(X)
    np.testing.assert_array_equal(found, X[0, :3] + drawn)


def test_other_threads_get_arrays_of_memory() -> None:
    made: list[Any] = []

    def function(x: Any) -> Any:
        thread = threading.Thread(target=lambda: made.append(np.zeros(3)))
        thread.start()
        thread.join()
        made.append(np.zeros(3))
        return x + 1

    lx.jit(function)(X)
    assert [type(each) is np.ndarray for each in made] == [True, False]
    assert type(np.zeros(3)) is np.ndarray
