"""Copies between layouts become generics; block copies stay."""

from __future__ import annotations

import numpy as np
import pytest

from kernels import run
from linalg_ext import errors
from linalg_ext.module import Module
from linalg_ext.transforms.bufferization import lower_strided_copies as file


def test_block_copies_stay() -> None:
    module = Module.parse(
        """
        func.func @f(%a: memref<4x?xf32>, %b: memref<4x?xf32>) {
          memref.copy %a, %b : memref<4x?xf32> to memref<4x?xf32>
          return
        }""",
        trusted=True,
    )
    assert not file.lower_strided_copies(module)


def test_values() -> None:
    text = """
    func.func @f(%m: memref<4x6xf32>, %t: memref<6x4xf32>, %e: memref<4x6xf32>) {
      %s = memref.subview %m[1, 0] [2, 3] [2, 2]
        : memref<4x6xf32> to memref<2x3xf32, strided<[12, 2], offset: 6>>
      %d = memref.subview %e[0, 1] [2, 3] [1, 1]
        : memref<4x6xf32> to memref<2x3xf32, strided<[6, 1], offset: 1>>
      memref.copy %s, %d : memref<2x3xf32, strided<[12, 2], offset: 6>>
        to memref<2x3xf32, strided<[6, 1], offset: 1>>
      %u = memref.transpose %m (i, j) -> (j, i)
        : memref<4x6xf32> to memref<6x4xf32, strided<[1, 6]>>
      memref.copy %u, %t : memref<6x4xf32, strided<[1, 6]>> to memref<6x4xf32>
      return
    }"""
    m = np.arange(24, dtype=np.float32).reshape(4, 6)
    t, e = np.zeros((6, 4), np.float32), np.zeros((4, 6), np.float32)
    run(text, m, t, e)
    np.testing.assert_array_equal(t, m.T)
    expected = np.zeros((4, 6), np.float32)
    expected[:2, 1:4] = m[1::2, :6:2]
    np.testing.assert_array_equal(e, expected)


def test_unranked_memrefs_are_refused() -> None:
    module = Module.parse(
        """
        func.func @f(%a: memref<*xf32>, %b: memref<*xf32>) {
          memref.copy %a, %b : memref<*xf32> to memref<*xf32>
          return
        }""",
        trusted=True,
    )
    with pytest.raises(errors.LoweringError, match=r"(?s)unranked.*:3:11.*memref\.cast"):
        file.lower_strided_copies(module)
