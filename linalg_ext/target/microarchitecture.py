"""Throughput and latency of multiply-adds, which no CPU reports itself.

Sources: AMD, Software Optimization Guides for families 17h (55723), 19h (56665, 57647) and 1Ah
(58455); Intel 64 and IA-32 Architectures Optimization Reference Manual (248966); Arm, Software
Optimization Guides for Cortex-A72, Neoverse N1, V1, N2 and V2; A. Fog, Instruction tables.
"""

from __future__ import annotations

from typing import NamedTuple


class MultiplyAdd(NamedTuple):
    """Multiply-adds on whole vector registers: begun in a cycle, and cycles that each takes."""

    units: int
    latency: int


USUAL = MultiplyAdd(2, 4)
"""The figures of most CPUs since 2015; those that are not known are assumed to have them."""

_INTEL_HASWELL_AND_BROADWELL = {0x3C, 0x3F, 0x45, 0x46, 0x3D, 0x47, 0x4F, 0x56}
# Ice Lake, Tiger Lake and Rocket Lake as client CPUs: the second unit of 512 bits is left out.
_INTEL_ONE_WIDE_UNIT = {0x7D, 0x7E, 0x8C, 0x8D, 0xA7}
# Strix Point and Krackan: Zen 5 with data paths of 256 bits.
_AMD_NARROW_ZEN_5 = {*range(0x20, 0x30), *range(0x60, 0x70)}

_ARM_PARTS = {
    0xD08: MultiplyAdd(2, 7),  # Cortex-A72
    0xD40: MultiplyAdd(4, 4),  # Neoverse V1
    0xD4F: MultiplyAdd(4, 4),  # Neoverse V2
}
_ARM, _APPLE = 0x41, 0x61


def of_x86(vendor: str, family: int, model: int, vector_bits: int) -> MultiplyAdd:
    """By what CPUID says.

    Args:
        vendor: `GenuineIntel`, `AuthenticAMD`, ...
        family, model: with their extended parts, as /proc/cpuinfo shows them.
        vector_bits: the width of vectors that is asked about.
    """
    if vendor == "AuthenticAMD":
        if family == 0x17:
            is_zen_1 = model < 0x30
            return MultiplyAdd(1 if is_zen_1 and vector_bits > 128 else 2, 5)
        # Zen 4 does 512 bits in two halves; Zen 3, of the same family, has none.
        if family == 0x19 and vector_bits == 512:
            return MultiplyAdd(1, 4)
        if family == 0x1A and vector_bits == 512 and model in _AMD_NARROW_ZEN_5:
            return MultiplyAdd(1, 4)
    if vendor == "GenuineIntel" and family == 6:
        if model in _INTEL_HASWELL_AND_BROADWELL:
            return MultiplyAdd(2, 5)
        if vector_bits == 512 and model in _INTEL_ONE_WIDE_UNIT:
            return MultiplyAdd(1, 4)
    return USUAL


def of_arm(implementer: int, part: int) -> MultiplyAdd:
    """By the fields of the main ID register (MIDR)."""
    if implementer == _APPLE:
        return MultiplyAdd(4, 4)
    return _ARM_PARTS.get(part, USUAL) if implementer == _ARM else USUAL
