"""Buffers of vectors do not pile up on the stack, round after round of a loop."""

from __future__ import annotations

import numpy as np

import linalg_ext as lx
from kernels import run
from linalg_ext.module import Module
from linalg_ext.transforms.memory import hoist_allocas as file

LOOP = """
func.func @f(%n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> f32 {
    %a = memref.alloca() : memref<SIZExf32>
    memref.store %s, %a[%c1] : memref<SIZExf32>
    %y = memref.load %a[%c1] : memref<SIZExf32>
    %z = arith.addf %y, %x : f32
    scf.yield %z : f32
  }
  return %r : f32
}"""


def test_what_is_too_much_for_the_stack_is_freed_at_the_end() -> None:
    fits = Module.parse(LOOP.replace("SIZE", str(file.FRAME_LIMIT_BYTES // 4)), trusted=True)
    beyond = Module.parse(LOOP.replace("SIZE", str(file.FRAME_LIMIT_BYTES // 4 + 1)), trusted=True)
    assert file.hoist_allocas(fits)
    assert file.hoist_allocas(beyond)
    assert str(fits).index("memref.alloca()") < str(fits).index("scf.for")
    assert str(beyond).index("memref.alloc()") < str(beyond).index("scf.for")
    assert str(beyond).index("memref.dealloc") > str(beyond).rindex("scf.yield")
    assert run(LOOP.replace("SIZE", "1000"), 20_000, 0.5) == 10_000.5


def test_a_long_loop_over_vectors_does_not_overflow_the_stack() -> None:
    """Some ten thousand rounds, each with vectors of 2 kB that go through memory."""
    text = """
    func.func @main(%a: tensor<96x96x16x16xf64>, %c: tensor<96x96x16x16xf64>)
        -> tensor<96x96x16x16xf64> {
      %r = linalg.transpose ins(%a : tensor<96x96x16x16xf64>) outs(%c : tensor<96x96x16x16xf64>)
        permutation = [0, 1, 3, 2]
      return %r : tensor<96x96x16x16xf64>
    }"""
    module = lx.parse(text)
    lx.Schedule(module).match("transpose").tile([1, 1, 16, 16]).vectorize()
    x = np.random.default_rng(0).random((96, 96, 16, 16))
    kernel = lx.compile(module, entry="main")
    np.testing.assert_array_equal(kernel(x, np.zeros_like(x)), x.swapaxes(2, 3))
