"""The code of a kernel, which an engine made or a file holds, and its native entry."""

from __future__ import annotations

from typing import NamedTuple

from linalg_ext.runtime.machine_code import Code

__all__ = ["Code", "Entry"]


class Entry(NamedTuple):
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
