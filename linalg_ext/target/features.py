"""Instruction set extensions: their names, the extensions that each implies, their dot products.

Extensions have LLVM's names here. Linux spells them otherwise in /proc/cpuinfo (`avx512_bf16` for
`avx512bf16`, `asimd` for `neon`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from linalg_ext.errors import TargetError


def _words(text: str) -> list[str]:
    return text.split()


_X86_SPELLED_OTHERWISE = {
    "3dnowprefetch": "prfchw",
    "abm": "lzcnt",
    "bmi1": "bmi",
    "pclmulqdq": "pclmul",
    "pni": "sse3",
    "rdrand": "rdrnd",
    "sha_ni": "sha",
    "sse4_1": "sse4.1",
    "sse4_2": "sse4.2",
    **{f"amx_{kind}": f"amx-{kind}" for kind in ("bf16", "fp16", "int8", "tile")},
}
_X86_WITHOUT_BARS = """
    avx512_bf16 avx512_bitalg avx512_fp16 avx512_vbmi2 avx512_vnni avx512_vp2intersect
    avx512_vpopcntdq avx_ifma avx_ne_convert avx_vnni avx_vnni_int16 avx_vnni_int8
"""
_X86_SPELLED_ALIKE = """
    adx aes avx avx2 avx512bw avx512cd avx512dq avx512f avx512ifma avx512vbmi avx512vl bmi2
    clflushopt clwb cmov cx16 cx8 f16c fma fsgsbase fxsr gfni mmx movbe popcnt rdpid rdseed sse
    sse2 sse4a ssse3 vaes vpclmulqdq xsave xsavec xsaveopt xsaves
"""
_X86 = {
    **{flag: flag.replace("_", "") for flag in _words(_X86_SPELLED_ALIKE + _X86_WITHOUT_BARS)},
    **_X86_SPELLED_OTHERWISE,
}
_AARCH64 = {
    "aes": "aes",
    "asimd": "neon",
    "asimddp": "dotprod",
    "asimdfhm": "fp16fml",
    "asimdhp": "fullfp16",
    "asimdrdm": "rdm",
    "atomics": "lse",
    "bf16": "bf16",
    "crc32": "crc",
    "fcma": "complxnum",
    "fp": "fp-armv8",
    "i8mm": "i8mm",
    "jscvt": "jsconv",
    "lrcpc": "rcpc",
    "sha2": "sha2",
    "sme": "sme",
    "sve": "sve",
    "sve2": "sve2",
}

SPELLINGS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"x86_64": MappingProxyType(_X86), "aarch64": MappingProxyType(_AARCH64)}
)
"""For each architecture, LLVM's name of each flag that Linux lists."""

UNNAMED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "x86_64": frozenset(
            _words("amx_complex apx avx10 cmpccxadd fma4 lahf_lm sha512 sm3 sm4 tbm xop")
        ),
        "aarch64": frozenset(_words("cssc flagm frint ilrcpc mops paca sm3 sm4 sme2 sve2p1")),
    }
)
"""Linux's flags of extensions that no target names, and that LLVM uses in code for the host."""

BASELINE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "x86_64": frozenset({"cmov", "cx8", "fxsr", "mmx", "sse", "sse2"}),
        "aarch64": frozenset({"fp-armv8", "neon"}),
    }
)
"""Extensions that every CPU of an architecture has (x86-64 psABI, level 1; Armv8-A)."""

_BUILDS_ON = {
    "sse2": "sse",
    "sse3": "sse2",
    "sse4a": "sse3",
    "ssse3": "sse3",
    "sse4.1": "ssse3",
    "sse4.2": "sse4.1",
    "aes": "sse2",
    "pclmul": "sse2",
    "gfni": "sse2",
    "sha": "sse2",
    "avx": "sse4.2",
    "avx2": "avx",
    "f16c": "avx",
    "fma": "avx",
    "vaes": "avx2 aes",
    "vpclmulqdq": "avx pclmul",
    "avxvnni": "avx2",
    "avxvnniint8": "avx2",
    "avxvnniint16": "avx2",
    "avxifma": "avx2",
    "avxneconvert": "avx2",
    "avx512f": "avx2 f16c fma",
    "avx512bitalg": "avx512bw",
    "avx512bf16": "avx512bw",
    "avx512bw": "avx512f",
    "avx512cd": "avx512f",
    "avx512dq": "avx512f",
    "avx512fp16": "avx512bw avx512dq avx512vl",
    "avx512ifma": "avx512f",
    "avx512vbmi": "avx512bw",
    "avx512vbmi2": "avx512bw",
    "avx512vl": "avx512f",
    "avx512vnni": "avx512f",
    "avx512vp2intersect": "avx512f",
    "avx512vpopcntdq": "avx512f",
    "amx-int8": "amx-tile",
    "amx-bf16": "amx-tile",
    "amx-fp16": "amx-tile",
}
"""As LLVM has it: naming an extension switches on those it builds on."""

_ARM_BUILDS_ON = {
    "neon": "fp-armv8",
    "bf16": "neon",
    "dotprod": "neon",
    "fullfp16": "fp-armv8",
    "fp16fml": "fullfp16",
    "i8mm": "neon",
    "jsconv": "fp-armv8",
    "complxnum": "neon",
    "rdm": "neon",
    "aes": "neon",
    "sha2": "neon",
    "sve": "fullfp16",
    "sve2": "sve",
    "sme": "bf16 fullfp16",
}
_NEEDS = {"x86_64": _BUILDS_ON, "aarch64": _ARM_BUILDS_ON}


