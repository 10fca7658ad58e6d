"""A copy of a recorded call is what the recorder would record, at the line of the call."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import TraceError
from linalg_ext.tracing.functions import repeated_calls
from linalg_ext.tracing.functions.ufuncs import record_ufunc

ROUNDS = 4
"""The first call is recorded, the second one apart, and the others are copies of it."""


def _chain(x: Any, y: Any) -> Any:
    for _ in range(ROUNDS):
        x = np.tanh(x * 0.5 + y)
        x = x - np.mean(x, axis=-1, keepdims=True)
    return x


def _products(x: Any, y: Any) -> Any:
    for _ in range(ROUNDS):
        x = x @ y.T + np.transpose(x)
    return x


def _same_operand_twice(x: Any, y: Any) -> Any:
    for _ in range(ROUNDS):
        x = (x * x - x * y) + (x @ x - y @ x)
    return x


def _numbers_that_are_equal_but_not_alike(x: Any, y: Any) -> Any:
    for _ in range(ROUNDS):
        x = x + np.copysign(y, 0.0) + np.copysign(y, -0.0)
        x = x + (y.astype(np.int32) + 1) + (y.astype(np.int32) + 1.0) + (y.astype(np.int32) + True)
    return x


def _other_axes(x: Any, y: Any) -> Any:
    for axis in (0, 1, 0, 1, 0, 1, None, None, None):
        x = x + np.sum(y, axis=axis) + np.expand_dims(np.max(x, axis=0), 0)
    return x


def _broadcasts(x: Any, y: Any) -> Any:
    for _ in range(ROUNDS):
        x = x + y[0] + y[:, :1] + np.reshape(y, (1, -1))[0, :4]
    return x


def _several_results(x: Any, y: Any) -> Any:
    for _ in range(ROUNDS):
        whole, part = np.divmod(x, y)
        x = whole * 0.25 + part + np.concatenate([x[:2], y[2:]])
    return x


def _integer_powers(x: Any, y: Any) -> Any:
    # The run checks the exponents, and names the line.
    for _ in range(ROUNDS):
        x = x + np.power(np.abs(x).astype(np.int32), np.abs(y).astype(np.int32) % 2)
    for _ in range(ROUNDS):
        x = x + np.power(np.abs(x).astype(np.int32), np.abs(y).astype(np.int32) % 2)
    return x


def _in_a_loop(x: Any, y: Any) -> Any:
    def body(_: Any, state: Any) -> Any:
        for _ in range(ROUNDS):
            state = np.sin(state) + y
        return state

    return np.sin(lx.loop(3, body, np.sin(x) + y)) + y


def _called_back(x: Any, y: Any) -> Any:
    for _ in range(ROUNDS):
        x = x + np.nextafter(x, y) + np.spacing(y)
    return x


FUNCTIONS = [
    _chain,
    _products,
    _same_operand_twice,
    _numbers_that_are_equal_but_not_alike,
    _other_axes,
    _broadcasts,
    _several_results,
    _integer_powers,
    _in_a_loop,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_copies_are_what_would_be_recorded(function: Callable[..., Any]) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 4, 4)).astype(np.float32)
    lowered = lx.jit(function).lower(x, y)
    with mock.patch.object(repeated_calls, "running", return_value=None):  # recorded each time
        again = lx.jit(function).lower(x, y)
    assert _text(lowered) == _text(again)


def _text(lowered: Any) -> str:
    """Return the module with its locations, but for those of the arguments of bodies."""
    text: str = lowered.module.to_text(locations=True)
    return re.sub(r'(%\w+: \w+) loc\("[^"]*":\d+:\d+\)', r"\1", text)


def test_a_call_is_recorded_twice_at_the_most() -> None:
    def chain(x: Any) -> Any:
        x = x + 1  # an argument is another kind of operand
        for _ in range(10):
            x = np.tanh(x)
        return x

    with mock.patch("linalg_ext.tracing.dispatch.record_ufunc", wraps=record_ufunc) as recorder:
        lowered = lx.jit(chain).lower(np.ones(4, np.float32))
    assert [call.args[0] for call in recorder.call_args_list] == [np.add, np.tanh, np.tanh]
    assert str(lowered.module).count("math.tanh") == 10


def test_calls_of_python_are_made_by_each_of_the_calls() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 4, 4)).astype(np.float32)
    np.testing.assert_array_equal(lx.jit(_called_back)(x, y), _called_back(x, y))


def test_a_value_of_another_trace_is_refused_where_the_call_is_known() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return x + 1

    def use(x: Any) -> Any:
        for _ in range(ROUNDS):
            x = x + x
        return x + kept[0]

    x = np.ones(4, np.float32)
    lx.jit(keep).lower(x)
    with pytest.raises(TraceError, match="belongs to another trace"):
        lx.jit(use).lower(x)


def test_open_sizes_that_turn_out_equal_stay_with_their_call() -> None:
    function = lx.jit(lambda x, y: ((x + y) + (y + x)) * ((x + y) + (y + x)), dynamic=True)
    x, y = np.random.default_rng(0).normal(size=(2, 3, 5)).astype(np.float32)
    np.testing.assert_allclose(function(x, y), ((x + y) + (y + x)) ** 2, rtol=1e-6)
