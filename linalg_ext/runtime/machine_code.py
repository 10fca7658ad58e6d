"""Compiled code, wherever it comes from, and how its functions are called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Protocol

PackedFunction = Callable[[int], None]
"""Takes the address of a packed argument table; runs without the GIL."""


PORTABLE = "lx_call_"
"""Before the name of a function: its packed form, for the target that it is compiled for.

The engine's own packed form is for the machine that makes the code. Code for that very machine has
no other.
"""


def packed_names(name: str) -> tuple[str, str]:
    """Return the possible names of a function's packed form in object code.

    The first one that is there counts.
    """
    # The engine's names: `_mlir_` before what takes a table of arguments.
    return f"{PORTABLE}{name}", f"_mlir__mlir_ciface_{name}"


def variable_symbol(name: str) -> str:
    """Return the symbol of a variable in object code: the engine requires its prefix."""
    return f"_mlir_{name}"


class Code(Protocol):
    """Machine code with functions in it. It must outlive every call of one of them."""

    @property
    def opt_level(self) -> int:
        """LLVM's, with which it was made."""
        ...

    @property
    def libraries(self) -> Sequence[str]:
        """The shared libraries that were loaded for it."""
        ...

    def function(self, name: str) -> PackedFunction:
        """The packed form of the function `name`.

        Raises:
            UnresolvedSymbolError: the code refers to something that nothing provides.
        """
        ...

    def variable(self, name: str) -> int | None:
        """The address of a variable, see `variable_symbol`; None where the code has none."""
        ...

    def object_code(self) -> bytes:
        """The object file (ELF or Mach-O)."""
        ...


_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def as_packed(address: int) -> PackedFunction:
    """The packed function at an address."""
    return _PROTOTYPE(address)


def address_of_function(function: PackedFunction) -> int:
    """Return the address of the code of a packed function, or of any other ctypes function."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
