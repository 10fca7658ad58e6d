"""Limits on the resources of a worker process."""

from __future__ import annotations

import re
import resource
from dataclasses import dataclass
from pathlib import Path

from linalg_ext.errors import ArgumentError, IRError, LinalgExtError
from linalg_ext.runtime.serving import lower_limit


@dataclass(frozen=True)
class Limits:
    """Bounds on a process that runs untrusted code.

    Attributes:
        seconds: of the clock, for one compilation and for each call.
        memory: in bytes: of data, beyond what the process has when it begins.
        stack: in bytes, of the thread that compiles and runs.

    Raises:
        ArgumentError: one of them is no bound.
    """

    seconds: float = 60.0
    memory: int = 4 << 30
    stack: int = 8 << 20

    def __post_init__(self) -> None:
        for name in ("seconds", "memory", "stack"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 < value <= _MOST[name]:
                raise ArgumentError(
                    f"{name} is {value!r}",
                    expected=f"a positive number, at most {_MOST[name]}",
                )
        if self.stack < _LEAST_STACK:
            raise ArgumentError(f"stack is {self.stack} bytes", expected=f"at least {_LEAST_STACK}")

    def named(self, error: LinalgExtError) -> LinalgExtError:
        """Add the bound on memory to an error of the process, where memory was short; return it."""
        notes = error.diagnostics if isinstance(error, IRError) else error.notes
        if _OF_MEMORY.search("\n".join([error.what, *map(str, notes)])):
            limit = int(self.memory)
            size = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit} bytes"
            error.expected = (
                f"no more than {size} of data on top of the memory that the process begins with"
            )
            error.hint = f"the limit is Limits(memory={limit}): allow more"
        return error


_OF_MEMORY = re.compile(r"bad_alloc|MemoryError|[Oo]ut of memory|no memory|allocate memory|SIGKILL")
"""Messages of a failed allocation; SIGKILL is among them, as the system ends a process by it."""

_MOST = {"seconds": 10**9, "memory": 1 << 60, "stack": 1 << 60}
"""More than these, and the system does not understand them."""

_LEAST_STACK = 256 << 10
"""Less than this, and Python itself does not run."""


def apply(limits: Limits) -> None:
    """Bound this process from now on. There is no way back."""
    lower_limit(resource.RLIMIT_CORE, 0)
    lower_limit(resource.RLIMIT_STACK, int(limits.stack))
    lower_limit(resource.RLIMIT_DATA, _data() + int(limits.memory))


def _data() -> int:
    """Bytes of data that this process has."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:  # not Linux
        return 0
    match = re.search(r"^VmData:\s*(\d+) kB", status, re.MULTILINE)
    return int(match[1]) << 10 if match else 0
