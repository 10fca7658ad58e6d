"""Threads that share the work of a call, and how many of them there may be.

    lx.threads.current()              # as many as this process may run on, where nothing is said
    with lx.threads.using(1):         # in this thread, and this asynchronous task
        y = kernel(x)
    y = kernel(x, threads=2)          # for one call

A call's work is cut into slices that need nothing of one another. Whoever is free takes the next,
the caller included, so that a call never waits for a thread that is busy elsewhere.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from queue import Empty, SimpleQueue

from linalg_ext.errors import ArgumentError, caller_location

_in_force: ContextVar[int | None] = ContextVar("linalg_ext.threads", default=None)

_LOOK_AGAIN = 0.05
"""Seconds after which a caller that was interrupted looks again who has finished."""


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


def run(
    function: Callable[[int], object], slices: Sequence[int], threads: int, *, keep: object = None
) -> None:
    """Call `function` on each of `slices`, in any order, in at most `threads` threads.

    Args:
        function: releases the GIL.
        slices: what it is called with: addresses.
        threads: the caller's among them. Where no thread can be started the caller does it all.
        keep: what must live until the last call has ended: the memory that it writes, for one.

    Raises:
        Exception: what a call of `function` raised; all others are done by then.
    """
    call = _Call(function, slices, keep)
    _crew.help(call, min(threads, len(slices)) - 1)
    call.work()
    call.wait()


class _Call:
    """One call: the slices that nobody has taken, and those that are done."""

    def __init__(
        self, function: Callable[[int], object], slices: Sequence[int], keep: object
    ) -> None:
        self._function = function
        # For a caller that an interruption drives out in spite of all.
        self._keep = keep
        self._waiting = deque(slices)
        self._count = len(slices)
        self._done: list[BaseException | None] = []
        self._bell: SimpleQueue[None] = SimpleQueue()

    def work(self) -> None:
        """Take one slice after the other until there is none."""
        while True:
            try:
                slice_ = self._waiting.popleft()
            except IndexError:
                return
            error: BaseException | None = None
            try:
                self._function(slice_)
            except BaseException as raised:
                error = raised
            finally:
                self._done.append(error)
                self._bell.put(None)

    def wait(self) -> None:
        """Wait for the slices that others took: native code still writes to the caller's arrays.

        An interruption is raised when they are done.
        """
        try:
            while len(self._done) < self._count:
                with suppress(Empty):
                    self._bell.get(timeout=_LOOK_AGAIN)
        except BaseException:
            self.wait()
            raise
        for error in self._done:
            if error is not None:
                raise error


class _Crew:
    """The threads of this process, started when first needed; they live as long as it does."""

    def __init__(self) -> None:
        self.forget()

    def help(self, call: _Call, count: int) -> None:
        """Have `count` threads take part in `call`, as soon as they are free."""
        if self._count < count:
            self._start(count)
        for _ in range(min(count, self._count)):
            self._calls.put(call)

    def forget(self) -> None:
        """In a forked child: the threads are the parent's."""
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._count = 0
        self._starting = threading.Lock()

    def _start(self, count: int) -> None:
        with self._starting:
            while self._count < count:
                thread = threading.Thread(
                    target=_serve,
                    args=(self._calls,),
                    name=f"linalg_ext-{self._count + 1}",
                    daemon=True,
                )
                try:
                    thread.start()
                except RuntimeError:  # none to be had, or the interpreter is at its end
                    return
                self._count += 1


def _serve(calls: SimpleQueue[_Call]) -> None:
    while True:
        # Not kept in a variable while waiting: it keeps a kernel alive.
        calls.get().work()


_crew = _Crew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_crew.forget)
