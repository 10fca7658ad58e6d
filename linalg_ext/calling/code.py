"""What a kernel takes for its code: the engine that made it, or a file that holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from linalg_ext.runtime.machine_code import PackedFunction


class Code(Protocol):
    """Machine code with functions in it. It must outlive every call of one of them."""

    @property
    def opt_level(self) -> int:
        """LLVM's, with which it was made."""
        ...

    def function(self, name: str) -> PackedFunction:
        """The packed form of the function `name`.

        Raises:
            UnresolvedSymbolError: the code refers to something that nothing provides.
        """
        ...

    def object_code(self) -> bytes:
        """The object file (ELF or Mach-O)."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """The native entry of a kernel.

    Attributes:
        symbol: the function to call.
        destinations: the results that are written to memory of the caller, in order; they follow
            the inputs in the argument list, and the status follows them.
        returned: the results that come back as memrefs.
    """

    symbol: str
    destinations: tuple[int, ...]
    returned: tuple[int, ...]
