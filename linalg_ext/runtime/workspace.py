"""The memory of intermediate results: compiled code takes it and gives it back by itself.

malloc maps large buffers again for every call, or returns freed memory to the system: each first
write to a page is a fault then, and a page to be cleared. Here memory that a call gives back waits
for the next one, of whatever kernel, in whatever thread; nothing of it holds the GIL.

    a buffer of 64 KiB or more     an idle block of its size, else a new one
    it is given back               its block is idle; those idle for longest go beyond the limit
    a kernel is dropped            all idle blocks go

The code is in `workspace.mlir`. Compiled code that needs it has a variable, a pointer to the
pool; where the pointer is null, as in a kernel that a program in C calls, malloc serves.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from typing import NamedTuple

from linalg_ext.runtime.kernel_cache import kept_own_code, own_code
from linalg_ext.runtime.machine_code import (
    Block,
    Code,
    LoadedCode,
    NativeCall,
    keep_for_ever,
)
from linalg_ext.utils.locks import Lock

AVAILABLE = hasattr(mmap, "MAP_ANONYMOUS") and hasattr(mmap, "MAP_PRIVATE")
"""True where this system has private anonymous mappings; all systems but Windows do."""

VARIABLE = "lx_intermediates_1"
"""The variable of compiled code that points to the pool.

Its number changes with the words that compiled code reads there: exported kernels may be older than
this.
"""

LEAST_BYTES = 64 << 10
"""The smallest size of a buffer from the pool. Below, malloc has one at hand as quickly."""

_NAME = "workspace"
_LIMIT, _IDLE, _USED, _MAPPED, _REUSED, _UNMAPPED, _COUNT, _FLAGS = range(2, 10)
_MUTEX, _BLOCKS, _MOST_BLOCKS = 128, 192, 64
_MOST_BYTES = 1 << 62


class IntermediatesStatistics(NamedTuple):
    """The state of the memory of intermediate results, and its counts so far.

    Attributes:
        used: bytes of the blocks that calls under way have.
        idle: bytes of the blocks that wait for a call.
        mapped: the number of blocks that the system gave.
        reused: the number of buffers with a block that an earlier one had left.
        unmapped: the number of blocks that were given back to the system.
    """

    used: int
    idle: int
    mapped: int
    reused: int
    unmapped: int


class Intermediates:
    """Memory for intermediate results, reused. Any number of threads may use it at once."""

    def __init__(self) -> None:
        """Make an empty pool, which keeps nothing until it is told how much."""
        # For ever: code may run, in threads of its own, until the process ends.
        self._memory = Block((_BLOCKS + 16 * _MOST_BLOCKS) // 8)
        keep_for_ever(self._memory)
        if AVAILABLE:
            self._memory.words[_FLAGS] = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._code: Code | None = None
        self._loading = Lock()
        self._forget_idle()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_idle)

    def lend_to(self, code: Code) -> None:
        """Have code that can use the pool use it, from its first call on.

        MLIR is not loaded for it: code that comes from a file has malloc where the pool's own code
        is not kept.
        """
        address = code.variable(VARIABLE) if AVAILABLE else None
        if address is None or not self._load(may_compile=not isinstance(code, LoadedCode)):
            return
        ctypes.c_void_p.from_address(address).value = self._memory.address
        weakref.finalize(code, self.clear).atexit = False

    def set_limit(self, limit: int) -> None:
        """Have at most `limit` bytes idle."""
        self._memory.words[_LIMIT] = min(limit, _MOST_BYTES)
        if self._memory.words[_IDLE] > limit:
            self.clear()

    def statistics(self) -> IntermediatesStatistics:
        """Return the state of the pool, and its counts so far."""
        words = self._memory.words
        return IntermediatesStatistics(
            *(words[at] for at in (_USED, _IDLE, _MAPPED, _REUSED, _UNMAPPED))
        )

    def clear(self) -> None:
        """Give all idle memory back to the system."""
        if self._code is not None:
            NativeCall(self._code.function("clear"), [self._memory.address])()

    def _load(self, *, may_compile: bool) -> bool:
        with self._loading:
            if self._code is None:
                code = own_code(_NAME) if may_compile else kept_own_code(_NAME)
                if code is not None:
                    keep_for_ever(code)
                    NativeCall(code.function("address"), [self._memory.address])()
                    self._code = code
        return self._code is not None

    def _forget_idle(self) -> None:
        """Start with no idle block, and a mutex that is free.

        So does a forked child: another thread may have been in the midst of the pool's work.
        """
        initialize = ctypes.CDLL(None).pthread_mutex_init
        initialize(ctypes.c_void_p(self._memory.address + _MUTEX), None)
        self._memory.words[_IDLE] = self._memory.words[_COUNT] = 0


intermediates = Intermediates()
"""The pool that the intermediate results of all kernels come from; `pool.memory` sets its limit."""
