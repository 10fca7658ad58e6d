"""Code for a target has no instruction that the target lacks, and computes the same."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from kernels import kernel
from linalg_ext import target
from linalg_ext.errors import TargetError
from linalg_ext.target import Target
from linalg_ext.target.features import known_features
from linalg_ext.transforms.llvm import set_target as file
from resources import skip_machine
from targets import runnable_targets

VECTORS = """
func.func @main(%a: memref<64xf32>, %b: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c32 {
    %x = vector.load %a[%i] : memref<64xf32>, vector<32xf32>
    %y = vector.load %b[%i] : memref<64xf32>, vector<32xf32>
    %z = vector.fma %x, %y, %y : vector<32xf32>
    vector.store %z, %b[%i] : memref<64xf32>, vector<32xf32>
  }
  return
}"""
LOOP = """
func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%b : tensor<?xf32>)
    -> tensor<?xf32>
  return %r : tensor<?xf32>
}"""
"""What LLVM's own vectorizer makes vectors of."""


def _functions(code: str) -> dict[str, str]:
    return dict(re.findall(r"^(\S+):\n((?:  .*\n?)+)", code, re.MULTILINE))


def _of_the_module(code: str) -> str:
    """The instructions of its own functions: the engine puts another around each, for this CPU."""
    names = ("lx_entry_main", "_mlir_ciface_lx_entry_main")
    return "".join(_functions(code)[name] for name in names)


def _registers(code: str) -> int:
    """The width in bits of the widest register that a text of instructions names."""
    names = {"zmm": 512, "ymm": 256, "xmm": 128}
    return max((names[name] for name in re.findall(r"\b([xyz]mm)\d", code)), default=0)


def test_by_name_in_a_pipeline() -> None:
    module = lx.parse("llvm.func @f() { llvm.return }")
    module.run("linalg-ext-set-target{name=avx2}")
    assert '"+avx2"' in str(module)


def test_a_name_that_is_none() -> None:
    module = lx.parse("llvm.func @f() { llvm.return }")
    with pytest.raises(TargetError, match="'avx3' is not a known target"):
        file.set_target(module, name="avx3")


def test_for_this_machine_nothing_is_changed() -> None:
    module = lx.parse("llvm.func @f() { llvm.return }")
    before = str(module)
    assert not file.set_target(module)
    assert str(module) == before


def test_declarations_and_functions_with_a_target_are_left() -> None:
    text = """
    llvm.func @declared()
    llvm.func @own() attributes {target_cpu = "skylake"} { llvm.return }"""
    module = lx.parse(text)
    before = str(module)
    report = file.set_target(module, name="generic-x86-64")
    assert not report
    assert report.left == {"llvm.func": {"the function has a target of its own"}}
    assert str(module) == before


def test_what_was_passed_through_stays() -> None:
    text = 'llvm.func @f() attributes {always_inline, passthrough = ["cold"]} { llvm.return }'
    module = lx.parse(text)
    assert file.set_target(module, name="avx2")
    printed = str(module)
    assert '"cold"' in printed
    assert "always_inline" not in printed


@pytest.mark.parametrize("one", runnable_targets())
@pytest.mark.parametrize("text", [VECTORS, LOOP], ids=["vectors", "loop"])
def test_no_register_is_wider_than_the_target(one: Target, text: str) -> None:
    if one.architecture != "x86_64":
        skip_machine("a CPU of x86-64")
    with target.using(one):
        made = kernel(text, opt_level=3)
    code = _of_the_module(made.asm(whole=True))
    # With AVX, LLVM can be kept from registers of 512 bits, not from those of 256.
    least = 256 if "avx" in one.features else 128
    assert _registers(code) == max(one.vector_bits, least)
    if not one.has_fma:
        assert "fm" not in code
    if "avx" not in one.features:
        assert not re.search(r"^\s+\w+\s+v[a-z]+", code, re.MULTILINE)


def test_the_engine_does_not_inline_into_what_it_puts_around() -> None:
    """That is code for this CPU, and has its instructions."""
    if target.host().architecture != "x86_64":
        skip_machine("a CPU of x86-64")
    with target.using("generic-x86-64"):
        code = kernel(VECTORS, opt_level=3).asm(whole=True)
    assert [name for name, body in _functions(code).items() if "mulps" in body] == ["lx_entry_main"]


@pytest.mark.parametrize("one", runnable_targets())
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8])
def test_results_are_those_of_numpy(one: Target, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (7, 9)).astype(dtype) for _ in range(2))
    with target.using(one):
        total = lx.ops.add(a, b)
        product = lx.ops.matmul(a, b.T)
    np.testing.assert_array_equal(total, a + b)
    expected = (a.astype(np.float64) @ b.T.astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(product, expected)


@pytest.mark.parametrize("one", runnable_targets())
def test_vector_code_computes_the_same(one: Target) -> None:
    a, b = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    with target.using(one):
        made = kernel(VECTORS, opt_level=3)
    made(a, b)
    np.testing.assert_array_equal(b, a + 1)


def test_llvm_knows_the_name_of_every_extension(capfd: pytest.CaptureFixture[str]) -> None:
    """LLVM ignores a name that it does not know, and says so on stderr alone."""
    if target.host().architecture != "x86_64":
        skip_machine("a CPU of x86-64")
    with target.using(replace(target.named("avx512"), features=known_features("x86_64"))):
        kernel(LOOP, opt_level=3)
    assert "not a recognized" not in capfd.readouterr().err
