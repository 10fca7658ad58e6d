"""Calibration: kernels do what is counted for them, and all of it is quick."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from linalg_ext import target
from linalg_ext.compiler import calibration, compile
from linalg_ext.compiler.calibration import aligned
from linalg_ext.compiler.tuning.timing import seconds_of, seconds_together
from linalg_ext.target import stored
from linalg_ext.target.performance import MEASURED


class FakeClock:
    """A clock that work moves by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += seconds


def test_all_is_measured_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(stored, "_measured", {})
    measured = target.calibrate()
    figures = target.figures()
    assert figures == measured.figures
    assert figures.source == MEASURED
    seconds = measured.note("calibration.seconds", float)
    assert seconds is not None
    assert seconds > 0
    stored._measured.clear()
    assert target.figures() == figures
    # Whatever the load, these differ by far more than it can change.
    assert figures.levels[0].read > figures.levels[-1].read / 2
    assert figures.function_rate("simple", "f32") > figures.function_rate("pow", "f32")
    assert figures.rate("multiply_adds", "f32") > figures.scalar


@pytest.mark.parametrize("kind", ["read", "write"])
def test_memory_is_gone_through_as_a_whole(kind: str) -> None:
    step = target.current().lanes("f32") * calibration._UNROLL
    array, register = aligned(3 * step, "f32"), aligned(step, "f32")
    array[:] = 2 if kind == "read" else 7
    calibration._kernel(kind)(array, register, 5)
    if kind == "read":
        np.testing.assert_array_equal(register, 3 * 5 * 2)
    else:
        np.testing.assert_array_equal(array, 0)


def test_chains_compute_every_op() -> None:
    kernel = compile(calibration._chain([calibration._op("simple")] * 3, 20), trusted=True)
    np.testing.assert_allclose(kernel(np.ones(20, np.float32)), 1 + 3 * 1.25)


def test_sums_and_small_nests() -> None:
    array = np.arange(64, dtype=np.float32).reshape(8, 8)
    sums = compile(calibration._row_sums(8, 8), trusted=True)(array)
    np.testing.assert_allclose(sums, array.sum(axis=1))
    twice = array + array.T
    nests = compile(calibration._small_nests(2), trusted=True)
    np.testing.assert_allclose(nests(array), twice + twice.T)
    assert len(nests.explain().decisions) == 2


def test_times_are_of_one_call() -> None:
    clock = FakeClock()
    calls: list[float] = []

    def work() -> None:
        calls.append(clock.now)
        clock.move(0.25 if len(calls) % 2 else 1.0)  # every second call is disturbed

    assert seconds_of(work, rounds=4, clock=clock) == 0.25
    assert len(calls) == 2 + 4  # each lasts longer than a round has to


def test_times_together_are_from_the_first_start_to_the_last_end() -> None:
    clock = FakeClock()
    turn = threading.Barrier(2)

    def quick() -> None:
        turn.wait()
        turn.wait()

    def slow() -> None:
        turn.wait()
        clock.move(2.0)
        turn.wait()

    assert seconds_together([quick, slow], rounds=3, clock=clock) == 2.0
