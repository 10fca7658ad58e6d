"""Arguments that are not arrays: named, by position, by annotation, and by what they are."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, TraceError

X = np.linspace(-1, 1, 4, dtype=np.float32)


class Mode(Enum):
    UP = 1
    DOWN = 2


@dataclass
class Layer:
    weight: Any
    activation: Any
    mode: str = "plain"


def kernels(function: Any) -> int:
    return len(function._compiled)


@pytest.mark.parametrize(
    ("values", "apply"),
    [
        (("up", "down"), lambda x, v: x + 1 if v == "up" else x - 1),
        ((np.float64, np.dtype("int32"), "float16"), lambda x, v: x.astype(v)),
        ((slice(0, 2), slice(1, None), slice(None, None, 2)), lambda x, v: x[v]),
        ((np.tanh, np.square, abs), lambda x, v: v(x)),
        ((Mode.UP, Mode.DOWN), lambda x, v: x if v is Mode.UP else -x),
        ((..., slice(2)), lambda x, v: x[v]),
    ],
)
def test_what_can_be_no_array_is_static(values: Any, apply: Any) -> None:
    function = lx.jit(apply)
    for value in (*values, *values):
        result = function(X, value)
        np.testing.assert_allclose(result, apply(X, value), rtol=1e-6)
        assert result.dtype == apply(X, value).dtype
    assert kernels(function) == len(values)


def test_a_dataclass_may_have_such_fields() -> None:
    @lx.jit
    def run(x: Any, layer: Layer) -> Any:
        y = layer.activation(x * layer.weight)
        return -y if layer.mode == "negated" else y

    for activation in (np.tanh, np.exp):
        for mode in ("plain", "negated"):
            expected = activation(X * X) * (-1 if mode == "negated" else 1)
            np.testing.assert_allclose(run(X, Layer(X, activation, mode)), expected, rtol=1e-6)
    assert kernels(run) == 4
    run(X, Layer(X + 1, np.tanh))  # another weight, and the same kernel
    assert kernels(run) == 4


def test_annotations_make_parameters_static() -> None:
    @lx.jit
    def scaled(x: Any, times: lx.Static[int], mode: Literal[1, 2] = 1) -> Any:
        for _ in range(times):
            x = x * mode
        return x

    np.testing.assert_array_equal(scaled(X, 3, mode=2), X * 8)
    np.testing.assert_array_equal(scaled(X, 0), X)
    assert kernels(scaled) == 2


def test_positions_make_parameters_static() -> None:
    function = lx.jit(lambda x, n, m: x[:n] * m, static_argnums=(1,))
    np.testing.assert_array_equal(function(X, 2, 3.0), X[:2] * 3)
    np.testing.assert_array_equal(lx.jit(lambda x, n: x[:n], static_argnums=-1)(X, 2), X[:2])
    with pytest.raises(ArgumentError, match=r"no parameter 3.*\n.*\n.*0 to 2: x, n, m"):
        lx.jit(lambda x, n, m: x, static_argnums=3)
    with pytest.raises(ArgumentError, match="static_argnums='n'"):
        lx.jit(lambda x, n: x, static_argnums="n")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="positions are static_argnums"):
        lx.jit(lambda x, n: x, static_argnames=(1,))  # type: ignore[arg-type]


def test_the_twentieth_kernel_of_a_static_argument_is_warned_of() -> None:
    function = lx.jit(lambda x, name: x + len(name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for count in range(19):
            function(X, "n" * count)
    with pytest.warns(UserWarning, match="compiled 20 times .* each value of name") as caught:
        function(X, "n" * 19)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(X, "n" * 20)
        for size in range(1, 25):  # other shapes are other kernels, and meant
            function(X[:1].repeat(size), "n")


def test_an_unknown_keyword_lists_those_that_there_are() -> None:
    with pytest.raises(ArgumentError, match=r"(?s)static_argnames, .*did you mean dynamic"):
        lx.jit(lambda x: x, dynamc=True)  # type: ignore[call-overload]


def test_a_string_is_no_result() -> None:
    with pytest.raises(ArgumentError):
        lx.jit(lambda x: (x, "a"))(X)


@pytest.mark.parametrize(
    ("function", "instead"),
    [
        (lambda x: math.sin(x[0]), "np.sin(x[0])"),
        (lambda x: math.atan2(x[0], x[1]), "np.arctan2(x[0], x[1])"),
        (lambda x: math.floor(x[0]), "np.floor(x[0])"),
        (lambda x: math.pow(x[0], 2), "np.power(x[0], 2)"),
        (lambda x: min(x[0], x[1], 0), "np.minimum(np.minimum(x[0], x[1]), 0)"),
        (lambda x: max(x), "np.max(x)"),
        (lambda x: 0 < x[0] < 2, "np.logical_and(0 < x[0], x[0] < 2)"),
        (lambda x: x[0] > 0 and x[1] < 1, "np.logical_and(x[0] > 0, x[1] < 1)"),
        (lambda x: x[0] > 0 or x[1] < 1, "np.logical_or(x[0] > 0, x[1] < 1)"),
        (lambda x: not x[0], "np.logical_not(x[0])"),
        (lambda x: round(x[0]), "np.round(x)"),
        (lambda x: x if x[0] > 0 else -x, "lx.cond(condition, then, otherwise)"),
        (lambda x: float(x[0]), "x.astype(float)"),
    ],
)
def test_what_python_asks_is_answered_with_what_to_write(function: Any, instead: str) -> None:
    with pytest.raises(TraceError) as caught:
        lx.jit(function)(X)
    assert instead in str(caught.value)
