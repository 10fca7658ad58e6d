"""Code for other machines is made and shown, and refuses to run."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext import target
from linalg_ext.errors import TargetError
from linalg_ext.target.features import known_features
from resources import skip_absent, skip_machine

TEXT = """
func.func @main(%a: memref<8xf32>, %b: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0] : memref<8xf32>, vector<8xf32>
  %y = vector.load %b[%c0] : memref<8xf32>, vector<8xf32>
  %z = vector.fma %x, %y, %y : vector<8xf32>
  vector.store %z, %b[%c0] : memref<8xf32>, vector<8xf32>
  return
}"""


def test_an_extension_that_this_machine_lacks() -> None:
    if target.host().architecture != "x86_64":
        skip_machine("a CPU of x86-64")
    everything = replace(
        target.named("avx512"), name="everything", features=known_features("x86_64")
    )
    with target.using(everything):
        kernel = lx.compile(TEXT)
    assert "vfmadd" in kernel.asm()
    assert "for everything, LLVM" in repr(kernel)
    a = np.ones(8, np.float32)
    with pytest.raises(TargetError, match=r"code for everything cannot run here: .* lacks \w+"):
        kernel(a, a.copy())


def test_another_architecture() -> None:
    pytest.importorskip("llvmlite", reason="absent: llvmlite")
    other = "aarch64-neon" if target.host().architecture == "x86_64" else "avx2"
    with target.using(other):
        kernel = lx.compile(TEXT)
    assert re.search("fmla|vfmadd", kernel.asm(whole=True))
    a = np.ones(8, np.float32)
    with pytest.raises(TargetError, match=f"code for {other} cannot run here"):
        kernel(a, a.copy())


def test_another_architecture_without_an_llvm_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "llvmlite.binding", None)
    other = "aarch64-neon" if target.host().architecture == "x86_64" else "avx2"
    with target.using(other), pytest.raises(TargetError, match="pip install llvmlite"):
        lx.compile(TEXT)


def test_llvm_knows_the_name_of_every_extension_of_arm(capfd: pytest.CaptureFixture[str]) -> None:
    try:
        import llvmlite.binding  # noqa: F401
    except ImportError:
        skip_absent("llvmlite")
    if target.host().architecture != "x86_64":
        skip_machine("a CPU of x86-64")
    arm = target.named("aarch64-neon")
    with target.using(replace(arm, features=known_features("aarch64"))):
        lx.compile(TEXT)
    assert "not a recognized" not in capfd.readouterr().err
