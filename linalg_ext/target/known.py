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
        name: Target(
            name,
            architecture,
            features,
            vector_bits,
            vector_registers,
            caches=caches,
            # As many as share the last cache.
            logical_cores=caches[-1].shared_by,
            physical_cores=caches[-1].shared_by,
            cpu=cpu,
        )
        for name, cpu, architecture, features, vector_bits, vector_registers, caches in (
            ("generic-x86-64", "x86-64", "x86_64", BASELINE["x86_64"], 128, 16, _SMALL),
            ("avx2", "x86-64-v3", "x86_64", _X86_64_V3, 256, 16, _SMALL),
            ("avx512", "x86-64-v4", "x86_64", _X86_64_V4, 512, 32, _SERVER),
            ("aarch64-neon", "generic", "aarch64", BASELINE["aarch64"], 128, 32, _SERVER),
        )
    }
)
"""By name. The features are those of levels 1, 3 and 4 of the x86-64 psABI, and of Armv8-A.

Pages are small.
"""
