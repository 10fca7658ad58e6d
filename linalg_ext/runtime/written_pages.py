"""Memory whose writes the operating system notes: a question of microseconds, whatever its size.

    watch = WrittenPages.of(array)   # None where this system cannot, or the array is small
    watch.begin()                    # from here on
    watch.is_written()               # whether there was a write since

Linux write-protects the pages and notes which of them lost that protection (`userfaultfd` in its
asynchronous mode and `PAGEMAP_SCAN`, Linux 6.7). No signal and no handler is involved: the first
write to a page costs some hundred nanoseconds more, and that is all. The pages that an array shares
with its neighbours at its two ends are compared byte for byte instead.

Source: Linux, Documentation/admin-guide/mm/userfaultfd.rst and pagemap.rst.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import mmap
import os
import struct
import sys
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

SMALLEST = 1 << 18
"""Bytes of an array that is worth it: a smaller one is read as quickly."""

_USERFAULTFD = {"x86_64": 323, "aarch64": 282}
"""The number of the system call."""

_USER_MODE_ONLY = 1
_API, _API_VERSION = 0xC018AA3F, 0xAA
_WP_UNPOPULATED, _WP_ASYNC = 1 << 13, 1 << 15
_REGISTER, _UNREGISTER, _MODE_WP = 0xC020AA00, 0x8010AA01, 2

_WP_MATCHING, _CHECK_WPASYNC = 1, 2
_IS_WRITTEN = 2


class _Scan(ctypes.Structure):
    """`struct pm_scan_arg`."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            *("size", "flags", "start", "end", "walk_end", "regions", "regions_size"),
            *("max_pages", "category_inverted", "category_mask", "category_anyof", "return_mask"),
        )
    ]


class _Region(ctypes.Structure):
    """`struct page_region`."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("start", "end", "categories")]


_PAGEMAP_SCAN = 3 << 30 | ctypes.sizeof(_Scan) << 16 | ord("f") << 8 | 16


class WrittenPages:
    """A watch over the pages of an array, which it keeps alive. For one thread at a time."""

    def __init__(self, watcher: int, pages: int, memory: Array) -> None:
        """Use `of`."""
        self._process, self._watcher, self._pages = os.getpid(), watcher, pages
        address = memory.ctypes.data
        self._start = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
        self._end = (address + memory.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
        self._ends = memory[: self._start - address], memory[self._end - address :]
        self._before: tuple[bytes, bytes] | None = None
        self._range = self._start, self._end - self._start
        fcntl.ioctl(watcher, _REGISTER, bytearray(struct.pack("QQQQ", *self._range, _MODE_WP, 0)))

    def __del__(self) -> None:
        """Take the protection off."""
        if self._process == os.getpid():
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._watcher, _UNREGISTER, struct.pack("QQ", *self._range))

    @classmethod
    def of(cls, array: Array) -> WrittenPages | None:
        """Return a watch over an array; None where there can be none.

        Memory that other processes write, or that is of a file, cannot be watched.
        """
        memory = bytes_of(array)
        files = _files(os.getpid()) if memory is not None and memory.size >= SMALLEST else None
        if memory is None or files is None:
            return None
        try:
            return cls(*files, memory)
        except OSError:
            return None

    def begin(self) -> None:
        """Note writes from here on."""
        self._before = None
        try:
            self._scan(_WP_MATCHING | _CHECK_WPASYNC)
        except OSError:  # the memory is another one by now
            return
        self._before = self._both_ends()

    def is_written(self) -> bool:
        """Return whether the array was, or may have been, written to since `begin`."""
        if self._before is None or self._process != os.getpid():
            return True  # the files are of the process that forked this one
        try:
            return self._scan(_CHECK_WPASYNC) or self._both_ends() != self._before
        except OSError:
            return True

    def _both_ends(self) -> tuple[bytes, bytes]:
        first, last = self._ends
        return first.tobytes(), last.tobytes()

    def _scan(self, flags: int) -> bool:
        """Return whether a page is written; with `_WP_MATCHING`, protect those that are."""
        region = _Region()
        asks = not flags & _WP_MATCHING
        scan = _Scan(size=ctypes.sizeof(_Scan), flags=flags, start=self._start, end=self._end)
        scan.category_mask = scan.return_mask = _IS_WRITTEN
        if asks:
            scan.regions, scan.regions_size, scan.max_pages = ctypes.addressof(region), 1, 1
        return bool(fcntl.ioctl(self._pages, _PAGEMAP_SCAN, scan) > 0)


def bytes_of(array: Array) -> Array | None:
    """Return the memory of an array, whatever the order of its axes; None where it has gaps."""
    order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    dense = array.transpose(order)
    return dense.reshape(-1).view(np.uint8) if dense.flags.c_contiguous else None


@functools.cache
def _files(process: int) -> tuple[int, int] | None:
    """Open the files of a process by which it asks; None where the system has none."""
    number = _USERFAULTFD.get(os.uname().machine) if sys.platform == "linux" else None
    if number is None:
        return None
    flags = os.O_CLOEXEC | os.O_NONBLOCK | _USER_MODE_ONLY
    watcher = ctypes.CDLL(None, use_errno=True).syscall(number, flags)
    if watcher < 0:
        return None
    features = _WP_ASYNC | _WP_UNPOPULATED
    try:
        fcntl.ioctl(watcher, _API, bytearray(struct.pack("QQQ", _API_VERSION, features, 0)))
        return watcher, os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        os.close(watcher)
        return None
