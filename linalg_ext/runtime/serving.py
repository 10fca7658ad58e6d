"""The child's side of a helper process: it answers one request at a time, within limits."""

from __future__ import annotations

import ctypes
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from linalg_ext.runtime import ipc

_flush: Any = ctypes.CDLL(None).fflush


def begin() -> None:
    """Make this process a helper: its parent ends it, or its own clock does."""
    sys.dont_write_bytecode = True  # from here on it reads what others wrote
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def lower_limit(what: int, value: int) -> None:
    """Lower a limit of the system's on this process. There is no way back."""
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(what, (value, value))


def requests(channel: socket.socket) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the requests of the parent until it is gone."""
    while True:
        try:
            request = ipc.receive(channel)
        except EOFError:
            return
        yield request


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """End this process where the `with` block takes longer.

    Should the parent be killed meanwhile, no other process would stop one that hangs.
    """
    signal.setitimer(signal.ITIMER_REAL, seconds)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)


def answer(channel: socket.socket, header: dict[str, Any], payload: bytes = b"") -> None:
    """Answer a request; what was printed meanwhile comes first."""
    sys.stdout.flush()
    sys.stderr.flush()
    _flush(None)
    ipc.send(channel, header, payload)
