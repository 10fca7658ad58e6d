"""Machines by name: levels of instruction sets, with the least that every such CPU has.

Their descriptions are independent of this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from linalg_ext.target.features import BASELINE
from linalg_ext.target.model import Cache, Target

_X86_64_V2 = BASELINE["x86_64"] | {"cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"}
_X86_64_V3 = _X86_64_V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}
_X86_64_V4 = _X86_64_V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}

_SMALL = (
    Cache(level=1, size=32 << 10),
    Cache(level=2, size=256 << 10),
    Cache(level=3, size=4 << 20, associativity=16, shared_by=2),
)
_SERVER = (
    Cache(level=1, size=32 << 10),
    Cache(level=2, size=1 << 20, associativity=16),
    Cache(level=3, size=16 << 20, associativity=16, shared_by=8),
)

KNOWN: Mapping[str, Target] = MappingProxyType(
    {
        target.name: target
        for target in (
            Target(
                name="generic-x86-64",
                architecture="x86_64",
                features=BASELINE["x86_64"],
                vector_bits=128,
                vector_registers=16,
                caches=_SMALL,
                logical_cores=2,
                physical_cores=2,
                cpu="x86-64",
            ),
            Target(
                name="avx2",
                architecture="x86_64",
                features=_X86_64_V3,
                vector_bits=256,
                vector_registers=16,
                caches=_SMALL,
                logical_cores=2,
                physical_cores=2,
                cpu="x86-64-v3",
            ),
            Target(
                name="avx512",
                architecture="x86_64",
                features=_X86_64_V4,
                vector_bits=512,
                vector_registers=32,
                caches=_SERVER,
                logical_cores=8,
                physical_cores=8,
                cpu="x86-64-v4",
            ),
            Target(
                name="aarch64-neon",
                architecture="aarch64",
                features=BASELINE["aarch64"],
                vector_bits=128,
                vector_registers=32,
                caches=_SERVER,
                logical_cores=8,
                physical_cores=8,
                cpu="generic",
            ),
        )
    }
)
"""By name. The features are those of levels 1, 3 and 4 of the x86-64 psABI, and of Armv8-A.

There are as many cores as share the last cache, and pages are small.
"""
