"""Interrupts of kernels: Ctrl-C ends a long one, as it ends a loop of Python.

Compiled code that may run for long compares a count of interrupts with that of its beginning, and
fails where they differ. A signal handler of native code counts: Python's own handler runs only once
the kernel has returned. It goes on to the handler before it, so that Python raises
KeyboardInterrupt as ever.

Only while Python's default handler of SIGINT is in force is there a count, or the handler of
`asyncio.run`, which cancels the main task. One of the user's own runs when the kernel is done.
"""

from __future__ import annotations

import ctypes
import functools
import signal
import sys
import threading
import time
from typing import Any

from linalg_ext.runtime.machine_code import Block, Code, keep_for_ever

VARIABLE = "lx_interrupts_1"
"""The variable of compiled code that points to the count. Code without it does not poll.

Its number changes with the words that compiled code reads there: exported kernels may be older than
this.
"""

HANDLER = "lx_interrupt_handler_1"
"""The variable of compiled code that points to its signal handler."""

INTERRUPTED = "interrupted by SIGINT"
"""The message of the assertion that fails on an interrupt."""

COUNT, PREVIOUS = range(2)
"""The words of the block that compiled code is given: the count, and the handler before its own."""

_ACTION_WORDS = 32
"""The most words of a `struct sigaction`, whose first word is the handler on all systems."""

_SECONDS = 0.02
"""Seconds for which a handler of the user's own is taken to stay: to ask Python takes 3 us."""

_DEFAULT, _IGNORED = 0, 1
"""SIG_DFL and SIG_IGN, which are not addresses of functions."""


class Interrupts:
    """The count of interrupts, and the handler that counts them."""

    def __init__(self) -> None:
        """Count nothing until code that polls is called."""
        # For ever: the handler may run until the process ends.
        self._block = Block(2)
        keep_for_ever(self._block)
        self._handler = self._python = 0
        self._next = 0.0
        self._sigaction = ctypes.CDLL(None).sigaction

    def lend_to(self, code: Code) -> bool:
        """Have code that polls see the count; return whether it polls."""
        address = code.variable(VARIABLE)
        if address is None:
            return False
        ctypes.c_void_p.from_address(address).value = self._block.address
        if not self._handler and (place := code.variable(HANDLER)) is not None:
            keep_for_ever(code)
            self._handler = ctypes.c_int64.from_address(place).value
        return True

    def watch(self) -> None:
        """Have SIGINT counted, where the handler in force ends the main thread's work."""
        now = time.monotonic()
        if now < self._next:
            return
        # Each cell of a notebook sets Python's handler again, which the system alone tells.
        action, words = self._action(), self._block.words
        if action[0] in (_DEFAULT, _IGNORED, self._handler):
            return
        if not _interrupts(signal.getsignal(signal.SIGINT)):
            self._next = now + _SECONDS
            return
        if not self._python:
            self._learn(action)
        # A handler of another library may go on to this one, which would go on to it in turn.
        if action[0] == self._python or not words[PREVIOUS]:
            words[PREVIOUS], action[0] = action[0], self._handler
            self._sigaction(signal.SIGINT, action, None)

    def _action(self) -> ctypes.Array[ctypes.c_int64]:
        action = (ctypes.c_int64 * _ACTION_WORDS)()
        self._sigaction(signal.SIGINT, None, action)
        return action

    def _learn(self, action: ctypes.Array[ctypes.c_int64]) -> None:
        """Learn the address of Python's handler; `action` is that in force, LLVM's for example."""
        if threading.current_thread() is threading.main_thread():
            handler = signal.signal(signal.SIGINT, signal.default_int_handler)
            self._python = self._action()[0]
            signal.signal(signal.SIGINT, handler)
            self._sigaction(signal.SIGINT, action, None)


def _interrupts(handler: Any) -> bool:
    """Return whether a handler is Python's default one, or that of `asyncio.run`."""
    if handler is signal.default_int_handler:
        return True
    asyncio = sys.modules.get("asyncio")
    return (
        asyncio is not None
        and isinstance(handler, functools.partial)
        and isinstance(getattr(handler.func, "__self__", None), asyncio.Runner)
    )


interrupts = Interrupts()
"""The interrupts of all kernels."""
