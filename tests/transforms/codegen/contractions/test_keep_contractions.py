"""Contractions that nothing is fused into."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels import kernel
from memrefs import integers


@pytest.mark.parametrize("narrow", ["i1", "i8", "i16"])
@pytest.mark.parametrize("cast", ["extui", "extsi"])
def test_integers_are_widened_as_the_body_says(cast: str, narrow: str) -> None:
    text = """
    #row = affine_map<(m, n, k) -> (m, k)>
    #column = affine_map<(m, n, k) -> (k, n)>
    #both = affine_map<(m, n) -> (m, n)>
    func.func @f(%a: tensor<5x6xNARROW>, %b: tensor<6x7xNARROW>, %c: tensor<5x7xi32>)
        -> tensor<5x7xi32> {
      %e = tensor.empty() : tensor<5x6xNARROW>
      %n = linalg.generic {indexing_maps = [#both, #both, #both],
                           iterator_types = ["parallel", "parallel"]}
          ins(%a, %a : tensor<5x6xNARROW>, tensor<5x6xNARROW>)
          outs(%e : tensor<5x6xNARROW>) {
      ^bb0(%x: NARROW, %y: NARROW, %o: NARROW):
        %z = arith.muli %x, %y : NARROW
        linalg.yield %z : NARROW
      } -> tensor<5x6xNARROW>
      %r = linalg.generic {indexing_maps = [#row, #column, affine_map<(m, n, k) -> (m, n)>],
                           iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%n, %b : tensor<5x6xNARROW>, tensor<6x7xNARROW>) outs(%c : tensor<5x7xi32>) {
      ^bb0(%x: NARROW, %y: NARROW, %o: i32):
        %p = arith.CAST %x : NARROW to i32
        %q = arith.CAST %y : NARROW to i32
        %s = arith.muli %p, %q : i32
        %t = arith.addi %o, %s : i32
        linalg.yield %t : i32
      } -> tensor<5x7xi32>
      return %r : tensor<5x7xi32>
    }"""
    dtype = np.dtype({"i1": "bool", "i8": "int8", "i16": "int16"}[narrow])
    generator = np.random.default_rng(7)
    a, b = (generator.integers(-128, 128, shape).astype(dtype) for shape in ((5, 6), (6, 7)))
    c = integers(5, 7).astype(np.int32)

    def widened(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if narrow == "i1":
            return x.astype(np.int32) * (1 if cast == "extui" else -1)
        return x.view(f"u{dtype}" if cast == "extui" else dtype).astype(np.int32)

    compiled = kernel(text.replace("NARROW", narrow).replace("CAST", cast))
    np.testing.assert_array_equal(compiled(a, b, c), widened(a * a) @ widened(b) + c)


def test_a_transpose_is_still_fused() -> None:
    """It goes into the maps of the contraction, and nothing is moved."""
    text = """
    func.func @f(%a: tensor<40x30xf32>, %b: tensor<40x50xf32>, %c: tensor<30x50xf32>)
        -> tensor<30x50xf32> {
      %e = tensor.empty() : tensor<30x40xf32>
      %t = linalg.transpose ins(%a : tensor<40x30xf32>) outs(%e : tensor<30x40xf32>)
             permutation = [1, 0]
      %r = linalg.matmul ins(%t, %b : tensor<30x40xf32>, tensor<40x50xf32>)
                         outs(%c : tensor<30x50xf32>) -> tensor<30x50xf32>
      return %r : tensor<30x50xf32>
    }"""
    compiled = kernel(text)
    assert "30x40" not in compiled.as_text("buffers")
    a, b, c = integers(40, 30), integers(40, 50), integers(30, 50)
    np.testing.assert_array_equal(compiled(a, b, c), a.T @ b + c)


def test_a_transpose_beside_what_is_computed_is_read_where_it_lies() -> None:
    text = """
    func.func @f(%a: tensor<30x40xf32>, %b: tensor<50x40xf32>, %c: tensor<30x50xf32>)
        -> tensor<30x50xf32> {
      %e = tensor.empty() : tensor<40x50xf32>
      %t = linalg.transpose ins(%b : tensor<50x40xf32>) outs(%e : tensor<40x50xf32>)
             permutation = [1, 0]
      %f = tensor.empty() : tensor<30x40xf32>
      %n = linalg.negf ins(%a : tensor<30x40xf32>) outs(%f : tensor<30x40xf32>)
             -> tensor<30x40xf32>
      %r = linalg.matmul ins(%n, %t : tensor<30x40xf32>, tensor<40x50xf32>)
                         outs(%c : tensor<30x50xf32>) -> tensor<30x50xf32>
      return %r : tensor<30x50xf32>
    }"""
    compiled = kernel(text)
    assert "40x50" not in compiled.as_text("buffers")
    a, b, c = integers(30, 40), integers(50, 40), integers(30, 50)
    np.testing.assert_array_equal(compiled(a, b, c), -a @ b.T + c)


def test_a_batch_that_is_moved_twice_is_read_where_it_lies() -> None:
    text = """
    func.func @f(%a: tensor<3x4x5xf32>, %b: tensor<6x3x5xf32>) -> tensor<3x4x6xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<3x6x5xf32>
      %t = linalg.transpose ins(%b : tensor<6x3x5xf32>) outs(%e : tensor<3x6x5xf32>)
             permutation = [1, 0, 2]
      %g = tensor.empty() : tensor<3x5x6xf32>
      %u = linalg.transpose ins(%t : tensor<3x6x5xf32>) outs(%g : tensor<3x5x6xf32>)
             permutation = [0, 2, 1]
      %f = tensor.empty() : tensor<3x4x5xf32>
      %n = linalg.negf ins(%a : tensor<3x4x5xf32>) outs(%f : tensor<3x4x5xf32>)
             -> tensor<3x4x5xf32>
      %h = tensor.empty() : tensor<3x4x6xf32>
      %c = linalg.fill ins(%zero : f32) outs(%h : tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
      %r = linalg.batch_matmul ins(%n, %u : tensor<3x4x5xf32>, tensor<3x5x6xf32>)
                               outs(%c : tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
      return %r : tensor<3x4x6xf32>
    }"""
    compiled = kernel(text)
    assert "3x6x5" not in compiled.as_text("buffers")
    a, b = integers(3, 4, 5), integers(6, 3, 5)
    np.testing.assert_array_equal(compiled(a, b), np.einsum("bmk,nbk->bmn", -a, b))


def test_a_product_with_a_scalar_is_none() -> None:
    text = """
    func.func @f(%a: tensor<4x5xf32>, %x: f32, %c: tensor<4xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4x5xf32>
      %n = linalg.exp ins(%a : tensor<4x5xf32>) outs(%e : tensor<4x5xf32>) -> tensor<4x5xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> ()>,
             affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]}
             ins(%n, %x : tensor<4x5xf32>, f32) outs(%c : tensor<4xf32>) {
        ^bb0(%i: f32, %s: f32, %o: f32):
          %p = arith.mulf %i, %s : f32
          %q = arith.addf %o, %p : f32
          linalg.yield %q : f32
      } -> tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    a = integers(4, 5)
    result = kernel(text)(a, np.float32(3), np.zeros(4, np.float32))
    np.testing.assert_allclose(result, 3 * np.exp(a).sum(1), rtol=1e-5)
