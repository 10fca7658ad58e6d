"""What the stack may not hold is on the heap."""

from __future__ import annotations

import pytest

from kernels import run
from linalg_ext.module import Module
from linalg_ext.transforms.bufferization.prepare_deallocation import prepare_deallocation


@pytest.mark.parametrize(
    ("type_", "moved"),
    [
        ("memref<4096xf32>", False),
        ("memref<4097xf32>", True),
        ("memref<1024xcomplex<f64>>", False),
        ("memref<1025xcomplex<f64>>", True),
        ("memref<16384xi1>", False),
        ("memref<1024xvector<3xf32>>", False),  # padded to four
        ("memref<1025xvector<3xf32>>", True),
        ("memref<2049xindex>", True),
        ("memref<f32>", False),
    ],
)
def test_the_limit_is_in_bytes(type_: str, moved: bool) -> None:
    module = Module.parse(
        f"func.func @f() {{ %a = memref.alloca() : {type_}  return }}", trusted=True
    )
    assert bool(prepare_deallocation(module)) == moved
    assert ("memref.alloc()" in str(module)) == moved


def test_in_a_loop_everything_moves() -> None:
    text = """
    func.func @f(%n: index, %x: f32) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> f32 {
        %a = memref.alloca() : memref<1000xf32>
        memref.store %s, %a[%c1] : memref<1000xf32>
        %y = memref.load %a[%c1] : memref<1000xf32>
        %z = arith.addf %y, %x : f32
        scf.yield %z : f32
      }
      return %r : f32
    }"""
    assert prepare_deallocation(Module.parse(text, trusted=True))
    assert run(text, 20_000, 0.5) == 10_000.5


def test_a_stack_of_any_size_and_a_large_one() -> None:
    text = """
    func.func @f(%n: index, %x: f32) -> f32 {
      %c1 = arith.constant 1 : index
      %a = memref.alloca(%n) {alignment = 128 : i64} : memref<?xf32>
      %b = memref.alloca() : memref<50000000xf32>
      memref.store %x, %a[%c1] : memref<?xf32>
      %y = memref.load %a[%c1] : memref<?xf32>
      memref.store %y, %b[%n] : memref<50000000xf32>
      %z = memref.load %b[%n] : memref<50000000xf32>
      return %z : f32
    }"""
    assert run(text, 40_000_000, 2.5) == 2.5
