"""Compiled code fills what it allocates, where it is asked to."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.runtime import poison

UNWRITTEN = """
func.func @f(%n: index) -> (f32, f32, f64) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %last = arith.subi %n, %1 : index
  %stack = memref.alloca() : memref<3x5xf32>
  %heap = memref.alloc(%n) : memref<?xf64>
  %x = memref.load %stack[%0, %0] : memref<3x5xf32>
  %y = memref.load %stack[%1, %1] : memref<3x5xf32>
  %z = memref.load %heap[%last] : memref<?xf64>
  return %x, %y, %z : f32, f32, f64
}
"""


@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize("size", [1, 1000, 1 << 20])  # the last is of the pool
def test_who_reads_what_nobody_wrote_reads_nan(
    opt_level: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poison, "ON", True)
    kernel = lx.compile(UNWRITTEN, opt_level=opt_level, checked=False)
    assert np.isnan(kernel(size)).all()


def test_without_it_code_has_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poison, "ON", False)
    assert "lx_poison" not in lx.compile(UNWRITTEN).as_text("llvm")
