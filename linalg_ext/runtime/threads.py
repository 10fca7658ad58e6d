"""Threads that share the work of a call, and how many of them there may be.

    lx.threads.current()              # by default as many as this process may run on
    lx.threads(2)                     # from here on, in this thread and this asynchronous task
    with lx.threads(1):               # in this block
        y = kernel(x)
    y = kernel(x, threads=2)          # for one call

The environment variable LINALG_EXT_NUM_THREADS says how many where nothing else does.

A call's work is cut into independent slices. Their number follows from the number of threads; the
result depends on it, and not on which thread does which slice. A free thread takes the next slice,
the caller included, so that a call never waits for a thread that is busy elsewhere. A loop that
needs the results of all earlier ones begins when these are done. Work that is done before another
thread has woken up is not cut.

The threads are started when first needed, sleep where nothing is to do, and neither hold nor wait
for the GIL: from a call until all its slices are done they are in `thread_pool.mlir`, compiled when
it is first needed. More threads than processors are allowed, and of no use.

Another library may have threads that stay awake for a while after its own work, which ours would
have to share the processors with. Where it lends them, they share the work in place of ours, as
long as they are awake.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import time
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

from linalg_ext.errors import ArgumentError, caller_location
from linalg_ext.runtime.kernel_cache import own_code
from linalg_ext.runtime.machine_code import Block, NativeCall, keep_for_ever
from linalg_ext.utils.scopes import holding

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


def _threads_of_environment() -> int | None:
    """Return the number of threads that the environment asks for, if it does."""
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


_default = _threads_of_environment() or available()


def current() -> int:
    """Return the number of threads that a call may use, the caller's among them."""
    return _in_force.get() or _default


def using(count: int) -> AbstractContextManager[int]:
    """Have calls inside the `with` block use `count` threads each, where their work is large."""
    return holding(_in_force, checked(count))


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
    """`count`, where it is a number of threads; an ArgumentError where it is not."""
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


def lent(team: int) -> AbstractContextManager[int]:
    """Have calls inside the `with` block shared by threads of another library's.

    After a fork the child's calls are shared by threads of its own: the team is the parent's.
    `team` is the address of OpenMP's `GOMP_parallel`, which has as many threads as it is told to,
    the caller's among them, call a function.
    """
    return holding(_team, team)


def context(threads: int, slices: int | None = None) -> int:
    """Return the context by which at most `threads` threads share the loops of compiled code.

    The caller's thread is among them. Where no thread can be started, the caller does all the work.
    Threads beyond the `slices` of the loop that has most are not woken. A team ignores it, for
    OpenMP starts new threads where the size of a team changes.

    Returns:
        The address of some words: the function that shares a loop (see `thread_pool.mlir`), and
        its data. They stay where they are. They change only in a forked process.
    """
    if (team := _team.get()) and not _is_forked:
        return _thread_pool.context(threads, team)
    return _thread_pool.context(threads if slices is None else min(threads, slices))


AWAKE = 50e-6
"""Seconds that a thread waits awake, before it sleeps: about the time of sleeping and waking."""

_CONTEXT_WORDS = 7
_SHARE, _HELPERS = 0, 2
"""Words of a context, which `thread_pool.mlir` lists."""

_ROUNDS, _MUTEX, _AWAITS_JOB, _AWAITS_END, _CREW_BYTES = 32, 64, 128, 192, 256


class _Code:
    """The compiled functions of `thread_pool.mlir`.

    `share` and `share_in_team` are the addresses of functions that share a loop among the threads
    of a pool, and among a team of OpenMP's. A wait of `AWAKE` seconds takes `rounds` of a loop.
    """

    def __init__(self) -> None:
        engine = own_code("thread_pool")
        # Threads are in it for ever, at the interpreter's end too.
        keep_for_ever(engine)
        addresses = Block(2)
        NativeCall(engine.function("addresses"), [addresses.address])()
        self.share, self.share_in_team = addresses.words
        self.help = engine.function("help")
        rounds, word = 2000, Block(1)
        wait = NativeCall(engine.function("wait"), [word.address, rounds])
        start = time.perf_counter()
        wait()
        self.rounds = max(1, int(AWAKE / max(time.perf_counter() - start, 1e-7) * rounds))


_code = functools.cache(_Code)


class ThreadPool:
    """Threads that take part in calls: started when first needed, asleep where nothing is to do."""

    def __init__(self, processors: int) -> None:
        """A thread pool without threads yet, on a number of `processors`.

        With more threads than that, none waits awake: another might need the processor.
        """
        self._processors = processors
        self._starting = threading.Lock()
        self._count = 0
        self._contexts: dict[tuple[int, int], Block] = {}
        self._memory = Block(_CREW_BYTES // 8)
        keep_for_ever(self._memory)
        system = ctypes.CDLL(None)
        for place, initialize in (
            (_MUTEX, system.pthread_mutex_init),
            (_AWAITS_JOB, system.pthread_cond_init),
            (_AWAITS_END, system.pthread_cond_init),
        ):
            initialize(ctypes.c_void_p(self._memory.address + place), None)

    def context(self, threads: int, team: int = 0) -> int:
        """The address of the context by which compiled code has loops shared by `threads` threads.

        The caller's is among them: with one, or where no thread can be started, it does it all.
        `team` is the address of OpenMP's function that has a team call another, to have a team
        share the loops as long as it comes in time; 0 for threads of this thread pool alone.
        """
        key = threads, team
        try:
            return self._contexts[key].address
        except KeyError:
            pass
        with self._starting:
            if key not in self._contexts:
                self._start(threads - 1)
                helpers = min(threads - 1, self._count)
                share = _code().share_in_team if team else _code().share
                block = Block(_CONTEXT_WORDS)
                block.words[:] = [share, self._memory.address, helpers, team, threads, 0, 0]
                keep_for_ever(block)
                self._contexts[key] = block
            return self._contexts[key].address

    def leave(self) -> None:
        """In a forked process: have each caller with a context of this thread pool work alone."""
        for block in self._contexts.values():
            block.words[_SHARE], block.words[_HELPERS] = _code().share, 0

    def _start(self, count: int) -> None:
        if self._count >= count:
            return
        rounds = _code().rounds if count < self._processors else 0
        self._memory.words[_ROUNDS // 8] = rounds
        while self._count < count:
            thread = threading.Thread(
                target=NativeCall(_code().help, [self._memory.address, rounds]),
                name=f"linalg_ext-{self._count + 1}",
                daemon=True,
            )
            try:
                thread.start()
            except RuntimeError:  # none to be had, or the interpreter is at its end
                return
            self._count += 1


_thread_pool = ThreadPool(_default)
_is_forked = False


def _forget() -> None:
    """In a forked child: the threads are the parent's."""
    global _thread_pool, _is_forked
    _thread_pool.leave()
    _thread_pool, _is_forked = ThreadPool(_default), True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
