"""Buffers are there from their first use to their last, and never shorter."""

from __future__ import annotations

import re

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.module import Module
from linalg_ext.transforms.memory import shorten_lifetimes as file

ROW = """
func.func private @know(%a: memref<8xf32>) -> memref<8xf32>
func.func private @tell(%a: index)
func.func @f(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = memref.alloc() : memref<8xf32>
  BODY
  %end = arith.constant 99 : index
  memref.dealloc %a : memref<8xf32>
  return
}"""

MOVED = {
    "it is reached in a loop": """
        scf.for %i = %c0 to %n step %c1 {
          memref.store %x, %a[%c0] : memref<8xf32>
        }""",
    "it is reached by another name": """
        %v = memref.subview %a[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
        %w = memref.cast %v : memref<4xf32, strided<[1]>> to memref<?xf32, strided<[1]>>
        memref.store %x, %w[%c0] : memref<?xf32, strided<[1]>>""",
    "how it lies is asked": """
        %p = memref.extract_aligned_pointer_as_index %a : memref<8xf32> -> index
        %q = arith.addi %p, %c4 : index
        %beyond = arith.remui %q, %c4 : index
        scf.for %i = %c0 to %beyond step %c1 {
          memref.store %x, %a[%i] : memref<8xf32>
        }""",
}

KEPT = {
    "a loop carries it": """
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a) -> memref<8xf32> {
          memref.store %x, %b[%c0] : memref<8xf32>
          scf.yield %b : memref<8xf32>
        }
        memref.store %x, %r[%c0] : memref<8xf32>""",
    "an affine loop carries it": """
        %r = affine.for %i = 0 to 9 iter_args(%b = %a) -> memref<8xf32> {
          memref.store %x, %b[%c0] : memref<8xf32>
          affine.yield %b : memref<8xf32>
        }
        memref.store %x, %r[%c0] : memref<8xf32>""",
    "it is an element of another": """
        %list = memref.alloca() : memref<1xmemref<8xf32>>
        memref.store %a, %list[%c0] : memref<1xmemref<8xf32>>
        %b = memref.load %list[%c0] : memref<1xmemref<8xf32>>
        memref.store %x, %b[%c0] : memref<8xf32>""",
    "its address is told": """
        %p = memref.extract_aligned_pointer_as_index %a : memref<8xf32> -> index
        %q = arith.addi %p, %c4 : index
        func.call @tell(%q) : (index) -> ()""",
    "it is freed by another name too": """
        %v = func.call @know(%a) : (memref<8xf32>) -> memref<8xf32>
        memref.dealloc %v : memref<8xf32>""",
    "it is chosen by a branch": """
        %on = arith.cmpi eq, %n, %c1 : index
        %r = scf.if %on -> memref<8xf32> {
          scf.yield %a : memref<8xf32>
        } else {
          %b = memref.alloc() : memref<8xf32>
          scf.yield %b : memref<8xf32>
        }
        memref.store %x, %r[%c0] : memref<8xf32>""",
}


def freed_at_end(body: str) -> bool:
    """Return whether the buffer is freed where it was, after the last constant."""
    module = Module.parse(ROW.replace("BODY", body), trusted=True, legalize=False)
    file.shorten_lifetimes(module)
    assert module.ir.operation.verify()
    text = str(module)
    return text.rindex("memref.dealloc %alloc") > text.index(" = arith.constant 99")


@pytest.mark.parametrize("case", MOVED)
def test_it_is_free_early(case: str) -> None:
    assert not freed_at_end(MOVED[case])


@pytest.mark.parametrize("case", KEPT)
def test_it_is_free_late(case: str) -> None:
    assert freed_at_end(KEPT[case])


MASKED = """
func.func @f(%n: index, %x: vector<8xf32>) -> vector<8xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %a = memref.alloc() : memref<8xf32>
  %m = vector.create_mask %n : vector<8xi1>
  vector.maskedstore %a[%c0], %m, %x : memref<8xf32>, vector<8xi1>, vector<8xf32>
  %l = vector.maskedload %a[%c0], %m, %zero
    : memref<8xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  %s = arith.select %m, %l, %x : vector<8xi1>, vector<8xf32>
  %r = arith.addf %s, %x : vector<8xf32>
  memref.dealloc %a : memref<8xf32>
  return %r : vector<8xf32>
}"""


def test_a_select_of_what_is_read_comes_before_the_end() -> None:
    module = Module.parse(MASKED, trusted=True)
    assert file.shorten_lifetimes(module)
    names = re.findall(r"(arith\.select|memref\.dealloc|arith\.addf)", str(module))
    assert names == ["arith.select", "memref.dealloc", "arith.addf"]


def test_running_sums_of_open_rows_read_no_memory_that_is_free() -> None:
    sums = lx.jit(lambda x: np.cumsum(np.diff(x)), dynamic=True)
    for _ in range(20):
        for count in range(2, 12):
            x = 1.5 * np.arange(1, count + 1)
            np.testing.assert_array_equal(sums(x), np.cumsum(np.diff(x)))
            for length in (count, count + 1, 12):
                sums(1e50 * np.arange(length))
