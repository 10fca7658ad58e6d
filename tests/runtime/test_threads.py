"""The threads that share a call: every slice once, and nothing outlives the call."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, LoweringError
from linalg_ext.runtime import threads
from linalg_ext.runtime.threads import ThreadPool
from linalg_ext.runtime.vectorcall import caller
from resources import needs_fork

LARGE = """
func.func @double(%a: tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
  %e = tensor.empty() : tensor<2048x1024xf32>
  %r = linalg.add ins(%a, %a : tensor<2048x1024xf32>, tensor<2048x1024xf32>)
                  outs(%e : tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32>
}
"""
SMALL = LARGE.replace("2048x1024", "64x64")


Done = list[int]


class Calls:
    """A loop whose slices call a function of Python's on their numbers, as compiled code has it.

    What it returns is the slice's status.
    """

    def __init__(self, work: Callable[[int], int | None], count: int) -> None:
        self._function = _SLICE(lambda values, number: self._call(values, number))
        self._python = work
        self._count = count

    def _call(self, values: int | None, number: int) -> int:
        assert values == VALUES
        return self._python(number) or 0

    def run(self, count: int) -> int:
        context = threads.context(count)
        share = _SHARE(ctypes.c_int64.from_address(context).value)
        return int(
            share(context, ctypes.cast(self._function, ctypes.c_void_p), VALUES, self._count)
        )


VALUES = 77
"""In place of an address, for what a loop takes from around it."""

_SLICE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
_SHARE = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("slices", [1, 2, 7, 100])
def test_each_slice_is_done_once(slices: int, count: int) -> None:
    done: Done = []
    calls = Calls(done.append, slices)
    for _ in range(3):
        assert calls.run(count) == 0
        assert Counter(done) == Counter(range(slices))
        done.clear()


def test_other_threads_take_part() -> None:
    """Each of three slices waits for the others: fewer threads would never come to an end."""
    meeting = threading.Barrier(3, timeout=60)
    for _ in range(20):
        assert Calls(lambda _: meeting.wait() and None, 3).run(3) == 0


def test_helpers_that_sleep_are_woken() -> None:
    meeting = threading.Barrier(2, timeout=60)
    calls = Calls(lambda _: meeting.wait() and None, 2)
    for seconds in (0, 1e-5, 1e-4, 1e-3, 0.05):
        time.sleep(seconds)
        assert calls.run(2) == 0


def test_a_caller_that_sleeps_is_woken() -> None:
    """The caller ends its slice first, and waits longer than it stays awake."""
    caller = threading.get_ident()

    def work(_: int) -> None:
        started.wait()
        if threading.get_ident() != caller:
            time.sleep(0.05)
            ended.append(1)

    for _ in range(3):
        started, ended = threading.Barrier(2, timeout=60), Done()
        assert Calls(work, 2).run(2) == 0
        assert ended == [1]


def test_one_thread_is_the_callers() -> None:
    seen: Done = []
    Calls(lambda _: seen.append(threading.get_ident()), 9).run(1)
    assert set(seen) == {threading.get_ident()}


def test_no_more_threads_than_asked_for() -> None:
    Calls(lambda _: None, 8).run(8)  # so many there are
    seen: set[int] = set()

    def work(_: int) -> None:
        time.sleep(1e-3)  # long enough for others to come
        seen.add(threading.get_ident())

    Calls(work, 40).run(2)
    assert len(seen) <= 2


def test_calls_at_once_do_not_wait_for_one_another() -> None:
    """Each slice makes a call of its own: all threads of the pool are busy with the outer ones."""
    done: Done = []
    Calls(lambda _: Calls(done.append, 5).run(4), 5).run(4)
    assert len(done) == 25


def test_many_callers_at_once() -> None:
    def call(number: int) -> Counter[int]:
        done: Done = []
        calls = Calls(done.append, 1 + number % 7)
        for _ in range(20):
            calls.run(1 + number % 4)
        return Counter(done)

    with ThreadPoolExecutor(8) as callers:
        for number, done in enumerate(callers.map(call, range(32))):
            assert done == Counter(20 * list(range(1 + number % 7)))


def test_the_status_is_that_of_the_first_slice_that_has_one() -> None:
    done: Done = []

    def work(number: int) -> int:
        done.append(number)
        return number * 10 if number in (3, 4) else 0

    for count in (1, 3):
        assert Calls(work, 6).run(count) == 30
    assert Counter(done) == Counter(2 * list(range(6)))


class Team:
    """What a library with OpenMP lends, made of Python's threads.

    Attributes:
        asked: the sizes that were asked for.
        is_late: whether the others come when the caller has done it all.
    """

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.is_late = False
        words = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32
        self._parallel = ctypes.CFUNCTYPE(None, *words)(self._run)
        self.address = ctypes.cast(self._parallel, ctypes.c_void_p).value or 0

    def _run(self, function: int, job: int, count: int, _: int) -> None:
        self.asked.append(count)
        work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)
        threads = [threading.Thread(target=work, args=(job,)) for _ in range(count - 1)]
        if self.is_late:
            work(job)
        for each in threads:
            each.start()
        if not self.is_late:
            work(job)
        for each in threads:
            each.join()


@pytest.fixture
def team(monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    monkeypatch.setattr(threads, "_thread_pool", ThreadPool(4))  # one that knows of no team
    team = Team()
    with threads.lent(team.address):
        yield team


@pytest.mark.parametrize("is_late", [False, True])
def test_a_team_that_is_lent_does_each_slice_once(team: Team, *, is_late: bool) -> None:
    team.is_late = is_late
    done: Done = []
    for slices in (1, 2, 7, 100):
        for count in (1, 2, 3, 8):
            assert Calls(done.append, slices).run(count) == 0
            assert Counter(done) == Counter(range(slices))
            done.clear()
    assert {1, 2, 3, 8} == set(team.asked)


def test_a_team_that_comes_is_asked_again(team: Team) -> None:
    """Each slice waits for the others: the whole team has come before one is done."""
    meeting = threading.Barrier(3, timeout=60)
    for _ in range(20):
        assert Calls(lambda _: meeting.wait() and None, 3).run(3) == 0
    # Of one size, whatever there is to do: OpenMP would start threads anew.
    assert team.asked == 20 * [3]


def test_a_team_that_comes_late_is_let_alone_for_a_while(team: Team) -> None:
    team.is_late = True
    calls = Calls(lambda _: None, 4)
    counts = []
    for _ in range(1 + 16 + 1 + 32 + 1):
        calls.run(2)
        counts.append(len(team.asked))
    assert counts == 17 * [1] + 33 * [2] + [3]


def test_the_status_of_a_team_is_that_of_the_first_slice_that_has_one(team: Team) -> None:
    assert Calls(lambda number: number * 10 if number in (3, 4) else 0, 6).run(3) == 30


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="machine: no signals to threads")
@pytest.mark.parametrize("size", [300, 1536])
def test_no_thread_writes_after_an_interrupted_call(size: int) -> None:
    """Native code writes to the caller's array: the interruption waits until none does.

    A short call is done first; a long one ends early.
    """
    x = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)
    product = lx.jit(lambda x: x @ x).lower(x).compile()
    expected = product(x, threads=2)
    out = np.full_like(x, np.nan)

    def interrupt() -> None:
        while np.isnan(out[0, 0]):
            time.sleep(0)  # until the call is under way
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def run() -> None:
        product(x, out=out, threads=2)
        time.sleep(60)  # where the interruption comes if the call was quicker

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        run()
    left = out.copy()
    other.join()
    if size == 300:
        np.testing.assert_array_equal(left, expected)
    time.sleep(0.3)
    np.testing.assert_array_equal(out, left)


def test_without_threads_the_caller_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(threads, "_thread_pool", ThreadPool(4))
    done: Done = []
    Calls(done.append, 5).run(4)
    assert sorted(done) == [0, 1, 2, 3, 4]


SCRIPT = """
import os, sys, threading
import numpy as np
import linalg_ext as lx
two = lx.threads.using(2)
two.__enter__()
double = lx.jit(lambda x: x + x)
x = np.ones((2048, 1024), np.float32)
assert (double(x) == 2).all()
"""


def run_script(script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT + script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@needs_fork
def test_a_forked_child_starts_threads_of_its_own() -> None:
    run_script("""
names = lambda: {t.name for t in threading.enumerate() if t.name.startswith("linalg_ext")}
assert names()
child = os.fork()
if child == 0:
    assert not names()
    assert (double(x) == 2).all()
    assert names()
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert (double(x) == 2).all()
""")


@pytest.mark.parametrize(
    "end",
    [
        "",
        "sys.exit(0)",
        "import atexit; atexit.register(lambda: double(x))",
        "del double, lx",
        # A call is under way when the interpreter ends.
        "threading.Thread(target=lambda: [double(x) for _ in range(10**6)], daemon=True).start()",
    ],
)
def test_the_interpreter_ends_quietly(end: str) -> None:
    run_script(end)


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="not told here")
def test_idle_threads_sleep() -> None:
    run_script("""
import time
from pathlib import Path
ids = [t.native_id for t in threading.enumerate() if t.name.startswith("linalg_ext")]
assert ids
for number in ids:
    stat = Path(f"/proc/self/task/{number}/stat")
    while stat.read_text().rpartition(")")[2].split()[0] != "S":
        time.sleep(0.01)
""")


MATRIX = np.random.default_rng(0).standard_normal((512, 512)).astype(np.float32)

WAYS: dict[str, Callable[..., Any]] = {
    "a kernel": lx.jit(lambda x: x @ x).lower(MATRIX).compile(),
    "a jitted function": lx.jit(lambda x: x @ x),
    "an op": lambda x, **keywords: lx.ops.matmul(x, x, **keywords),
    "an einsum": lambda x, **keywords: lx.einsum("mk,kn->mn", x, x, **keywords),
    "an einsum of three": lambda x, **keywords: lx.einsum("mk,kn,nl->ml", x, x, x, **keywords),
}


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of threads of each call that was shared; all go through Python."""
    counts: list[int] = []
    caller.forget()
    monkeypatch.setattr(caller, "caller", None)
    monkeypatch.setattr(caller, "_is_refused", True)

    def counting(count: int, slices: int) -> int:
        counts.append(count)
        return threads.context(count, slices)

    monkeypatch.setattr("linalg_ext.executable.code_variants.context", counting)
    return counts


@pytest.mark.parametrize("with_out", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_how_many_is_said_for_a_call(way: str, with_out: bool, counts: list[int]) -> None:
    call = WAYS[way]
    alone = call(MATRIX, threads=1)
    assert not counts
    for count in (2, 3, 2):
        out = {"out": np.full_like(alone, np.nan)} if with_out else {}
        with threads.using(1):  # the call's own word counts
            shared = call(MATRIX, threads=count, **out)
        np.testing.assert_allclose(shared, alone, rtol=1e-4, atol=1e-2)
        np.testing.assert_array_equal(call(MATRIX, threads=count), shared)
    assert set(counts[: len(counts) // 3]) == {2}
    assert set(counts) == {2, 3}


@pytest.mark.parametrize("count", [0, -1, 1.0, "2", True])
@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_number_of_threads_is_refused(way: str, count: Any) -> None:
    for _ in range(2):  # the second call of its kind takes a shorter way
        with pytest.raises(ArgumentError, match="threads is") as caught:
            WAYS[way](MATRIX, threads=count)
        assert caught.value.where is not None
        assert "test_threads.py" in str(caught.value)
        WAYS[way](MATRIX, threads=1)
    with pytest.raises(ArgumentError, match="threads is"), threads.using(count):
        pass


def test_what_is_traced_runs_no_thread() -> None:
    for function in (
        lambda x: lx.ops.matmul(x, x, threads=2),
        lambda x: lx.einsum("mk,kn->mn", x, x, threads=2),
        lambda x: lx.jit(lambda y: y + y)(x, threads=2),
    ):
        with pytest.raises(ArgumentError, match="threads="):
            lx.jit(function)(MATRIX)


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
    assert kernel.shared is None


def test_large_work_is_shared_as_is_said(counts: list[int]) -> None:
    kernel = lx.compile(LARGE)
    argument = np.arange(2048 * 1024, dtype=np.float32).reshape(2048, 1024)
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

    monkeypatch.setattr("linalg_ext.compiler.code_generation.slices_of", fail)
    argument = np.ones((2048, 1024), np.float32)
    with threads.using(1):
        kernel = lx.compile(LARGE)
    with pytest.warns(RuntimeWarning, match="runs on one thread"):
        np.testing.assert_array_equal(kernel(argument, threads=2), 2 * argument)
    np.testing.assert_array_equal(kernel(argument, threads=2), 2 * argument)
    with threads.using(2), pytest.warns(RuntimeWarning, match="runs on one thread"):
        kernel = lx.compile(LARGE)
    assert kernel.own.ready is not None
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


def test_a_number_holds_from_there_on_or_in_a_block() -> None:
    before = lx.threads.current()
    with lx.threads(before):  # so that what is set inside ends with it
        chosen = lx.threads(3)
        assert lx.threads.current() == 3
        with lx.threads(1) as count:
            assert (count, lx.threads.current()) == (1, 1)
        assert lx.threads.current() == 3
        with chosen:
            assert lx.threads.current() == 3
        assert lx.threads.current() == before
        with chosen:
            assert lx.threads.current() == 3
    assert lx.threads.current() == before


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "2", None])
def test_a_number_in_force_has_to_be_one(count: Any) -> None:
    before = lx.threads.current()
    with pytest.raises(ArgumentError, match="threads is"):
        lx.threads(count)
    assert lx.threads.current() == before


@pytest.mark.parametrize(
    ("told", "printed"),
    [("3", "3"), (" 2 ", "2"), ("", str(threads.available())), ("0", "is '0'"), ("x", "is 'x'")],
)
def test_the_environment_tells_a_number(told: str, printed: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import linalg_ext as lx; print(lx.threads.current())"],
        env={**os.environ, "LINALG_EXT_NUM_THREADS": told},
        capture_output=True,
        text=True,
        check=False,
    )
    assert printed in (ran.stdout if ran.returncode == 0 else ran.stderr)
    assert (ran.returncode == 0) == ("'" not in printed)
