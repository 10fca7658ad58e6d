"""Deallocations go before others are found; prefetches go because nothing depends on them."""

from __future__ import annotations

from kernels import run


def test_a_module_that_frees_before_its_end_and_prefetches() -> None:
    text = """
    func.func @f(%x: f32) -> f32 {
      %c0 = arith.constant 0 : index
      %a = memref.alloc() : memref<4xf32>
      memref.prefetch %a[%c0], write, locality<3>, data : memref<4xf32>
      affine.prefetch %a[%c0], read, locality<3>, data : memref<4xf32>
      memref.store %x, %a[%c0] : memref<4xf32>
      %y = memref.load %a[%c0] : memref<4xf32>
      memref.dealloc %a : memref<4xf32>
      %b = memref.alloc() : memref<4xf32>
      memref.store %y, %b[%c0] : memref<4xf32>
      %z = memref.load %b[%c0] : memref<4xf32>
      memref.dealloc %b : memref<4xf32>
      return %z : f32
    }"""
    assert run(text, 2.5) == 2.5
