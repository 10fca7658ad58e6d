"""What a traced value cannot do is refused at the user's line, and never answered wrongly."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import (
    ArgumentError,
    ArityError,
    DTypeError,
    ExecutionError,
    ShapeError,
    TraceError,
)
from resources import package

NUMPY: Any = np  # which takes what its types do not allow
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x else -x,
        lambda x: x if (x > 0).any() else -x,
        lambda x: [v + 1 for v in np.repeat(x, 2000, axis=0)],
        lambda x: 1 in x,
        lambda x: range(x[0, 0].astype(int)),
        lambda x: x[x > 0],
        lambda x: x.item(),
        float,
        int,
        math.sqrt,
        operator.index,
        lambda x: list(np.ravel(np.tile(x, 2000))),
        np.unique,
        np.roots,
        np.float32,
        lambda x: f"{x[0, 0]:.2f}",
        lambda x: np.exp(x, where=x > 0),
        lambda x: np.isnat(x),
    ],
)
def test_what_is_not_recorded_says_so(function: Callable[[Any], Any]) -> None:
    with pytest.raises(TraceError, match="traced") as caught:
        lx.jit(lambda x: function(x))(X)
    assert caught.value.where is not None
    assert caught.value.hint


def test_the_cure_names_the_nearest_function() -> None:
    with pytest.raises(TraceError, match=r"numpy\.polydiv.*(.|\n)*np\.poly"):
        lx.jit(lambda x: np.polydiv(x[0], x[1]))(X)


def test_optional_attributes_are_absent() -> None:
    assert lx.jit(lambda x: x + 1 if hasattr(x, "strides") else x)(X)[0, 0] == 0


def test_a_value_of_another_trace_is_refused() -> None:
    """Its tensor is gone: to touch it would be the end of the process."""
    leaked: list[Any] = []

    @lx.jit
    def leak(x: Any) -> Any:
        leaked.append(x)
        return x + 1

    leak(X)
    for misuse in (
        lambda: leaked[0] + 1,
        lambda: lx.ops.exp(leaked[0]),
        lambda: leaked[0].value,
        lambda: lx.jit(lambda x: x + leaked[0])(X),
        lambda: lx.jit(lambda x: lx.ops.add(leaked[0], x))(X),
    ):
        with pytest.raises(TraceError, match="another trace"):
            misuse()
    assert leaked[0].shape == (2, 3)


def test_jitted_functions_are_traced_along() -> None:
    inner = lx.jit(lambda x, y: x * y)
    outer = lx.jit(lambda x: inner(x, y=2.0) + 1)
    np.testing.assert_array_equal(outer(X), X * 2 + 1)


def test_operators_of_numpy_are_ours() -> None:
    """`array + traced` begins at NumPy."""
    ones = np.ones((2, 3), np.float32)
    for function in (
        lambda x: ones + x,
        lambda x: ones - x,
        lambda x: np.float32(2) * x,
        lambda x: ones / (x + 1),
        lambda x: np.ones((4, 2), np.float32) @ x,
        lambda x: np.add(ones, x),
    ):
        np.testing.assert_allclose(lx.jit(function)(X), function(X), strict=True)


def test_masked_arrays_are_refused() -> None:
    masked = np.ma.masked_greater(X, 2)
    for misuse in (lambda: lx.jit(lambda x: x)(masked), lambda: lx.jit(lambda x: x + masked)(X)):
        with pytest.raises(ArgumentError, match="masked array"):
            misuse()


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array([None])])
def test_an_argument_that_is_no_array_is_named(value: Any) -> None:
    with pytest.raises(DTypeError, match="argument 1 of total"):
        lx.jit(total)(X, value)


def total(x: Any, y: Any) -> Any:
    return x + y


def test_a_container_is_no_array() -> None:
    with pytest.raises(DTypeError, match="a dict cannot be traced"):
        lx.jit(total)(X, {"a": 1})


def test_arguments_are_bound_as_pythons_are() -> None:
    jitted = lx.jit(total)
    np.testing.assert_array_equal(jitted(y=X, x=2 * X), 3 * X)
    wrong: Any = (((X,), {}), ((X, X, X), {}), ((X, X), {"z": X}), ((X,), {"x": X}))
    for args, named in wrong:
        with pytest.raises(ArityError, match="total"):
            jitted(*args, **named)


def test_a_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(DTypeError, match="300 does not fit the dtype int8"):
        lx.jit(lambda x: x + 300)(np.ones(3, np.int8))


def test_functions_of_jax_and_pytorch_refuse_traced_values_with_what_serves() -> None:
    jax_numpy = package("jax.numpy", "jax")
    torch = package("torch", "torch")
    for function, name in ((jax_numpy.sin, "JAX's"), (torch.sin, "PyTorch's sin")):
        with pytest.raises(TraceError, match=name) as raised:
            lx.jit(lambda x, call=function: call(x))(np.ones(3))
        assert "lx.from_" in str(raised.value.hint)
    constant = lx.jit(lambda x: jax_numpy.ones(3) + x)  # JAX computes with its own arrays
    np.testing.assert_array_equal(constant(np.ones(3)), np.full(3, 2.0))
    struct = package("jax", "jax").ShapeDtypeStruct((3,), "float64")
    assert lx.jit(lambda x: x + 1).lower(struct).compile()(np.ones(3)).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: np.unpackbits(x.astype(np.uint8), count=-49), ValueError),
        (lambda x: np.broadcast_to(x, (-1, 2, 3)), ValueError),
        (lambda x: np.isposinf(x + 1j), TypeError),
        (lambda x: np.isneginf(x + 1j), TypeError),
        (lambda x: np.average(x, weights=[1, 2, 3]), TypeError),
        (lambda x: np.average(x, axis=0, weights=[1, 2, 3]), ValueError),
        (lambda x: np.gradient(x, [1, 2]), TypeError),
        (lambda x: np.histogram(x, bins=2.5), TypeError),
        (lambda x: np.histogram(x, bins=[0, 2, 1]), ValueError),
        (lambda x: np.histogram(x, bins=[[0, 1], [2, 3]]), ValueError),
        (lambda x: np.histogram(x, range=(2, 1)), ValueError),
        (lambda x: np.histogram(x, range=(np.nan, 1)), ValueError),
        (lambda x: NUMPY.bincount(x[0].astype(int), minlength="3"), TypeError),
        (lambda x: np.bincount(x[0].astype(int), minlength=-1), ValueError),
        (lambda x: np.array_split(x, 0), ValueError),
        (lambda x: np.take_along_axis(x, np.array(1), axis=1), ValueError),
        (lambda x: NUMPY.isin(x, [1], kind="quicksort"), ValueError),
        (lambda x: np.isin(x, [1], kind="table"), ValueError),
        (lambda x: np.unravel_index(x, (7,)), TypeError),
        (lambda x: np.rollaxis(x, 0, -5), ValueError),
        (lambda x: np.linalg.matrix_power(x, 1), ValueError),
        (lambda x: NUMPY.pad(x, 1.5), TypeError),
        (lambda x: np.clip(x, 1), TypeError),
        (lambda x: np.clip(x, 1, 2, max=3), ValueError),
        (lambda x: np.std(x, ddof=1, correction=1), ValueError),
        (lambda x: np.nanvar(x, ddof=1, correction=1), ValueError),
    ],
)
def test_what_numpy_raises_for_is_refused(function: Callable[[Any], Any], error: Any) -> None:
    with pytest.raises(error):
        function(X)
    with pytest.raises(error) as caught:
        lx.jit(lambda x: function(x))(X)
    assert isinstance(caught.value, ArgumentError)


def test_traced_bins_that_go_down_stop_the_run() -> None:
    compute = lx.jit(lambda x, bins: np.histogram(x, bins=bins)[0])
    assert compute(X, np.array([0, 2, 6])).tolist() == [2, 4]
    with pytest.raises(ExecutionError, match="bins have to grow"):
        compute(X, np.array([0, 2, 1]))


def test_elements_that_are_selected_and_returned_are_refused_where_they_are_selected() -> None:
    def positive(x: Any) -> Any:
        return x[x > 0]

    with pytest.raises(TraceError, match="how many elements") as caught:
        lx.jit(positive)(X)
    assert ", in positive:" in str(caught.value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (operator.add, r"add of shapes \(2, 3\) and \(2,\): sizes 3 and 2 do not broadcast\n"),
        (operator.matmul, r"matmul of shapes .* sums over sizes that differ: 3 and 2\n"),
    ],
)
def test_sizes_that_do_not_fit_are_named(function: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message + r"  .*test_misuse\.py"):
        lx.jit(function)(X, X[:, 0])
