"""Random numbers and the time are refused while a function is recorded, in its thread alone."""

from __future__ import annotations

import datetime
import gc
import pickle
import random
import threading
import time
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from numpy.random import normal

import linalg_ext as lx
from linalg_ext.errors import TraceError

X = np.ones(3, np.float32)
GENERATOR = np.random.default_rng(0)
STATE = np.random.RandomState(0)
NUMBERS = random.Random(0)


class Noisy:
    def __init__(self) -> None:
        self.generator = np.random.default_rng(1)

    def noise(self, x: Any) -> Any:
        return x + self.generator.normal(size=3)


NOISY = Noisy()


def drawn() -> Any:
    return GENERATOR.random(3)


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: x + np.random.normal(size=3), r"numpy\.random\.normal"),
        (lambda x: x + normal(size=3), "RandomState"),
        (lambda x: x + np.random.default_rng().normal(size=3), r"numpy\.random\.default_rng"),
        (lambda x: x + GENERATOR.normal(size=3), "Generator"),
        (lambda x: x + STATE.rand(3), "RandomState"),
        (lambda x: x + drawn(), "Generator"),
        (NOISY.noise, "Generator"),
        (lambda x: NOISY.noise(x), "Generator"),
        (lambda x: x + random.random(), r"random\.random"),
        (lambda x: x + NUMBERS.gauss(0, 1), "Random"),
        (lambda x: x * time.time(), r"time\.time"),
        (lambda x: x * time.monotonic_ns(), r"time\.monotonic_ns"),
        (lambda x: x * perf_counter(), r"time\.perf_counter"),
        (lambda x: x * datetime.datetime.now().second, r"datetime\.now"),
    ],
)
def test_what_is_drawn_is_refused(function: Callable[..., Any], what: str) -> None:
    with pytest.raises(TraceError, match=rf"{what} was (called|drawn from)") as caught:
        lx.jit(function).lower(X)
    assert caught.value.where is not None
    assert "pass them in as arguments" in str(caught.value)


def test_a_generator_from_a_seed_gives_the_same_at_every_call() -> None:
    def seeded(x: Any) -> Any:
        return x + np.random.default_rng(0).normal(size=3)

    np.testing.assert_array_equal(lx.jit(seeded)(X), seeded(X))


def test_numbers_that_are_arguments_are_new_at_every_call() -> None:
    noisy = lx.jit(lambda x, noise: x + noise)
    found = [noisy(X, GENERATOR.normal(size=3)) for _ in range(2)]
    assert (found[0] != found[1]).all()


def test_all_is_as_before_afterwards() -> None:
    before = np.random.normal, random.random, time.time
    with pytest.raises(TraceError):
        lx.jit(lambda x: x + np.random.normal(size=3)).lower(X)
    assert (np.random.normal, random.random, time.time) == before
    assert np.random.normal(size=3).shape == (3,)


def test_other_threads_draw_meanwhile() -> None:
    is_recording, is_done = threading.Event(), threading.Event()
    found: list[Any] = []

    def other() -> None:
        is_recording.wait(60)
        found.extend([np.random.normal(), random.random(), time.time()])
        found.append(pickle.dumps(np.random.RandomState(3)))
        is_done.set()

    def function(x: Any) -> Any:
        is_recording.set()
        is_done.wait(60)
        return x + 1

    thread = threading.Thread(target=other)
    thread.start()
    lx.jit(function).lower(X)
    thread.join()
    assert len(found) == 4


def test_python_itself_may_ask_for_the_time(caplog: pytest.LogCaptureFixture) -> None:
    import logging

    def function(x: Any) -> Any:
        logging.getLogger("linalg_ext.test").warning("recorded")
        return x + 1

    lx.jit(function).lower(X)
    assert "recorded" in caplog.text


class Timer:
    def __init__(self) -> None:
        self.times: list[float] = []

    def __call__(self, phase: str, info: Any) -> None:
        self.times += [time.perf_counter(), perf_counter()]

    def at(self, phase: str, info: Any) -> None:
        self(phase, info)


@pytest.mark.parametrize("method", ["__call__", "at"])
def test_a_garbage_collection_may_be_timed(method: str) -> None:
    timer = Timer()
    hook = timer if method == "__call__" else timer.at
    gc.callbacks.append(hook)

    def function(x: Any) -> Any:
        gc.collect()
        return x + 1

    try:
        lx.jit(function).lower(X)
    finally:
        gc.callbacks.remove(hook)
    assert len(timer.times) >= 4


def test_help_says_what_is_fixed() -> None:
    text = " ".join((lx.jit.__doc__ or "").split())
    for said in ("globals", "closures", "`self`", "`numpy.random`", "as arguments"):
        assert said in text
