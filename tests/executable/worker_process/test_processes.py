"""The processes of kernels apart: interrupted, forked, closed, and ended when nobody needs them."""

from __future__ import annotations

import gc
import os
import signal
import socket
import threading
import time
from typing import Any

import numpy as np
import pytest

from isolated_kernels import ADD, ENDLESS, isolated
from linalg_ext import errors
from linalg_ext.executable.worker_process import IsolatedKernel
from linalg_ext.executable.worker_process.exchange import received
from linalg_ext.runtime import helper_process
from linalg_ext.runtime.processes import _Forked


@pytest.fixture(scope="module")
def add() -> IsolatedKernel:
    return isolated(ADD)


def test_an_interrupted_call_and_the_next_one() -> None:
    kernel = isolated(ENDLESS)
    assert kernel(0) == 0

    def interrupt() -> None:
        while not kernel._process.lock.locked():
            time.sleep(0.01)  # until the call is under way
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        kernel(1)
    thread.join()
    assert kernel(0) == 0


@pytest.mark.parametrize("when", ["while it is forked", "while it compiles"])
def test_an_interrupted_compilation_and_the_next_one(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive = helper_process.receive
    waits = iter([receive] if when == "while it compiles" else [])

    def interrupted(channel: socket.socket) -> Any:
        try:
            return next(waits)(channel)
        except StopIteration:
            raise KeyboardInterrupt from None

    with monkeypatch.context() as patched:
        patched.setattr(helper_process, "receive", interrupted)
        patched.setattr(_Forked, "kill", lambda self: None)  # which waits for an answer, too
        patched.setattr(_Forked, "wait", lambda self, timeout=None: 0)
        with pytest.raises(KeyboardInterrupt):
            isolated(ADD)
    one = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(isolated(ADD)(one, one), 2 * one)


def test_an_answer_that_makes_no_sense_is_the_end_of_its_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = isolated(ADD)
    one = np.ones((1, 3), np.float32)
    for plain in (
        {"kind": "array", "dtype": "<f4", "shape": [1 << 40], "strides": [4], "offset": 0},
        {"kind": "array", "dtype": "|O", "shape": [1], "strides": [8], "offset": 0},
        {"kind": "other"},
    ):
        with monkeypatch.context() as patched:
            patched.setattr(
                "linalg_ext.executable.worker_process.kernel.received",
                lambda block, _, plain=plain: received(block, [{"writable": True, **plain}]),
            )
            with pytest.raises(errors.CrashError, match="with an answer that cannot be read"):
                kernel(one, one)
        np.testing.assert_array_equal(kernel(one, one), 2 * one)


def test_processes_that_are_no_more_needed_end() -> None:
    kernel = isolated(ADD)
    child = kernel._process.child
    assert child is not None
    process = child.process
    del kernel, child
    gc.collect()
    assert process.wait(timeout=60) == 0


def test_threads_of_the_caller(add: IsolatedKernel) -> None:
    failures = []

    def work(seed: int) -> None:
        a = np.full((seed + 1, 3), seed, np.float32)
        for _ in range(20):
            if not np.array_equal(add(a, a), 2 * a):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork(add: IsolatedKernel) -> None:
    one = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(add(one, one), 2 * one)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if np.array_equal(add(one, one), 2 * one) else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(add(one, one), 2 * one)


def test_close_ends_the_process() -> None:
    kernel = isolated(ADD)
    one = np.ones((1, 3), np.float32)
    child = kernel._process.child
    assert child is not None
    kernel.close()
    assert child.process.returncode is not None
    np.testing.assert_array_equal(kernel(one, one), 2 * one)
