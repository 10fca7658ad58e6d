"""What the code generator asks of a machine."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    """The registers and caches of one core.

    Attributes:
        vector_bytes: the width of a vector register.
        vector_registers: how many there are.
        l1_bytes: the first level of the data cache.
        l2_bytes: the second level.
        l3_bytes: the last level, which the cores may share.
        has_fma: whether it multiplies and adds in one instruction; else that would be a call.
    """

    vector_bytes: int
    vector_registers: int
    l1_bytes: int = 32 << 10
    l2_bytes: int = 1 << 20
    l3_bytes: int = 16 << 20
    has_fma: bool = True


AVX512 = Machine(vector_bytes=64, vector_registers=32)
AVX2 = Machine(vector_bytes=32, vector_registers=16)
BASELINE = Machine(vector_bytes=16, vector_registers=16)
WITHOUT_FMA = Machine(vector_bytes=16, vector_registers=16, has_fma=False)


@functools.cache
def this_machine() -> Machine:
    """The machine that the process runs on, as far as the operating system tells."""
    return _of_flags(_cpu_flags(Path("/proc/cpuinfo")))


def _of_flags(flags: frozenset[str]) -> Machine:
    if "avx512f" in flags and "avx512vl" in flags:
        return AVX512
    if "avx2" in flags and "fma" in flags:
        return AVX2
    # Of a machine that lists no flags of x86 nothing more is known than that it has vectors.
    return WITHOUT_FMA if "sse2" in flags and "fma" not in flags else BASELINE


def _cpu_flags(path: Path) -> frozenset[str]:
    try:
        text = path.read_text()
    except OSError:
        return frozenset()
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()
