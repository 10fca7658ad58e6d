"""Threads that share the work of a call, and how many of them there may be.

    lx.threads.current()              # by default as many as this process may run on
    lx.threads(2)                     # from here on, in this thread and this asynchronous task
    with lx.threads(1):               # in this block
        y = kernel(x)
    y = kernel(x, threads=2)          # for one call

The environment variable LINALG_EXT_NUM_THREADS says how many where nothing else does.

A call's work is cut into independent slices. Their number follows from the number of threads; the
result depends on it, and not on which thread does which slice. A free thread takes the next slice,
the caller included, so that a call never waits for a thread that is busy elsewhere. What needs all
that came before begins when that is done. Work that is done before another thread has woken up is
not cut.

The threads are started when first needed, sleep where nothing is to do, and neither hold nor wait
for the GIL (see `crew`). More threads than processors are allowed, and of no use.

Another library may have threads that stay awake for a while after its own work, which ours would
have to share the processors with. Where it lends them, they share the work in place of ours, as
long as they are awake.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

from linalg_ext.errors import ArgumentError, caller_location
from linalg_ext.runtime.thread_pool import Crew

if TYPE_CHECKING:
    from linalg_ext.runtime.vectorcall_record import Setting

VARIABLE = "LINALG_EXT_NUM_THREADS"
"""The environment variable that says how many threads a call may use; read once."""

_in_force: ContextVar[int | None] = ContextVar("linalg_ext.threads", default=None)
_team: ContextVar[int] = ContextVar("linalg_ext.threads.team", default=0)


def available() -> int:
    """Return the number of processors that this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def _told() -> int | None:
    """Return the number of threads that the environment tells, if it does."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise ArgumentError(
            f"{VARIABLE} is {text!r}",
            expected="a number of threads, from 1",
            where="the environment",
        )
    return int(text)


_default = _told() or available()


def current() -> int:
    """Return the number of threads that a call may use, the caller's among them."""
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


class Chosen:
    """A number of threads in force, by `lx.threads(2)`; as a context, until the block ends."""

    def __init__(self, count: int) -> None:
        self.count = checked(count)
        self._token: Token[int | None] | None = _in_force.set(self.count)

    def __enter__(self) -> int:
        if self._token is None:  # entered again
            self._token = _in_force.set(self.count)
        return self.count

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _in_force.reset(self._token)
            self._token = None

    def __repr__(self) -> str:
        return f"threads({self.count})"


class Threads:
    """The number of threads that a call may use: `lx.threads`.

    lx.threads(2)           # from here on, in this thread and this asynchronous task
    with lx.threads(2): ... # in this block
    """

    current = staticmethod(current)
    available = staticmethod(available)
    using = staticmethod(using)

    def __call__(self, count: int) -> Chosen:
        """Have calls use `count` threads each, where their work is large.

        Returns:
            A context, which puts the number of before in force again where its block ends.

        Raises:
            ArgumentError: not a number of threads.
        """
        return Chosen(count)

    def __repr__(self) -> str:
        return f"{current()} threads of {available()} processors"


threads = Threads()
"""`lx.threads`."""


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


def settings() -> tuple[Setting, ...]:
    """Return the settings that must not change for calls to be shared as they are now."""
    return (_in_force, _in_force.get()), (_team, _team.get())


def state() -> object:
    """Return a key of how calls are shared now; it is another one in a forked process."""
    return _in_force.get(), _team.get(), _is_forked


@contextmanager
def lent(team: int) -> Iterator[None]:
    """Have calls inside the `with` block shared by threads of another library's.

    After a fork the child's calls are shared by threads of its own: the team is the parent's.

    Args:
        team: the address of OpenMP's `GOMP_parallel`, which has as many threads as it is told to,
            the caller's among them, call a function.
    """
    token = _team.set(team)
    try:
        yield
    finally:
        _team.reset(token)


def context(threads: int, slices: int | None = None) -> int:
    """Return the context by which at most `threads` threads share the loops of compiled code.

    The caller's thread is among them. Where no thread can be started, the caller does all the work.

    Args:
        threads: the number of threads.
        slices: of the loop that has most: threads beyond are not woken. A team ignores it, for
            OpenMP starts new threads where the size of a team changes.

    Returns:
        The address of some words: the function that shares a loop (see `thread_pool.mlir`), and
        its data. They stay where they are. They change only in a forked process.
    """
    if (team := _team.get()) and not _is_forked:
        return _crew.context(threads, team)
    return _crew.context(threads if slices is None else min(threads, slices))


_crew = Crew(_default)
_is_forked = False


def _forget() -> None:
    """In a forked child: the threads are the parent's."""
    global _crew, _is_forked
    _crew.leave()
    _crew, _is_forked = Crew(_default), True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
