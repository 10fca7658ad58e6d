"""Calibration: kernels do what is counted for them, and all of it is quick."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from linalg_ext import target
from linalg_ext.calibration import loops, memory
from linalg_ext.calibration.peaks import aligned
from linalg_ext.calibration.timing import seconds_of, seconds_together
from linalg_ext.compiler import compile
from linalg_ext.target import stored
from linalg_ext.target.performance import MEASURED

MOST_SECONDS = 10.0


def test_all_is_measured_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(stored, "_measured", {})
    start = time.process_time()
    measured = target.calibrate()
    # Of this process alone: others may want the cores.
    assert time.process_time() - start < MOST_SECONDS * max(1, measured.logical_cores / 2)
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
    step = target.current().lanes("f32") * memory._UNROLL
    array, register = aligned(3 * step, "f32"), aligned(step, "f32")
    array[:] = 2 if kind == "read" else 7
    memory._kernel(kind)(array, register, 5)
    if kind == "read":
        np.testing.assert_array_equal(register, 3 * 5 * 2)
    else:
        np.testing.assert_array_equal(array, 0)


def test_chains_compute_every_op() -> None:
    kernel = compile(loops._chain([loops._op("simple")] * 3, 20), trusted=True)
    np.testing.assert_allclose(kernel(np.ones(20, np.float32)), 1 + 3 * 1.25)


def test_sums_and_small_nests() -> None:
    array = np.arange(64, dtype=np.float32).reshape(8, 8)
    sums = compile(loops._row_sums(8, 8), trusted=True)(array)
    np.testing.assert_allclose(sums, array.sum(axis=1))
    twice = array + array.T
    nests = compile(loops._small_nests(2), trusted=True)
    np.testing.assert_allclose(nests(array), twice + twice.T)
    assert len(nests.explain().decisions) == 2


def test_times_are_of_one_call() -> None:
    assert 0.001 <= seconds_of(lambda: time.sleep(0.001), rounds=2, clock=time.perf_counter) < 0.5
    assert 0.002 <= seconds_together([lambda: time.sleep(0.002)] * 2, rounds=2) < 0.5
