"""What compiled code is, wherever it comes from: an engine, or an object file that one made."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Protocol

PackedFunction = Callable[[int], None]
"""Takes the address of a packed argument table; runs without the GIL."""

_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def as_packed(address: int) -> PackedFunction:
    """The packed function at an address."""
    return _PROTOTYPE(address)


def address_of_function(function: PackedFunction) -> int:
    """Where the code of a packed function, or of any other of ctypes, begins."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


class MachineCode(Protocol):
    """Functions in memory. They must not outlive it.

    Attributes:
        opt_level: LLVM's optimization level, 0 to 3.
        libraries: the shared libraries that were loaded for it.
    """

    opt_level: int
    libraries: Sequence[str]

    def function(self, name: str) -> PackedFunction:
        """The packed form of the function `name`."""

    def object_code(self) -> bytes:
        """The object file (ELF or Mach-O)."""
