"""Copies between layouts become generics; block copies stay."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
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


@pytest.mark.parametrize("parts", [2, 3, 8, 9])
@pytest.mark.parametrize("dtype", ["u1", "f4", "c16"])
def test_copies_that_interleave_are_one_loop(parts: int, dtype: str) -> None:
    arrays = [np.arange(60).reshape(5, 12).astype(dtype) + part for part in range(parts)]
    compiled = lx.jit(lambda *arrays: np.stack(arrays, -1)).lower(*arrays).compile()
    np.testing.assert_array_equal(compiled(*arrays), np.stack(arrays, -1))
    # A loop over each axis, and the parts of complex numbers, or that for each copy.
    is_one = compiled.kernel.as_text("loops").count("scf.for") == 2 + (dtype == "c16")
    assert is_one == (parts <= 8)


@pytest.mark.parametrize(
    "between",
    [
        "memref.store %one, %b[%c0] : memref<6xf32>",  # which is read afterwards
        "memref.store %one, %t[%c0, %c1] : memref<6x2xf32>",  # which is overwritten
    ],
)
def test_ops_between_such_copies_keep_their_place(between: str) -> None:
    text = f"""
    func.func @f(%a: memref<6xf32>, %b: memref<6xf32>, %t: memref<6x2xf32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %one = arith.constant 77.0 : f32
      %x = memref.expand_shape %a [[0, 1]] output_shape [6, 1]
        : memref<6xf32> into memref<6x1xf32>
      %y = memref.expand_shape %b [[0, 1]] output_shape [6, 1]
        : memref<6xf32> into memref<6x1xf32>
      %u = memref.subview %t[0, 0] [6, 1] [1, 1]
        : memref<6x2xf32> to memref<6x1xf32, strided<[2, 1]>>
      %v = memref.subview %t[0, 1] [6, 1] [1, 1]
        : memref<6x2xf32> to memref<6x1xf32, strided<[2, 1], offset: 1>>
      memref.copy %x, %u : memref<6x1xf32> to memref<6x1xf32, strided<[2, 1]>>
      {between}
      memref.copy %y, %v : memref<6x1xf32> to memref<6x1xf32, strided<[2, 1], offset: 1>>
      return
    }}"""
    a, b, t = np.arange(6, dtype="f4"), np.arange(6, 12, dtype="f4"), np.zeros((6, 2), "f4")
    run(text, a, b, t)
    np.testing.assert_array_equal(t, np.stack([a, b], 1))
    assert (b[0] == 77) == ("%b[" in between)


def test_copies_of_open_sizes_are_as_long_as_each_is() -> None:
    text = """
    func.func @f(%a: memref<?x1xf32>, %b: memref<?x1xf32>, %t: memref<6x2xf32>, %n: index,
                 %m: index) {
      %u = memref.subview %t[0, 0] [%n, 1] [1, 1]
        : memref<6x2xf32> to memref<?x1xf32, strided<[2, 1]>>
      %v = memref.subview %t[0, 1] [%m, 1] [1, 1]
        : memref<6x2xf32> to memref<?x1xf32, strided<[2, 1], offset: 1>>
      memref.copy %a, %u : memref<?x1xf32> to memref<?x1xf32, strided<[2, 1]>>
      memref.copy %b, %v : memref<?x1xf32> to memref<?x1xf32, strided<[2, 1], offset: 1>>
      return
    }"""
    a, b, t = np.ones((6, 1), "f4"), np.full((2, 1), 2, "f4"), np.zeros((6, 2), "f4")
    run(text, a, b, t, 6, 2)
    np.testing.assert_array_equal(t, np.concatenate([a, [[2], [2], [0], [0], [0], [0]]], 1))
