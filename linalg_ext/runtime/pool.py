"""A pool of memory for results: an array's block goes back when the array and its views are dead.

    small results          numpy.empty
    large ones             an idle block of nearly the size, else a new one
    a large one dies       its block is idle; the blocks idle for longest go beyond the limit

Memory is never cleared before it is handed out: it holds the bytes of its last owner, or zeros.
Intermediate results of calls have memory of their own, under the same limit: see `workspace`.

Blocks are of whole huge pages, where the machine has them. The first write to a fresh page is a
fault of the processor and a page to be cleared. In pages of 4 KiB a result of 64 MiB takes 16,384
faults, which cost several times its computation; in huge pages of 2 MiB it takes 32. Linux gives
them to a range that asks with `madvise` and that starts at a multiple of their size.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from linalg_ext.errors import ArgumentError, caller_location
from linalg_ext.runtime import poison
from linalg_ext.runtime.poison import empty
from linalg_ext.runtime.workspace import (
    AVAILABLE,
    Intermediates,
    IntermediatesStatistics,
    intermediates,
)

HUGE_PAGE = 2 << 20
"""Bytes of a huge page on x86-64, and on aarch64 with base pages of 4 KiB."""

_HUGE: int | None = getattr(mmap, "MADV_HUGEPAGE", None)
_FREE: int | None = getattr(mmap, "MADV_FREE", None)


class Block:
    """A range of memory of this process, unmapped when the block dies.

    Attributes:
        address: of the first byte, a multiple of `HUGE_PAGE`.
        size: bytes, a multiple of `HUGE_PAGE`.
    """

    __slots__ = ("_anchor", "_is_released", "_mapping", "_start", "address", "size")

    def __init__(self, nbytes: int) -> None:
        """Map room for `nbytes` bytes; no memory is taken before they are written.

        Raises:
            OSError, OverflowError, ValueError: the system has no such room.
        """
        self.size = rounded(nbytes)
        # One page more, for the start may lie anywhere in one; unwritten pages take no memory.
        self._mapping = mmap.mmap(
            -1, self.size + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        )
        # Kept: while it exports the mapping, nothing can close it.
        self._anchor = ctypes.c_char.from_buffer(self._mapping)
        base = ctypes.addressof(self._anchor)
        self._start = -base % HUGE_PAGE
        self.address = base + self._start
        self._is_released = False
        self._advise(_HUGE)

    def release(self) -> None:
        """Let the system take the pages where it runs short; their contents are lost then.

        A page that is written again before the system takes it stays, and costs less than a new
        one. Pages that are released already stay so until `take`.
        """
        if not self._is_released:
            self._is_released = True
            self._advise(_FREE)

    def take(self) -> None:
        """Use the block: its pages stay once they are written."""
        self._is_released = False

    def _advise(self, advice: int | None) -> None:
        # Advice: a system that cannot follow it gives plain pages, or keeps them.
        # (Spelt out, for a block may die when the interpreter has taken its modules apart.)
        if advice is None:
            return
        try:  # noqa: SIM105
            self._mapping.madvise(advice, self._start, self.size)
        except OSError:
            pass


def rounded(nbytes: int) -> int:
    """`nbytes` up to whole huge pages."""
    return -(-nbytes // HUGE_PAGE) * HUGE_PAGE


SMALLEST = 4 * HUGE_PAGE
"""Bytes of the smallest array that gets a block.

Below, malloc's own reuse is as quick, and native code makes the array, which takes 20 us less.
"""

_WARM = 4
"""The divisor of the limit that gives the idle bytes whose blocks always keep their pages.

