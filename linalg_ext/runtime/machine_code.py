"""Functions of compiled code, and how they are called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

PackedFunction = Callable[[int], None]
"""Takes the address of a packed argument table; runs without the GIL."""

_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def as_packed(address: int) -> PackedFunction:
    """The packed function at an address."""
    return _PROTOTYPE(address)


def address_of_function(function: PackedFunction) -> int:
    """Where the code of a packed function, or of any other of ctypes, begins."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
