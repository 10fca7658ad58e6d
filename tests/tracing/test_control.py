"""Loops and branches in the kernel, and the same without a trace."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ShapeError, TraceError
from linalg_ext.tracing.functions import control
from traced_functions import check, random


@pytest.mark.parametrize(
    "function",
    [
        lambda x: lx.loop(5, lambda i, s: s * 0.5 + i, x),
        lambda x: lx.loop(0, lambda i, s: s * 0.5, x),
        lambda x: lx.loop(3, lambda i, s: s + x[i], np.zeros(5)),
        lambda x: lx.loop(x[0].argmax() + 1, lambda i, s: s + 1, x),
        lambda x: lx.loop(lambda s: (s * s).sum() > 1e-3, lambda s: s / 2, x),
        lambda x: lx.loop(2, lambda i, s: lx.loop(i, lambda j, t: t + j, s), x),
        lambda x: lx.loop(4, lambda i, s: (s[1], s[0] + s[1]), (x, x))[0],
    ],
)
def test_loops(function: Any) -> None:
    check(function, random(5, 5, dtype=np.float64))


@pytest.mark.parametrize("shift", [0, 100])
def test_branches(shift: int) -> None:
    def choose(x: Any) -> Any:
        picked = lx.cond(x.sum() > shift, lambda y: (y, y.max()), lambda y: (-y, y.min()), x)
        return picked[0] + 1, picked[1]

    check(choose, np.abs(random(5)) + 1)


def test_only_the_branch_that_is_chosen_runs() -> None:
    """A loop of the other one would not end."""

    def choose(x: Any) -> Any:
        return lx.cond(
            x[0] > 0, lambda y: y, lambda y: lx.loop(lambda s: s[0] < 1, lambda s: s * 1, y), x
        )

    check(choose, np.ones(3))


def test_a_state_is_any_container() -> None:
    def step(x: Any) -> Any:
        state = lx.loop(3, lambda i, s: {"a": s["a"] + 1, "b": [s["b"][0] * 2]}, {"a": x, "b": [x]})
        return state["a"], state["b"][0]

    check(step, random(4))


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda x: lx.loop(3, lambda i, s: s.astype("f8"), x), ArgumentError, "gives float64"),
        (lambda x: lx.loop(3, lambda i, s: s[:1], x), ShapeError, r"gives shape \(1,\)"),
        (lambda x: lx.loop(3, lambda i, s: (s, s), x), ArgumentError, r"gives \(\*, \*\)"),
        (lambda x: lx.loop(x, lambda i, s: s, x), TraceError, "rounds"),
        (lambda x: lx.loop(lambda s: s > 0, lambda s: s, x), ShapeError, r"shape \(4,\)"),
        (lambda x: lx.cond(x > 0, abs, abs, x), ShapeError, r"np\.all\(condition\)"),
        (lambda x: lx.cond(x[0] > 0, lambda y: y, lambda y: (y, y), x), ArgumentError, "branch"),
        (lambda x: lx.cond(x[0] > 0, lambda y: y, lambda y: y[:2], x), ShapeError, "other branch"),
    ],
)
def test_what_does_not_fit_is_refused(function: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        lx.jit(function)(random(4))


def test_an_index_out_of_bounds_stops_the_loop() -> None:
    with pytest.raises(lx.errors.ExecutionError, match="out of bounds"):
        lx.jit(lambda x: lx.loop(9, lambda i, s: s + x[i], x[0]))(random(4, 3))


def test_the_examples() -> None:
    failed, ran = doctest.testmod(control, extraglobs={"lx": lx, "np": np})
    assert ran
    assert not failed


def test_a_value_of_a_body_stays_in_it() -> None:
    leaked: list[Any] = []

    def leak(i: Any, s: Any) -> Any:
        leaked.append(s * 2)
        return s

    def use(x: Any) -> Any:
        lx.loop(3, leak, x)
        return x + leaked[0]

    with pytest.raises(TraceError, match="loop or of a branch, which is over"):
        lx.jit(use)(random(3))


def test_an_array_of_outside_is_not_written_in_a_body() -> None:
    def write(x: Any) -> Any:
        total = x * 0

        def body(i: Any, s: Any) -> Any:
            nonlocal total
            total += s
            return s

        lx.loop(3, body, x)
        return total

    with pytest.raises(TraceError, match="outside is written in place"):
        lx.jit(write)(random(3))


@pytest.mark.parametrize(
    "after",
    [
        lambda y: (lx.loop(3, lambda i, s: s + 1, y), y),
        lambda y: (y, lx.loop(3, lambda i, s: s + 1, y), y + 1),
        lambda y: (y, lx.loop(lambda s: s[0] < 9, lambda s: s + 1, y)),
        lambda y: (lx.cond(y[0] > 9, lambda s: s + 1, lambda s: s, y), y, y[::-1]),
        lambda y: lx.loop(3, lambda i, s: (s[1], s[0]), (y, y * 2)),
        lambda y: (np.cumsum(y), y, np.cumsum(y)[::-1]),
    ],
)
def test_what_a_loop_starts_from_may_be_a_result(after: Any) -> None:
    x = random(5)
    before = x.copy()
    check(lambda x: after(x * 2), x)
    check(lambda x: after(x), x)
    np.testing.assert_array_equal(x, before)


def test_a_body_may_write_into_its_state() -> None:
    def count(x: Any) -> Any:
        def step(i: Any, s: Any) -> Any:
            s[i] += i
            return s

        return lx.loop(3, step, x.copy())

    check(count, random(3))

    def started_from(x: Any) -> Any:
        start = np.zeros(3)

        def step(i: Any, s: Any) -> Any:
            s[0] += x[i]
            return s

        return lx.loop(3, step, start), start

    with pytest.raises(TraceError, match="after the body of a loop wrote into it"):
        lx.jit(started_from)(random(3))
    with pytest.raises(TraceError, match="an argument is written in place"):
        lx.jit(lambda x: lx.loop(3, lambda i, s: s.__iadd__(1), x))(random(3))


def test_a_loop_of_python_of_many_rounds_is_warned_of() -> None:
    def decayed(x: Any, rounds: int) -> Any:
        for _ in range(rounds):
            x = x - x / 8
        return x

    jitted = lx.jit(decayed, static_argnames="rounds")
    jitted.lower(random(5), rounds=800)
    with pytest.warns(UserWarning, match="2000 operations of this line .* lx.loop") as caught:
        jitted.lower(random(5), rounds=1200)
    assert caught[0].filename == __file__
    assert caught[0].lineno == decayed.__code__.co_firstlineno + 2
