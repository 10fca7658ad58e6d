"""Blocks of memory for large arrays: of whole huge pages, where the machine has them.

The first write to a fresh page is a fault of the processor and a page to be cleared. In pages of
4 KiB a result of 64 MiB takes 16,384 faults, which cost several times what computing it does; in
huge pages of 2 MiB it takes 32. Linux gives them to a range that asks with `madvise` and that
starts at a multiple of their size.
"""

from __future__ import annotations

import ctypes
import mmap

HUGE_PAGE = 2 << 20
"""Bytes of a huge page on x86-64, and on aarch64 with base pages of 4 KiB."""

AVAILABLE = hasattr(mmap, "MAP_ANONYMOUS") and hasattr(mmap, "MAP_PRIVATE")
"""True where this system has private anonymous mappings; all systems but Windows do."""

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
        # One page more, for the start may lie anywhere in one; what is not written is not taken.
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
        """Let the system take the pages where it runs short; what they hold is lost then.

        A page that is written again before the system takes it stays, and costs less than a new
        one. What is released already stays so until `take`.
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
