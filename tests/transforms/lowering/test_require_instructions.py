"""An intrinsic without an instruction is an error; LLVM would end the process over it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linalg_ext as lx
from kernels import kernel
from linalg_ext import target
from linalg_ext.errors import TargetError
from linalg_ext.target import missing_for
from linalg_ext.target.features import known_features
from linalg_ext.transforms.lowering.require_instructions import require_instructions
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
    require_instructions(module, name="avx512") if text is BY_NAME else None
    with pytest.raises(TargetError, match="which avx2 lacks"):
        require_instructions(module, name="avx2")


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


def test_a_machine_with_everything_has_every_intrinsic_of_dot_products() -> None:
    everything = replace(target.named("avx512"), features=known_features("x86_64"))
    for name in ("avx512bf16.dpbf16ps.512", "avx512.vpdpbusd.512", "avx2.vpdpbssd.256", "tdpbusd"):
        assert missing_for(f"llvm.x86.{name}", everything) == ()
