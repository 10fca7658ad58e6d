"""Fills: zeros are believed in only while nothing may have written over them."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.module import Module
from linalg_ext.transforms.analysis.fills import preceding_zeros
from linalg_ext.transforms.ir_utils.walking import operations

NAMES = {
    "none": "",
    "assume_alignment": "%v = memref.assume_alignment %c, 4 : memref<40x40xf32>",
    "reshape": """
      %shape = memref.alloc() : memref<2xindex>
      %v = memref.reshape %c(%shape)
        : (memref<40x40xf32>, memref<2xindex>) -> memref<40x40xf32>""",
    "select": "%v = arith.select %which, %c, %d : memref<40x40xf32>",
    "extract_strided_metadata": """
      %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %c
        : memref<40x40xf32> -> memref<f32>, index, index, index, index, index
      %v = memref.reinterpret_cast %base to offset: [0], sizes: [40, 40], strides: [40, 1]
        : memref<f32> to memref<40x40xf32>""",
    "loop": """
      %v = scf.for %i = %c0 to %c1 step %c1 iter_args(%x = %c) -> (memref<40x40xf32>) {
        scf.yield %x : memref<40x40xf32>
      }""",
}

TEXT = """
func.func @f(%a: memref<40x40xf32>, %b: memref<40x40xf32>, %r: memref<40x40xf32>, %which: i1) {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = memref.alloc() : memref<40x40xf32>
  %d = memref.alloc() : memref<40x40xf32>
  NAME
  linalg.fill ins(%z : f32) outs(%c : memref<40x40xf32>)
  linalg.exp ins(%a : memref<40x40xf32>) outs(OTHER : memref<40x40xf32>)
  linalg.matmul ins(%a, %b : memref<40x40xf32>, memref<40x40xf32>) outs(%c : memref<40x40xf32>)
  memref.copy %c, %r : memref<40x40xf32> to memref<40x40xf32>
  memref.dealloc %c : memref<40x40xf32>
  memref.dealloc %d : memref<40x40xf32>
  return
}"""


@pytest.mark.parametrize("name", NAMES)
def test_zeros_that_were_overwritten_by_another_name(name: str) -> None:
    is_apart = name == "none"
    text = TEXT.replace("NAME", NAMES[name]).replace("OTHER", "%d" if is_apart else "%v")
    module = Module.parse(text, trusted=True)
    (matmul,) = operations(module.ir, {"linalg.matmul"})
    assert (preceding_zeros(matmul) is not None) == is_apart


def test_a_kernel_adds_to_what_was_written_by_another_name() -> None:
    text = TEXT.replace("NAME", NAMES["assume_alignment"]).replace("OTHER", "%v")
    a = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)
    r = np.zeros_like(a)
    lx.compile(Module.parse(text, trusted=True))(a, a, r, True)
    np.testing.assert_allclose(r, np.exp(a) + a @ a, rtol=1e-4, atol=1e-4)


def test_what_a_loop_carries_is_older_than_what_its_body_allocates() -> None:
    module = Module.parse(
        """
        func.func @f(%a: memref<4x4xf32>, %n: index) {
          %z = arith.constant 0.0 : f32
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (memref<4x4xf32>) {
            %c = memref.alloc() : memref<4x4xf32>
            %d = memref.alloc() : memref<4x4xf32>
            linalg.fill ins(%z : f32) outs(%c : memref<4x4xf32>)
            linalg.exp ins(%x : memref<4x4xf32>) outs(%d : memref<4x4xf32>)
            linalg.matmul ins(%d, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf32>)
            scf.yield %c : memref<4x4xf32>
          }
          return
        }""",
        trusted=True,
    )
    (matmul,) = operations(module.ir, {"linalg.matmul"})
    assert preceding_zeros(matmul) is not None