Those are the blocks that came back last. To leave the pages to the system costs a tenth of writing
them again, and most blocks are soon reused.
"""

_SLACK = 8
"""A block is used again for an array that leaves at most one part in `_SLACK` of it unused."""


class PoolStatistics(NamedTuple):
    """The state of a pool, and its counts so far.

    Attributes:
        used: bytes of the blocks that arrays live in.
        idle: bytes of the blocks that wait for an array.
        limit: most bytes that may be idle.
        mapped: the number of blocks that the system gave.
        reused: the number of arrays with a block that an earlier one had left.
        unmapped: the number of blocks that were given back to the system.
        intermediates: the same of the intermediate results of calls; None where the pool has
            results alone.
    """

    used: int
    idle: int
    limit: int
    mapped: int
    reused: int
    unmapped: int
    intermediates: IntermediatesStatistics | None = None

    def __str__(self) -> str:
        kinds = [("results", self), ("intermediates", self.intermediates)]
        return "\n".join(
            f"{name:<15}{of.used / 2**20:.0f} MiB in use, {of.idle / 2**20:.0f} MiB idle "
            f"of at most {self.limit / 2**20:.0f}\n"
            f"{'  blocks':<15}{of.mapped} mapped, {of.reused} used again, "
            f"{of.unmapped} given back to the system"
            for name, of in kinds
            if of is not None
        )


class ResultPool:
    """Memory for arrays, reused. Any number of threads may use one pool at once."""

    def __init__(
        self,
        limit: int | None = None,
        *,
        intermediates: Intermediates | None = None,
    ) -> None:
        """Make an empty pool.

        Args:
            limit: most bytes that may be idle; by default an eighth of the machine's memory, 1 GiB
                at most.
            intermediates: has the same limit, and is cleared and switched off with the pool.
        """
        self._limit = _default_limit() if limit is None else limit
        self._intermediates = intermediates
        self._enabled = AVAILABLE
        self._tell_limit()
        self._lent: dict[int, int] = {}
        self._forget_idle()
        os.register_at_fork(after_in_child=self._forget_idle)

    @property
    def enabled(self) -> bool:
        """Return whether large arrays get blocks; set it to False for `numpy.empty` throughout.

        Intermediate results then take fresh memory of the system's in every call.
        """
        return self._enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self._enabled = bool(value) and AVAILABLE
        self._tell_limit()
        if not self._enabled:
            self.clear()

    @property
    def limit(self) -> int:
        """Most bytes that may be idle; set it to 0 and nothing outlives its array, or its call.

        As many may be idle of intermediate results.

        Raises:
            ArgumentError: the value is not a number of bytes.
        """
        return self._limit

    @limit.setter
    def limit(self, value: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ArgumentError(
                f"the limit of idle memory is {value!r}",
                where=caller_location(),
                expected="a number of bytes: 0 keeps nothing, 1 << 30 at most 1 GiB",
            )
        self._limit = value
        self._tell_limit()
        self._tidy()

    def empty(
        self, shape: tuple[int, ...], dtype: np.typing.DTypeLike = np.float64
    ) -> np.ndarray[Any, Any]:
        """A new array of undefined content in row-major order, as `numpy.empty` gives.

        A large one starts at a multiple of the size of a huge page.

        Raises:
            MemoryError, ValueError: as `numpy.empty` does, for arrays that no memory can hold.
        """
        dtype = np.dtype(dtype)
        nbytes = dtype.itemsize
        for size in shape:
            nbytes *= size
        if nbytes < SMALLEST or not self._enabled or dtype.hasobject:
            return empty(shape, dtype)
        block = self._take(nbytes)
        if block is None:
            return empty(shape, dtype)
        # Views of an array refer to its base, the loan, not to it.
        memory = np.asarray(_Loan(self, block, nbytes))
        array: np.ndarray[Any, Any] = memory.view(dtype).reshape(shape)
        return poison.filled(array) if poison.ON else array

    def statistics(self) -> PoolStatistics:
        """Return the state of the pool, and its counts so far."""
        self._tidy()
        used = sum(self._lent.copy().values())
        idle = sum(block.size for block in self._idle.copy())
        beside = None if self._intermediates is None else self._intermediates.statistics()
        return PoolStatistics(
            used, idle, self._limit, self._mapped, self._reused, self._unmapped, beside
        )

    def clear(self) -> None:
        """Give all idle memory back to the system."""
        self._tidy(limit=0)
        if self._intermediates is not None:
            self._intermediates.clear()

    def __repr__(self) -> str:
        state = "" if self._enabled else "off: every result is from numpy.empty\n"
        return state + str(self.statistics())

    def _tell_limit(self) -> None:
        if self._intermediates is not None:
            self._intermediates.set_limit(self._limit if self._enabled else 0)

    def _take(self, nbytes: int) -> Block | None:
        """A block for `nbytes`, idle until now or new; None where there is no room."""
        self._tidy()
        block = None
        if self._lock.acquire():
            try:
                block = self._best_idle(rounded(nbytes))
                if block is None:
                    self._mapped += 1
                else:
                    block.take()
                    self._reused += 1
            finally:
                self._lock.release()
            if self._returned:
                self._tidy(wait=False)
        if block is None:
            try:
                block = Block(nbytes)
            except (OSError, OverflowError, ValueError):
                # Room there may be once the idle blocks are gone; if not, NumPy raises the error.
                self.clear()
                return None
        self._lent[block.address] = block.size
        return block

    def _best_idle(self, size: int) -> Block | None:
        """Remove and return the smallest idle block that is not much too large."""
        fitting = [
            (block.size, -at)
            for at, block in enumerate(self._idle)
            if size <= block.size <= size + size // _SLACK
        ]
        if not fitting:
            return None
        # The last of equal ones to come back is taken: its bytes may still be in a cache.
        return self._idle.pop(-min(fitting)[1])

    def _give_back(self, block: Block) -> None:
        """Called when an array dies: anywhere, in any thread, in the midst of a method of ours."""
        del self._lent[block.address]
        self._returned.append(block)
        self._tidy(wait=False)

    def _tidy(self, *, limit: int | None = None, wait: bool = True) -> None:
        """Make returned memory idle, and unmap idle memory beyond the limit.

        Without `wait` it is left to the holder of the lock, which looks again after releasing it.
        """
        dropped: list[Block] = []
        while self._lock.acquire(wait=wait):
            try:
                while self._returned:
                    self._idle.append(self._returned.popleft())
                limit = self._limit if limit is None else limit
                excess = sum(b.size for b in self._idle) - limit
                while excess > 0:
                    dropped.append(self._idle.pop(0))
                    excess -= dropped[-1].size
                    self._unmapped += 1
                self._release_cold(limit // _WARM)
            finally:
                self._lock.release()
            if not self._returned:
                return

    def _release_cold(self, warm: int) -> None:
        """Leave the pages of idle memory to the system, but for the last `warm` bytes of it."""
        for block in reversed(self._idle):
            warm -= block.size
            if warm < 0:
                block.release()

    def _forget_idle(self) -> None:
        """Start with no idle block, no counts, and a lock that is free.

        So does a forked child, where the idle blocks are the parent's, and no thread may hold the
        lock. Arrays that live on in the child return their blocks to its own pool.
        """
        self._lock = _RefusingLock()
        self._returned: deque[Block] = deque()
        self._idle: list[Block] = []
        self._mapped = self._reused = self._unmapped = 0


class _RefusingLock:
    """A lock that says no to the thread that holds it already.

    An array may die while its own thread is in the midst of the pool's work, for the garbage
    collector runs where it likes: such a thread can neither wait nor go ahead.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._is_held = False

    def acquire(self, *, wait: bool = True) -> bool:
        if not self._lock.acquire(blocking=wait):
            return False
        if self._is_held:
            self._lock.release()
            return False
        self._is_held = True
        return True

    def release(self) -> None:
        self._is_held = False
        self._lock.release()


class _Loan:
    """The memory behind an array of the pool. It dies with the last view of the array."""

    __slots__ = ("__array_interface__", "_block", "_pool")

    def __init__(self, pool: ResultPool, block: Block, nbytes: int) -> None:
        self._pool = pool
        self._block = block
        self.__array_interface__ = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (block.address, False),
        }

    def __del__(self) -> None:
        self._pool._give_back(self._block)


def _default_limit() -> int:
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        machine = 1 << 32
    return min(machine // 8, 1 << 30)


memory = ResultPool(intermediates=intermediates)
"""The pool that the results of all kernels come from."""
