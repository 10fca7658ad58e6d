"""An untrusted module calls mathematics alone, and addresses memrefs alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import llvm
from linalg_ext.errors import UntrustedError
from linalg_ext.module import Module
from linalg_ext.transforms.checks.refuse_untrusted import ARITHMETIC, refuse_untrusted
from native_library import shared_library

DANGERS = {
    "function `system`": """
        func.func private @system(!llvm.ptr) -> i32
        func.func @f() { return }
        """,
    "function `getenv`": """
        llvm.func @getenv(!llvm.ptr) -> !llvm.ptr
        func.func @f() { return }
        """,
    "variable `environ`": """
        llvm.mlir.global external @environ() : !llvm.ptr
        func.func @f() { return }
        """,
    "variable `table`": """
        memref.global @table : memref<2xf32>
        func.func @f() { return }
        """,
    "inline assembly": """
        func.func @f() {
          llvm.inline_asm has_side_effects "syscall", "" : () -> ()
          return
        }
        """,
    "a pointer made of an integer": """
        func.func @f(%a: i64) -> i64 {
          %p = llvm.inttoptr %a : i64 to !llvm.ptr
          %x = llvm.load %p : !llvm.ptr -> i64
          return %x : i64
        }
        """,
    "llvm.alloca, which": """
        func.func @f(%a: i64) -> i64 {
          %one = arith.constant 1 : i64
          %slot = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
          llvm.store %a, %slot : i64, !llvm.ptr
          %p = llvm.load %slot : !llvm.ptr -> !llvm.ptr
          %x = llvm.load %p : !llvm.ptr -> i64
          return %x : i64
        }
        """,
    "llvm.mlir.zero of a pointer": """
        func.func @f() {
          %p = llvm.mlir.zero : !llvm.ptr
          return
        }
        """,
    "llvm.mlir.undef of a pointer": """
        func.func @f() {
          %p = llvm.mlir.undef : !llvm.struct<(ptr, i64)>
          return
        }
        """,
    "variable `text` of the process": """
        llvm.mlir.global internal constant @text("text")
        func.func @f() { return }
        """,
    "function `g` of the LLVM dialect": """
        llvm.func @g() { llvm.return }
        func.func @f() { return }
        """,
    "llvm.call_intrinsic, which": """
        func.func @f() {
          %n = arith.constant 3 : i8
          llvm.call_intrinsic "llvm.x86.int"(%n) : (i8) -> ()
          return
        }
        """,
    "function `llvm.x86.int`": """
        func.func private @llvm.x86.int(i8)
        func.func @f() { return }
        """,
    "function `memcpy`": """
        func.func private @memcpy(i64, i64, i64) -> i64
        func.func @f() { return }
        """,
    "function `frexp`": """
        func.func private @frexp(f64, i64) -> f64
        func.func @f() { return }
        """,
    "a cast between memory": """
        func.func @f(%m: memref<4xf32>, %i: index) -> f32 {
          %wide = builtin.unrealized_conversion_cast %m : memref<4xf32> to memref<400xf32>
          %x = memref.load %wide[%i] : memref<400xf32>
          return %x : f32
        }
        """,
    "attribute `section`": """
        func.func @g() attributes {section = ".init_array"} { return }
        func.func @f() { return }
        """,
    "attribute `passthrough`": """
        func.func @f() attributes {passthrough = [["probe-stack", "system"]]} { return }
        """,
    "attribute `CConv`": """
        func.func private @g() { return }
        func.func @f() {
          func.call @g() {CConv = #llvm.cconv<swiftcc>} : () -> ()
          return
        }
        """,
    "attribute `llvm.nest`": """
        func.func private @g(%m: memref<4xf32> {llvm.nest}) { return }
        func.func @f() { return }
        """,
}


@pytest.mark.parametrize("what", DANGERS)
def test_dangers_are_named_with_their_place(what: str) -> None:
    with pytest.raises(UntrustedError) as found:
        lx.compile(DANGERS[what], "f")
    assert what in str(found.value)
    assert "trusted=True" in str(found.value)
    assert str(found.value.where).startswith('"-":')
    with pytest.raises(UntrustedError, match=what.replace("`", ".")):
        lx.compile(lx.parse(DANGERS[what]), "f")


def test_sections_of_variables_are_refused() -> None:
    text = """
    llvm.mlir.global internal @first(dense<0> : tensor<1xi64>) {section = ".init_array"}
      : !llvm.array<1 x i64>
    func.func @f() { return }
    """
    with pytest.raises(UntrustedError, match="variable `first`"):
        lx.compile(text, "f")


def test_arithmetic_of_the_llvm_dialect_is_allowed() -> None:
    text = """
    func.func private @llvm.fma.f32(f32, f32, f32) -> f32
    func.func @f(%x: f32) -> f32 attributes {tests.said = 1 : i32, no_inline} {
      %0 = llvm.fadd %x, %x : f32
      %1 = llvm.intr.sqrt(%0) : (f32) -> f32
      %2 = func.call @llvm.fma.f32(%1, %1, %x) : (f32, f32, f32) -> f32
      return %2 : f32
    }
    """
    assert lx.compile(text, "f")(np.float32(8)) == 24


def test_what_is_allowed_exists_and_says_nothing_of_memory() -> None:
    existing = {
        member.OPERATION_NAME
        for member in vars(llvm).values()
        if isinstance(member, type) and hasattr(member, "OPERATION_NAME")
    }
    assert existing >= ARITHMETIC
    words = ("load", "store", "toptr", "ptrto", "alloca", "mem", "call", "asm", "global", "coro")
    refused = existing - ARITHMETIC
    assert {name for name in existing if any(word in name for word in words)} <= refused


def test_all_dangers_are_counted() -> None:
    text = "\n".join(f"func.func private @g{number}()" for number in range(20))
    module = Module.parse(text)
    with pytest.raises(UntrustedError) as found:
        refuse_untrusted.apply(module.ir.operation)
    assert "`g0`" in str(found.value)
    assert "`g7`" in str(found.value)
    assert "and 12 more" in str(found.value)


def test_mathematics_and_own_variables_are_allowed() -> None:
    text = """
    func.func private @erff(f32) -> f32
    memref.global "private" constant @table : memref<2xf32> = dense<[1.0, 2.0]>
    func.func private @twice(%x: f32) -> f32 {
      %y = arith.addf %x, %x : f32
      return %y : f32
    }
    func.func @f(%x: f32) -> f32 {
      %0 = call @erff(%x) : (f32) -> f32
      %1 = call @twice(%0) : (f32) -> f32
      %t = memref.get_global @table : memref<2xf32>
      %c1 = arith.constant 1 : index
      %2 = memref.load %t[%c1] : memref<2xf32>
      %3 = arith.addf %1, %2 : f32
      return %3 : f32
    }
    """
    result = lx.compile(text, "f")(np.float32(0.5))
    assert result == pytest.approx(2 * 0.5204999 + 2, rel=1e-6)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = "float thrice(float x) { return 3 * x; }"
    return shared_library(source, tmp_path_factory.mktemp("library"), "-Wl,--no-as-needed")


def test_functions_of_given_libraries_are_allowed(library: Path) -> None:
    text = """
    func.func private @thrice(f32) -> f32
    func.func @f(%x: f32) -> f32 {
      %0 = call @thrice(%x) : (f32) -> f32
      return %0 : f32
    }
    """
    with pytest.raises(UntrustedError, match="`thrice`"):
        lx.compile(text, "f")
    assert lx.compile(text, "f", libraries=[library])(np.float32(2)) == 6


def test_a_library_vouches_for_its_own_functions_alone(library: Path) -> None:
    # The process has it, and so has a library that this one needs.
    with pytest.raises(UntrustedError, match="`system`"):
        lx.compile(
            "func.func private @system(!llvm.ptr) -> i32\nfunc.func @f() { return }",
            "f",
            libraries=[library],
        )