def known_features(architecture: str) -> frozenset[str]:
    """Return every extension of an architecture that targets may name."""
    return BASELINE[architecture] | frozenset(SPELLINGS[architecture].values())


def from_linux(architecture: str, flags: Iterable[str]) -> frozenset[str]:
    """Return LLVM's names of the flags of /proc/cpuinfo.

    Flags that do not bear on code are dropped, and extensions that build on a missing one: some
    virtual machines hide one extension and forget another.
    """
    spellings = SPELLINGS[architecture]
    features = BASELINE[architecture] | {spellings[flag] for flag in flags if flag in spellings}
    return without(architecture, features, known_features(architecture) - features)


def check_features(architecture: str, features: frozenset[str]) -> None:
    """Check that each extension is known, and that all it builds on are among them.

    Raises:
        TargetError: LLVM would ignore an unknown extension, and switch a missing one on unasked.
    """
    names = known_features(architecture)
    if unknown := sorted(features - names):
        raise TargetError(
            f"{architecture} has no extension {', '.join(unknown)}",
            expected="some of " + ", ".join(sorted(names)),
        )
    for feature in sorted(features):
        missing = [needed for needed in _needs(architecture, feature) if needed not in features]
        if missing:
            raise TargetError(
                f"a target with {feature} and without {', '.join(missing)}",
                hint=f"add {', '.join(missing)}, or drop {feature}",
            )


def without(architecture: str, features: frozenset[str], dropped: Iterable[str]) -> frozenset[str]:
    """Return `features` without `dropped` and all that builds on those."""
    removed = set(dropped)
    while more := {
        feature
        for feature in features - removed
        if removed.intersection(_needs(architecture, feature))
    }:
        removed |= more
    return features - removed


def _needs(architecture: str, feature: str) -> list[str]:
    return _NEEDS[architecture].get(feature, "").split()


class DotProduct(NamedTuple):
    """An instruction that sums products of neighbouring narrow elements into wide accumulators.

    Attributes:
        feature: the extension that brings it.
        left, right: element types of the factors, signedness included (`u8`, `s8`).
        accumulator: element type of the sums.
        depth: how many products go into one accumulator; for tiles, at the most.
        bits: width of an operand, or of a row of a tile.
        intrinsic: LLVM's name of it, which takes the accumulator, then the factors; empty for
            tiles, which are loaded and stored by instructions of their own. A function that a
            module declares by that name, and calls, is the instruction.
    """

    feature: str
    left: str
    right: str
    accumulator: str
    depth: int
    bits: int
    intrinsic: str = ""

    def __str__(self) -> str:
        return f"{self.left}.{self.right}->{self.accumulator} x{self.depth} ({self.feature})"


DOT_PRODUCTS: tuple[DotProduct, ...] = (
    DotProduct("amx-bf16", "bf16", "bf16", "f32", 32, 512),
    DotProduct("amx-fp16", "f16", "f16", "f32", 32, 512),
    DotProduct("amx-int8", "u8", "s8", "i32", 64, 512),
    DotProduct("amx-int8", "s8", "s8", "i32", 64, 512),
    DotProduct("avx512bf16", "bf16", "bf16", "f32", 2, 512, "llvm.x86.avx512bf16.dpbf16ps.512"),
    DotProduct("avx512vnni", "u8", "s8", "i32", 4, 512, "llvm.x86.avx512.vpdpbusd.512"),
    DotProduct("avx512vnni", "s16", "s16", "i32", 2, 512, "llvm.x86.avx512.vpdpwssd.512"),
    DotProduct("avxvnniint8", "s8", "s8", "i32", 4, 256, "llvm.x86.avx2.vpdpbssd.256"),
    DotProduct("avxvnni", "u8", "s8", "i32", 4, 256, "llvm.x86.avx512.vpdpbusd.256"),
    DotProduct("avxvnni", "s16", "s16", "i32", 2, 256, "llvm.x86.avx512.vpdpwssd.256"),
    DotProduct("i8mm", "u8", "s8", "i32", 4, 128, "llvm.aarch64.neon.usdot.v4i32.v16i8"),
    DotProduct("dotprod", "s8", "s8", "i32", 4, 128, "llvm.aarch64.neon.sdot.v4i32.v16i8"),
    DotProduct("dotprod", "u8", "u8", "i32", 4, 128, "llvm.aarch64.neon.udot.v4i32.v16i8"),
    DotProduct("bf16", "bf16", "bf16", "f32", 2, 128, "llvm.aarch64.neon.bfdot.v4f32.v8bf16"),
)
"""Widest first. Sources: Intel's and Arm's instruction set references."""


# Sources of the throughput and latency of multiply-adds, which no CPU reports itself: AMD, Software
# Optimization Guides for families 17h (55723), 19h (56665, 57647) and 1Ah (58455); Intel 64 and
# IA-32 Architectures Optimization Reference Manual (248966); Arm, Software Optimization Guides for
# Cortex-A72, Neoverse N1, V1, N2 and V2; A. Fog, Instruction tables.


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
    """Return the multiply-adds of an x86 CPU.

    Args:
        vendor: CPUID's text: `GenuineIntel`, `AuthenticAMD`, ...
        family, model: with their extended parts, as /proc/cpuinfo shows them.
        vector_bits: the width of the vectors.
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
    """Return the multiply-adds of an Arm CPU by the fields of its main ID register (MIDR)."""
    if implementer == _APPLE:
        return MultiplyAdd(4, 4)
    return _ARM_PARTS.get(part, USUAL) if implementer == _ARM else USUAL
