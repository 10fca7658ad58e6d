"""The threads that share a call: every slice once, and nothing outlives the call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, LoweringError
from linalg_ext.runtime import threads

LARGE = """
func.func @double(%a: tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
  %e = tensor.empty() : tensor<2048x1024xf32>
  %r = linalg.add ins(%a, %a : tensor<2048x1024xf32>, tensor<2048x1024xf32>)
                  outs(%e : tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32>
}
"""
SMALL = LARGE.replace("2048x1024", "64x64")


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("slices", [1, 2, 7, 100])
def test_each_slice_is_done_once(slices: int, count: int) -> None:
    done: list[int] = []
    threads.run(done.append, range(slices), count)
    assert Counter(done) == Counter(range(slices))


def test_other_threads_take_part() -> None:
    """Each of two slices waits for the other: one thread alone would never come to an end."""
    meeting = threading.Barrier(2, timeout=60)
    threads.run(lambda _: meeting.wait(), range(2), 2)


def test_one_thread_is_the_callers() -> None:
    seen: list[int] = []
    threads.run(lambda _: seen.append(threading.get_ident()), range(9), 1)
    assert set(seen) == {threading.get_ident()}


def test_calls_at_once_do_not_wait_for_one_another() -> None:
    """Each slice makes a call of its own: all threads of the crew are busy with the outer ones."""
    done: list[int] = []
    threads.run(lambda _: threads.run(done.append, range(5), 4), range(5), 4)
    assert len(done) == 25


def test_a_failing_slice_raises_when_all_are_done() -> None:
    done: list[int] = []

    def work(number: int) -> None:
        if number == 1:
            raise ValueError("slice 1")
        done.append(number)

    with pytest.raises(ValueError, match="slice 1"):
        threads.run(work, range(6), 3)
    assert sorted(done) == [0, 2, 3, 4, 5]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads here")
def test_an_interrupted_caller_waits_for_what_still_writes() -> None:
    may_end = threading.Event()
    ended: list[int] = []

    def work(number: int) -> None:
        if threading.current_thread() is threading.main_thread():
            # Not before the other has its slice.
            while not taken.is_set():
                pass
            timer.start()
            return
        taken.set()
        may_end.wait()
        ended.append(number)

    def interrupt() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        threading.Timer(0.2, may_end.set).start()

    taken = threading.Event()
    timer = threading.Timer(0.1, interrupt)
    with pytest.raises(KeyboardInterrupt):
        threads.run(work, range(2), 2)
    assert len(ended) == 1


def test_without_threads_the_caller_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(threads, "_crew", threads._Crew())
    done: list[int] = []
    threads.run(done.append, range(5), 4)
    assert sorted(done) == [0, 1, 2, 3, 4]


def test_a_forked_child_starts_threads_of_its_own() -> None:
    script = """
import os, threading
from linalg_ext.runtime import threads
meet = lambda: threads.run(lambda _: barrier.wait(), range(2), 2)
barrier = threading.Barrier(2, timeout=30)
meet()
child = os.fork()
if child == 0:
    barrier = threading.Barrier(2, timeout=30)
    meet()
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("count", [0, -1, 1.0, "2", True])
def test_what_is_no_number_of_threads_is_refused(count: Any) -> None:
    with pytest.raises(ArgumentError, match="threads is"), threads.using(count):
        pass
    with pytest.raises(ArgumentError, match="threads is"):
        lx.compile(SMALL)(np.zeros((64, 64), np.float32), threads=count)


def test_how_many_is_said_for_a_block_and_a_thread() -> None:
    outside = threads.current()
    assert outside >= 1
    with threads.using(outside + 3):
        assert threads.current() == outside + 3
        with threads.using(1):
            assert threads.current() == 1
        with ThreadPoolExecutor(1) as other:
            assert other.submit(threads.current).result() == outside
    assert threads.current() == outside


def test_small_work_is_not_shared() -> None:
    kernel = lx.compile(SMALL)
    assert kernel.direct is not None
    assert kernel.direct._shared is None


def test_large_work_is_shared_as_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = lx.compile(LARGE)
    argument = np.arange(2048 * 1024, dtype=np.float32).reshape(2048, 1024)
    counts: list[int] = []

    def counting(function: Any, slices: Any, count: int, keep: object) -> None:
        counts.append(count)
        threads.run(function, slices, count, keep=keep)

    monkeypatch.setattr("linalg_ext.compiler.direct_call.run", counting)
    for call in (
        lambda: kernel(argument, threads=3),
        lambda: kernel(argument, threads=1),
        lambda: kernel(argument, out=np.empty_like(argument), threads=2),
    ):
        np.testing.assert_array_equal(call(), 2 * argument)
    assert counts == [3, 2]
    with threads.using(5):
        np.testing.assert_array_equal(kernel(argument), 2 * argument)
    with threads.using(1):
        np.testing.assert_array_equal(kernel(argument), 2 * argument)
    assert counts == [3, 2, 5]


def test_slices_that_cannot_be_compiled_leave_the_code_for_one_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise LoweringError("a fault")

    kernel = lx.compile(LARGE)
    monkeypatch.setattr("linalg_ext.compiler.shared_work.lower_to_llvm", fail)
    argument = np.ones((2048, 1024), np.float32)
    with pytest.warns(RuntimeWarning, match="runs on one thread"):
        np.testing.assert_array_equal(kernel(argument, threads=2), 2 * argument)
    np.testing.assert_array_equal(kernel(argument, threads=2), 2 * argument)


def test_callers_in_threads_share_one_kernel() -> None:
    kernel = lx.compile(LARGE)
    argument = np.arange(2048 * 1024, dtype=np.float32).reshape(2048, 1024)

    def work(number: int) -> bool:
        return bool(
            (kernel(argument + number, threads=1 + number % 3) == 2 * (argument + number)).all()
        )

    with ThreadPoolExecutor(6) as callers:
        assert all(callers.map(work, range(24)))


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="not told here")
def test_as_many_as_the_process_may_run_on() -> None:
    assert threads.available() == len(os.sched_getaffinity(0))
