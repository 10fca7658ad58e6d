"""How wide the machine's vectors are, and how large its last cache is."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")
_LAST_CACHE = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")


@cache
def vector_bits() -> int:
    """The bits of a vector register; 128, which every machine has, where the machine is unknown."""
    if platform.machine() not in ("x86_64", "AMD64") or not _CPU_INFO.exists():
        return 128
    flags = next(
        (line for line in _CPU_INFO.read_text().splitlines() if line.startswith("flags")), ""
    ).split()
    if "avx512f" in flags and "avx512bw" in flags:
        return 512
    return 256 if "avx2" in flags else 128


@cache
def last_cache_bytes() -> int:
    """The size of the last-level cache; 32 MB where it is unknown."""
    try:
        return int(_LAST_CACHE.read_text().strip().removesuffix("K")) * 1024
    except (OSError, ValueError):
        return 32 * 1024 * 1024
