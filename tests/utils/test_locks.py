"""Forks: a lock is free in a forked process, and no fork comes between a compilation's parts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from linalg_ext.utils.locks import Lock, compiling
from resources import needs_fork

pytestmark = [
    needs_fork,
    # Of threads beside a fork: that is what is tested.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def forked(do: Callable[[], bool]) -> int:
    """The exit code of a forked process: 0 where `do` says yes, below 0 where it hangs."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if do() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def entered(block: AbstractContextManager[None]) -> bool:
    with block:
        return True


def held(block: AbstractContextManager[None]) -> Callable[[], None]:
    """Have a thread be in the block until what is returned is called."""
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with block:
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(60)

    def end() -> None:
        leave.set()
        thread.join()

    return end


def test_what_another_thread_holds_is_free_in_a_forked_process() -> None:
    lock = Lock()
    end = held(lock)
    assert forked(lambda: entered(lock) and entered(lock)) == 0
    end()
    assert entered(lock)


def test_what_the_forking_thread_holds_it_holds_there_too() -> None:
    lock = Lock()

    def others_wait() -> bool:
        other = threading.Thread(target=entered, args=(lock,), daemon=True)
        other.start()
        other.join(0.2)
        return other.is_alive() and entered(lock)

    with lock:
        assert forked(others_wait) == 0


def test_a_fork_waits_for_the_compilations_of_others() -> None:
    end = held(compiling())
    ended: list[bool] = []

    def end_later() -> None:
        # Only a fork that waits lets this be first: the fork itself is the next thing that happens.
        ended.append(True)
        end()

    threading.Timer(0.3, end_later).start()
    assert forked(lambda: bool(ended) and entered(compiling())) == 0


def test_a_fork_does_not_wait_for_itself() -> None:
    with compiling(), compiling():
        assert forked(lambda: entered(compiling())) == 0
    # It is all given back: the forks of other threads go ahead.
    done: list[int] = []
    thread = threading.Thread(target=lambda: done.append(forked(lambda: True)))
    thread.start()
    thread.join(60)
    assert done == [0]


LOGGING = """
import os, threading, time
from linalg_ext.utils import locks

locks._PATIENCE = 5.0
import logging

inside, ended = threading.Event(), threading.Event()

def compile_and_log():
    with locks.compiling():
        inside.set()
        time.sleep(0.5)  # The fork has begun to wait.
        logging.getLogger("linalg_ext.compile")
        ended.set()

threading.Thread(target=compile_and_log, daemon=True).start()
assert inside.wait(60)
child = os.fork()
if child == 0:
    os._exit(0 if ended.is_set() else 1)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert code == 0, "the fork did not wait for the end of the compilation"
"""


def test_a_compilation_that_a_fork_waits_for_may_log() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOGGING],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
