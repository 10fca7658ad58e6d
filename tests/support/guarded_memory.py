"""Arrays at the end of what may be touched: who reads beyond them is killed."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np


def guarded(array: Any) -> Any:
    """A copy that ends where a page ends, with a page after it that kills who reads it."""
    page = mmap.PAGESIZE
    pages = -(-array.nbytes // page)
    room = mmap.mmap(-1, (pages + 1) * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(room))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(start + pages * page), page, 0) == 0
    copy = np.frombuffer(room, array.dtype, array.size, pages * page - array.nbytes)
    copy = copy.reshape(array.shape)
    copy[:] = array
    return copy
