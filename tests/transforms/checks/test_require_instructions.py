"""An intrinsic without an instruction is an error; LLVM would end the process over it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import linalg_ext as lx
from kernels import kernel
from linalg_ext import target
from linalg_ext.errors import TargetError
from linalg_ext.target import DotProduct, missing_for
from linalg_ext.target.features import DOT_PRODUCTS, known_features
from linalg_ext.transforms.checks.require_lowered import require_lowered
from resources import skip_machine

DOT = """
func.func @main(%sums: memref<16xf32>, %a: memref<32xbf16>) {
  %c0 = arith.constant 0 : index
  %x = vector.load %sums[%c0] : memref<16xf32>, vector<16xf32>
  %y = vector.load %a[%c0] : memref<32xbf16>, vector<32xbf16>
  %z = x86.avx512.dot %x, %y, %y : vector<32xbf16> -> vector<16xf32>
  vector.store %z, %sums[%c0] : memref<16xf32>, vector<16xf32>
  return
}"""
CALL = """
llvm.func @main(%x: vector<16xf32>, %y: vector<32xbf16>) -> vector<16xf32> {
  %z = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%x, %y, %y)
    : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
  llvm.return %z : vector<16xf32>
}"""
BY_NAME = """
llvm.func @llvm.x86.avx512.sqrt.ps.512(vector<16xf32>, i32) -> vector<16xf32>
llvm.func @main(%x: vector<16xf32>) -> vector<16xf32> {
  %r = llvm.mlir.constant(4 : i32) : i32
  %z = llvm.call @llvm.x86.avx512.sqrt.ps.512(%x, %r) : (vector<16xf32>, i32) -> vector<16xf32>
  llvm.return %z : vector<16xf32>
}"""


def test_an_op_that_the_target_has_no_instruction_for() -> None:
    with (
        target.using("avx2"),
        pytest.raises(TargetError, match=r"dpbf16ps.512 needs avx512f, .* which avx2 lacks"),
    ):
        lx.compile(DOT)


def test_where_the_machine_has_it_it_runs() -> None:
    if "avx512bf16" not in target.host().features:
        skip_machine("AVX-512 BF16")
    import ml_dtypes

    sums, a = np.ones(16, np.float32), np.arange(32).astype(ml_dtypes.bfloat16)
    kernel(DOT)(sums, a)
    pairs = a.astype(np.float32).reshape(16, 2)
    np.testing.assert_array_equal(sums, 1 + (pairs**2).sum(1))


@pytest.mark.parametrize("text", [CALL, BY_NAME], ids=["call_intrinsic", "function of that name"])
def test_both_ways_to_call_an_intrinsic(text: str) -> None:
    module = lx.parse(text)
    require_lowered(module, name="avx512") if text is BY_NAME else None
    with pytest.raises(TargetError, match="which avx2 lacks"):
        require_lowered(module, name="avx2")


@pytest.mark.parametrize(
    ("intrinsic", "on", "missing"),
    [
        ("llvm.fma.v8f32", "generic-x86-64", ()),
        ("llvm.masked.load.v8f32.p0", "generic-x86-64", ()),
        ("", "avx2", ()),
        ("printf", "avx2", ()),
        ("llvm.x86.avx2.pmadd.wd", "avx2", ()),
        ("llvm.x86.avx2.vpdpbssd.256", "avx2", ("avxvnniint8",)),
        ("llvm.x86.avx512.vpdpbusd.512", "avx512", ("avx512vnni",)),
        ("llvm.x86.tdpbf16ps.internal", "avx512", ("amx-bf16",)),
        ("llvm.x86.tdpbssd.internal", "avx512", ("amx-int8",)),
        ("llvm.x86.tileloadd64.internal", "avx512", ("amx-tile",)),
        ("llvm.x86.xop.vpcomb", "avx512", ("llvm.x86.xop.vpcomb",)),
        ("llvm.aarch64.neon.sdot", "avx512", ("aarch64",)),
        ("llvm.aarch64.neon.sdot.v4i32.v16i8", "aarch64-neon", ("dotprod",)),
        ("llvm.aarch64.neon.fmax.v4f32", "aarch64-neon", ()),
        ("llvm.x86.sse2.pause", "aarch64-neon", ("x86",)),
        ("llvm.nvvm.read.ptx.sreg.tid.x", "avx512", ("nvvm",)),
    ],
)
def test_what_an_intrinsic_needs(intrinsic: str, on: str, missing: tuple[str, ...]) -> None:
    assert missing_for(intrinsic, target.named(on)) == missing


@pytest.mark.parametrize("dot", DOT_PRODUCTS, ids=str)
def test_the_extension_of_a_dot_product_is_the_one_that_its_intrinsic_needs(
    dot: DotProduct,
) -> None:
    if not dot.intrinsic:
        assert dot.feature.startswith("amx")
        return
    least = target.named("avx512" if "x86" in dot.intrinsic else "aarch64-neon")
    assert missing_for(dot.intrinsic, least) == (dot.feature,)
    everything = replace(least, features=known_features(least.architecture))
    assert missing_for(dot.intrinsic, everything) == ()


@pytest.mark.parametrize("dot", [one for one in DOT_PRODUCTS if one.intrinsic], ids=str)
def test_llvm_makes_the_instruction_of_a_dot_product(dot: DotProduct) -> None:
    """With the types of factors and accumulator as they are said; else LLVM ends the process."""
    is_x86 = "x86" in dot.intrinsic
    if not is_x86:
        pytest.importorskip("llvmlite", reason="absent: llvmlite")
    factor = dot.left if dot.left == "bf16" else f"i{dot.left[1:]}"
    width = 16 if "16" in factor else 8
    x, s = f"vector<{dot.bits // width}x{factor}>", f"vector<{dot.bits // 32}x{dot.accumulator}>"
    text = f"""
    func.func private @{dot.intrinsic}({s}, {x}, {x}) -> {s}
    func.func @main(%sums: memref<{s}>, %a: memref<{x}>) {{
      %t = memref.load %sums[] : memref<{s}>
      %x = memref.load %a[] : memref<{x}>
      %r = func.call @{dot.intrinsic}(%t, %x, %x) : ({s}, {x}, {x}) -> {s}
      memref.store %r, %sums[] : memref<{s}>
      return
    }}"""
    least = target.named("avx512" if is_x86 else "aarch64-neon")
    base = least.without("avx512f") if dot.feature.startswith("avxvnni") else least
    needed = {dot.feature, "avx512vl"} if dot.bits == 512 else {dot.feature}
    with target.using(replace(base, features=base.features | needed)):
        code = kernel(text, "main", opt_level=3).asm()
    # The disassembler does not know the younger ones. LLVM may multiply and add in two where that
    # is as fast.
    assert re.search(r"vpdp(busd|wssd)|vpmaddwd|[us]dot|bfdot|\.byte", code)
    assert re.search(r"\sret$", code)
    assert "call" not in code
