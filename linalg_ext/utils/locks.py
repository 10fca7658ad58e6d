"""Locks, and work in native code, that a fork of the process leaves sane.

A forked process has one thread, the one that forked. A lock that another thread held would be held
in it for ever; so locks of the library are `Lock`s, which it finds free. Work of another thread in
LLVM's own code would stay half done, with LLVM's locks held; so a fork waits until no thread
compiles.
"""

from __future__ import annotations

# It takes its lock before a fork, the module that was loaded last first: a compilation that a fork
# waits for, below, would wait for that lock.
import logging  # noqa: F401
import os
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

_PATIENCE = 120.0
"""Seconds that a fork waits for compilations of other threads, at most."""


class Lock:
    """A lock that its holder may take again, and that is free in a forked process.

    If the thread that forks holds the lock, it holds it in the forked process too.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Free the lock in a forked process, whichever thread held it."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


class _Compilations:
    """The compilations that are under way, counted by thread; a fork waits for those of others."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: Counter[int] = Counter()

    @contextmanager
    def counted(self) -> Iterator[None]:
        thread = threading.get_ident()
        with self._changed:
            self._running[thread] += 1
        try:
            yield
        finally:
            with self._changed:
                self._running[thread] -= 1
                if not self._running[thread]:
                    del self._running[thread]
                self._changed.notify_all()

    def wait(self) -> None:
        """Wait until no other thread compiles; none begins before `go_on`."""
        own = {threading.get_ident()}
        self._changed.acquire()
        self._changed.wait_for(lambda: self._running.keys() <= own, _PATIENCE)

    def go_on(self) -> None:
        self._changed.release()

    def renew(self) -> None:
        """Forget the compilations of other threads, which a forked process has not."""
        own = threading.get_ident()
        running = self._running[own]
        self._changed = threading.Condition()
        self._running = Counter({own: running} if running else {})


def compiling() -> AbstractContextManager[None]:
    """Return a context of work in MLIR and LLVM; a fork of another thread waits for its end."""
    return _compilations.counted()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
_compilations = _Compilations()


def _renew() -> None:
    _compilations.renew()
    for lock in list(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_compilations.wait,
        after_in_parent=_compilations.go_on,
        after_in_child=_renew,
    )
