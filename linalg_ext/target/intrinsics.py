"""Extensions that LLVM's intrinsics for one architecture need.

LLVM ends the process when it generates code for an intrinsic that the target has no instruction
for. So the extensions are checked before. Names are matched by the longest prefix. An intrinsic of
the target's architecture that no prefix matches counts as missing on every target.
"""

from __future__ import annotations

from collections.abc import Mapping

from linalg_ext.target.model import Target

_LEVEL_4 = "avx512f avx512bw avx512cd avx512dq avx512vl"
_X86: Mapping[str, str] = {
    "aesni.": "aes",
    "avx.": "avx",
    "avx2.": "avx2",
    "avx2.vpdpbss": "avxvnniint8",
    "avx2.vpdpbsu": "avxvnniint8",
    "avx2.vpdpbuu": "avxvnniint8",
    "avx2.vpdpwsu": "avxvnniint16",
    "avx2.vpdpwus": "avxvnniint16",
    "avx2.vpdpwuu": "avxvnniint16",
    # Most need no more than the foundation, but which do is not in their names.
    "avx512.": _LEVEL_4,
    "avx512.permvar.qi.": f"{_LEVEL_4} avx512vbmi",
    "avx512.pmultishift.": f"{_LEVEL_4} avx512vbmi",
    "avx512.vp2intersect.": f"{_LEVEL_4} avx512vp2intersect",
    "avx512.vpdpbusd": f"{_LEVEL_4} avx512vnni",
    "avx512.vpdpwssd": f"{_LEVEL_4} avx512vnni",
    # Below 512 bits, AVX-VNNI has these too, by the same names.
    "avx512.vpdpbusd.128": "avxvnni",
    "avx512.vpdpbusd.256": "avxvnni",
    "avx512.vpdpbusds.128": "avxvnni",
    "avx512.vpdpbusds.256": "avxvnni",
    "avx512.vpdpwssd.128": "avxvnni",
    "avx512.vpdpwssd.256": "avxvnni",
    "avx512.vpdpwssds.128": "avxvnni",
    "avx512.vpdpwssds.256": "avxvnni",
    "avx512.vpermi2var.qi.": f"{_LEVEL_4} avx512vbmi",
    "avx512.vpmadd52": f"{_LEVEL_4} avx512ifma",
    "avx512.vpshufbitqmb.": f"{_LEVEL_4} avx512bitalg",
    "avx512bf16.": f"{_LEVEL_4} avx512bf16",
    "avx512fp16.": f"{_LEVEL_4} avx512fp16",
    "bmi.": "bmi bmi2",
    "fma.": "fma",
    "ldtilecfg": "amx-tile",
    "pclmulqdq": "pclmul",
    "sha": "sha",
    "sse.": "sse",
    "sse2.": "sse2",
    "sse3.": "sse3",
    "sse41.": "sse4.1",
    "sse42.": "sse4.2",
    "sse4a.": "sse4a",
    "ssse3.": "ssse3",
    "sttilecfg": "amx-tile",
    "tdpb": "amx-int8",
    "tdpbf16ps": "amx-bf16",
    "tdpfp16ps": "amx-fp16",
    "tile": "amx-tile",
    "vbcstne": "avxneconvert",
    "vcvtne": "avxneconvert",
    "vcvtps2ph.": "f16c",
    "vgf2p8": "gfni avx",
}
_AARCH64: Mapping[str, str] = {
    "neon.": "neon",
    "neon.bf": "bf16",
    "neon.sdot": "dotprod",
    "neon.smmla": "i8mm",
    "neon.udot": "dotprod",
    "neon.ummla": "i8mm",
    "neon.usdot": "i8mm",
    "neon.usmmla": "i8mm",
    "sme.": "sme",
    "sve.": "sve2",
}
_TABLES = {"x86_64": ("x86", _X86), "aarch64": ("aarch64", _AARCH64)}

_ARCHITECTURES = frozenset(
    (
        *("aarch64", "amdgcn", "arm", "bpf", "dx", "hexagon", "loongarch", "mips", "nvvm"),
        *("ppc", "r600", "riscv", "s390", "spv", "ve", "wasm", "x86", "xcore"),
    )
)
"""As LLVM's names of intrinsics have them, after `llvm.`."""


def missing_for(intrinsic: str, target: Target) -> tuple[str, ...]:
    """Return the extensions that `target` lacks for an intrinsic; empty where it lacks none.

    Args:
        intrinsic: its whole name, such as `llvm.x86.avx512bf16.dpbf16ps.512`.

    Returns:
        Extensions; or the intrinsic's architecture where `target` has another one; or the
            intrinsic's own name where it is not known.
    """
    _, _, rest = intrinsic.partition("llvm.")
    architecture, _, name = rest.partition(".")
    if architecture not in _ARCHITECTURES:
        return ()  # LLVM's own, for every machine
    own, table = _TABLES[target.architecture]
    if architecture != own:
        return (architecture,)
    fitting = [prefix for prefix in table if name.startswith(prefix)]
    if not fitting:
        return (intrinsic,)
    needed = table[max(fitting, key=len)].split()
    if needed == ["avxvnni"] and {"avx512vnni", "avx512vl"} <= target.features:
        return ()
    return tuple(feature for feature in needed if feature not in target.features)
