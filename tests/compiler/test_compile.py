"""What `compile` takes, what it refuses, and what a kernel tells about itself."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linalg_ext import errors
from linalg_ext.bindings import ir
from linalg_ext.compiler import Kernel, compile
from linalg_ext.module import Module

RELU = """
func.func @relu(%a: tensor<8xf32>) -> tensor<8xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.map ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) (%x: f32, %o: f32) {
    %y = arith.maximumf %x, %c : f32
    linalg.yield %y : f32
  }
  return %0 : tensor<8xf32>
}
"""
X = np.arange(-4, 4, dtype=np.float32)


@pytest.fixture(scope="module")
def relu() -> Any:
    return compile(RELU, trusted=True)


def test_every_form_of_a_module_is_taken_and_left_alone() -> None:
    module = Module.parse(RELU, trusted=True)
    before = str(module)
    forms: list[Any] = [RELU, RELU.encode(), module, module.ir, module.ir.operation]
    for form in forms:
        np.testing.assert_array_equal(compile(form)(X), np.maximum(X, 0))
    assert str(module) == before


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_optimization_levels(level: Any) -> None:
    kernel = compile(RELU, trusted=True, opt_level=level)
    assert kernel.opt_level == level
    np.testing.assert_array_equal(kernel(X), np.maximum(X, 0))


@pytest.mark.parametrize("level", [4, -1, "2"])
def test_a_wrong_optimization_level(level: Any) -> None:
    with pytest.raises(errors.ArgumentError, match="opt_level"):
        compile(RELU, trusted=True, opt_level=level)


def test_what_is_no_module() -> None:
    with pytest.raises(errors.ParseError):
        compile("this is not MLIR")
    with pytest.raises(errors.ArgumentError, match=r"(?s)Path is not a module.*read_text"):
        compile(Path("model.mlir"))  # type: ignore[call-overload]
    with pytest.raises(errors.ArgumentError, match="an int is not a module"):
        compile(3)  # type: ignore[call-overload]
    module = Module.parse(RELU, trusted=True)
    with pytest.raises(errors.ArgumentError, match=r"func.func is not a module"):
        compile(module.ir.body.operations[0])


def test_a_file_name_is_not_a_module() -> None:
    with pytest.raises(errors.ParseError, match=r"(?s)model.mlir.*read_text"):
        compile("model.mlir")


def test_a_module_that_does_not_verify() -> None:
    with pytest.raises(errors.VerificationError, match=r"arith\.addf"):
        compile(
            "func.func @f(%a: i32) -> i32 {"
            ' %0 = "arith.addf"(%a, %a) : (i32, i32) -> i32  return %0 : i32 }'
        )
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(RELU)
        terminator = list(module.body.operations[0].regions[0].blocks[0].operations)[-1]
        terminator.erase()
        with pytest.raises(errors.VerificationError, match="terminator"):
            compile(module)


def test_a_text_that_kills_the_parser() -> None:
    text = """
    func.func @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = linalg.matmul indexing_maps = [] ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>)
             outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
      return %0 : tensor<4x4xf32>
    }
    """
    with pytest.raises(errors.CrashError):
        compile(text)


def test_an_op_that_cannot_be_lowered() -> None:
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(
            'func.func @f(%a: i32) -> i32 { %0 = "my.op"(%a) : (i32) -> i32  return %0 : i32 }'
        )
        with pytest.raises(errors.IRError, match=r"my\.op"):
            compile(module)


def test_an_unresolved_symbol() -> None:
    text = """
    func.func private @nowhere_to_be_found(f32) -> f32
    func.func private @nor_this(f32) -> f32
    func.func private @sqrtf(f32) -> f32
    func.func @f(%a: f32) -> f32 {
      %0 = call @nowhere_to_be_found(%a) : (f32) -> f32
      %1 = call @nor_this(%0) : (f32) -> f32
      %2 = call @sqrtf(%1) : (f32) -> f32
      return %2 : f32
    }
    """
    with pytest.raises(
        errors.UnresolvedSymbolError, match=r"(?s)`nowhere_to_be_found`, `nor_this`.*libraries="
    ):
        compile(text, trusted=True)
    with pytest.raises(errors.UnresolvedSymbolError, match=r"`/no/such/lib.so` cannot be loaded"):
        compile(text, trusted=True, libraries=["/no/such/lib.so"])


def test_a_function_of_the_process() -> None:
    text = """
    func.func private @sqrtf(f32) -> f32
    func.func @f(%a: f32) -> f32 {
      %0 = call @sqrtf(%a) : (f32) -> f32
      return %0 : f32
    }
    """
    assert compile(text, trusted=True)(9.0) == 3.0


def test_arithmetic_that_the_compilers_own_library_does() -> None:
    text = """
    func.func @f(%a: i64, %b: i64) -> i64 {
      %x = arith.extsi %a : i64 to i128
      %y = arith.extsi %b : i64 to i128
      %p = arith.muli %x, %x : i128
      %q = arith.remsi %p, %y : i128
      %z = arith.trunci %q : i128 to i64
      return %z : i64
    }
    """
    big = 1 << 62
    assert compile(text, trusted=True)(big, 1_000_003) == big * big % 1_000_003


def test_stages(relu: Kernel) -> None:
    assert list(relu.stages) == [
        "module",
        "entry",
        "checks",
        "linalg",
        "buffers",
        "loops",
        "llvm",
    ]
    assert "linalg.map" in relu.as_text("module")
    assert "memref<1xi64>" in relu.as_text("entry")
    assert "llvm.func" in relu.as_text()
    with pytest.raises(errors.ArgumentError, match=r"(?s)'vector'.*module, entry, checks, linalg"):
        relu.as_text("vector")


def test_times(relu: Kernel) -> None:
    assert set(relu.times) == {*relu.stages, "code", "total"}
    assert all(seconds >= 0 for seconds in relu.times.values())
    assert relu.times["total"] == pytest.approx(
        sum(seconds for name, seconds in relu.times.items() if name != "total")
    )


def test_the_picture_of_times_tells_own_passes_from_those_of_mlir(relu: Kernel) -> None:
    picture = relu.compile_times
    assert [name for name, _ in picture.phases] == [*relu.stages, "code"]
    names = [name for name, _ in picture.passes]
    assert "linalg-ext-vectorize-loops" in names
    assert any("canonicalize" in name for name in names)
    assert picture.own + picture.upstream == pytest.approx(sum(s for _, s in picture.passes))
    own = sum(s for name, s in picture.passes if name.startswith("linalg-ext-"))
    assert picture.own == pytest.approx(own)
    lines = repr(picture).splitlines()
    assert lines[0].startswith("compiled in ")
    # The longest bar is that of the phase that took longest.
    longest = max(picture.phases, key=lambda phase: phase[1])[0]
    assert next(line for line in lines if line.split()[0] == longest).endswith("#" * 24)


def test_repr(relu: Kernel) -> None:
    text = repr(relu)
    assert text.startswith("kernel relu(tensor<8xf32>) -> (tensor<8xf32>)")
    assert re.search(r"stages .*module \d+ > entry \d+ > .* > llvm \d+ ops", text)
    assert re.search(r"compiled +in [\d.]+ ms: module", text)
    assert f"opt level {relu.opt_level}" in text


def test_asm_is_the_entrys_code(relu: Kernel) -> None:
    text = relu.asm()
    assert text.startswith("lx_entry_relu:")
    assert text.count(":\n") == 1
    assert re.search(r"\b(v?maxps|v?maxss|vcmp\w+|fmax)\b", text)
    assert relu.asm(whole=True).count(":\n") > 1


def test_asm_names_what_is_called() -> None:
    text = """
    func.func @f(%a: f64) -> f64 {
      %0 = math.exp %a : f64
      return %0 : f64
    }
    """
    assert "; exp" in compile(text, trusted=True).asm()


def test_the_call_releases_the_gil() -> None:
    """The kernel spins until another thread of Python's writes its flag."""
    kernel = compile(
        """
        func.func @wait(%flag: memref<1xi64>) -> i64 {
          %c0 = arith.constant 0 : index
          %zero = arith.constant 0 : i64
          %one = arith.constant 1 : i64
          %most = arith.constant 4000000000 : i64
          %spins = scf.while (%n = %zero) : (i64) -> i64 {
            %seen = memref.atomic_rmw addi %zero, %flag[%c0] : (i64, memref<1xi64>) -> i64
            %unset = arith.cmpi eq, %seen, %zero : i64
            %early = arith.cmpi slt, %n, %most : i64
            %on = arith.andi %unset, %early : i1
            scf.condition(%on) %n : i64
          } do {
          ^bb0(%n: i64):
            %next = arith.addi %n, %one : i64
            scf.yield %next : i64
          }
          return %spins : i64
        }
        """,
        trusted=True,
    )
    flag = np.zeros(1, np.int64)
    writer = threading.Timer(0.05, flag.fill, (1,))
    writer.start()
    assert kernel(flag) < 4_000_000_000
    assert flag[0] == 1


def test_kernels_die_quietly_at_exit() -> None:
    code = f"""
import numpy as np
from linalg_ext.compiler import compile
kernel = compile('''{RELU}''', trusted=True)
result = kernel(np.zeros(8, np.float32))
open_kernel = compile('''func.func @f(%a: tensor<?xf32>) -> tensor<?xf32> {{
  %0 = arith.addf %a, %a : tensor<?xf32>
  return %0 : tensor<?xf32>
}}''', trusted=True)
kept = open_kernel(np.zeros(8, np.float32))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_kernel_is_one_of_ours(relu: Kernel) -> None:
    assert isinstance(relu, Kernel)
