"""Threads that share the work of a call, and how many of them there may be.

    lx.threads.current()              # as many as this process may run on, where nothing is said
    with lx.threads.using(1):         # in this thread, and this asynchronous task
        y = kernel(x)
    y = kernel(x, threads=2)          # for one call

A call's work is cut into slices that need nothing of one another, so many for so many threads: the
result hangs on that number, not on who does what. Whoever is free takes the next slice, the caller
included, so that a call never waits for a thread that is busy elsewhere. What needs all that came
before begins when that is done. Work that is done before another thread has woken up is not cut.

The threads are started when first needed, sleep where nothing is to do, and neither hold nor wait
for the GIL (see `crew`). More threads than processors are allowed, and of no use.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from linalg_ext.errors import ArgumentError, caller_location
from linalg_ext.runtime.crew import Crew

if TYPE_CHECKING:
    from linalg_ext.runtime.call_record import Setting

_in_force: ContextVar[int | None] = ContextVar("linalg_ext.threads", default=None)


def available() -> int:
    """How many processors this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


_default = available()


def current() -> int:
    """How many threads a call may use, the caller's among them."""
    return _in_force.get() or _default


@contextmanager
def using(count: int) -> Iterator[int]:
    """Have calls inside the `with` block use `count` threads each, where their work is large.

    Raises:
        ArgumentError: not a number of threads.
    """
    token = _in_force.set(checked(count))
    try:
        yield count
    finally:
        _in_force.reset(token)


def checked(count: object) -> int:
    """`count`, where it is a number of threads.

    Raises:
        ArgumentError: it is not.
    """
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ArgumentError(
            f"threads is {count!r}",
            where=caller_location(),
            expected="how many threads may work on a call: 1 for the caller's alone",
        )
    return count


def alone() -> tuple[Setting, ...] | None:
    """What has to stay as it is for calls to use one thread; None where they may use more."""
    return ((_in_force, _in_force.get()),) if current() == 1 else None


def context(threads: int) -> int:
    """What compiled code is given, to have its loops shared by at most `threads` threads.

    The caller's is among them. Where no thread can be started the caller does it all.

    Returns:
        The address of three words: the function that shares a loop (see `crew.mlir`), and what it
        needs. They stay where they are, and as they are.
    """
    return _crew.context(threads)


_crew = Crew(_default)


def _forget() -> None:
    """In a forked child: the threads are the parent's."""
    global _crew
    _crew = Crew(_default)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
