"""The machine as macOS shows it, through `sysctl`. Written from Apple's documents, and not tested.

Source: `man 3 sysctl`; Apple, Determining instruction set characteristics.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping

from linalg_ext.target.features import BASELINE, MultiplyAdd, of_arm
from linalg_ext.target.model import Cache, Target, vector_registers, widest_vector

_APPLE = 0x61
_INTEL_FEATURES = {
    "AVX1.0": "avx",
    "AVX2": "avx2",
    "AVX512F": "avx512f",
    "BMI1": "bmi",
    "BMI2": "bmi2",
    "F16C": "f16c",
    "FMA": "fma",
    "LZCNT": "lzcnt",
    "MOVBE": "movbe",
    "POPCNT": "popcnt",
    "SSE3": "sse3",
    "SSE4.1": "sse4.1",
    "SSE4.2": "sse4.2",
    "SSSE3": "ssse3",
    "SUPPLEMENTALSSE3": "ssse3",
}
_ARM_FEATURES = {
    "FEAT_BF16": "bf16",
    "FEAT_DotProd": "dotprod",
    "FEAT_FHM": "fp16fml",
    "FEAT_FP16": "fullfp16",
    "FEAT_I8MM": "i8mm",
    "FEAT_LSE": "lse",
}


def read() -> Target:
    """Return this machine."""
    return describe(_sysctl())


def describe(facts: Mapping[str, str]) -> Target:
    """Return the machine for which `sysctl -a` prints `facts`."""
    architecture = "aarch64" if facts.get("hw.optional.arm64") == "1" else "x86_64"
    features = BASELINE[architecture] | _features(facts, architecture)
    logical = _integer(facts, "hw.logicalcpu") or os.cpu_count() or 1
    multiply_add = of_arm(_APPLE, 0) if architecture == "aarch64" else MultiplyAdd(2, 4)
    line = _integer(facts, "hw.cachelinesize") or 64
    caches = [
        Cache(level=level, size=size, line=line)
        for level, name in ((1, "l1dcachesize"), (2, "l2cachesize"), (3, "l3cachesize"))
        # Performance cores have caches of their own sizes; older systems know of one kind.
        if (size := _integer(facts, f"hw.perflevel0.{name}") or _integer(facts, f"hw.{name}"))
    ]
    return Target(
        name="host",
        architecture=architecture,
        features=features,
        vector_bits=widest_vector(architecture, features),
        vector_registers=vector_registers(architecture, features),
        fma_units=multiply_add.units,
        fma_latency=multiply_add.latency,
        caches=tuple(caches) or (Cache(1, 32 << 10), Cache(2, 256 << 10)),
        logical_cores=logical,
        physical_cores=min(logical, _integer(facts, "hw.physicalcpu") or logical),
        page_bytes=_integer(facts, "hw.pagesize") or 16384,
    )


def _features(facts: Mapping[str, str], architecture: str) -> frozenset[str]:
    if architecture == "aarch64":
        return frozenset(
            feature
            for flag, feature in _ARM_FEATURES.items()
            if facts.get(f"hw.optional.arm.{flag}") == "1"
        )
    listed = " ".join(
        facts.get(f"machdep.cpu.{name}", "")
        for name in ("features", "leaf7_features", "extfeatures")
    )
    return frozenset(_INTEL_FEATURES[flag] for flag in listed.split() if flag in _INTEL_FEATURES)


def _sysctl() -> dict[str, str]:
    if platform.system() != "Darwin":
        return {}
    try:
        listed = subprocess.run(
            ["/usr/sbin/sysctl", "-a"], capture_output=True, text=True, check=False, timeout=10
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    pairs = (line.partition(": ") for line in listed.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _integer(facts: Mapping[str, str], name: str) -> int:
    value = facts.get(name, "")
    return int(value) if value.isdigit() else 0
