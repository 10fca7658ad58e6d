"""Dimensions of one element folded out of indexing maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels import run
from linalg_ext import transforms
from linalg_ext.module import Module


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(np.float32)


def same_numbers(text: str, *arrays: np.ndarray[Any, Any]) -> str:
    module = Module.parse(text, trusted=True)
    before = run(text, *arrays)
    assert transforms.fold_unit_dims(module)
    np.testing.assert_array_equal(run(str(module), *arrays), before)
    return str(module)


SOFTMAX_SUM = """
func.func @f(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x1xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4x1xf32>) -> tensor<4x1xf32>
  %s = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%a : tensor<4x8xf32>) outs(%i : tensor<4x1xf32>) {
  ^bb0(%x: f32, %y: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<4x1xf32>
  %o = tensor.empty() : tensor<4x8xf32>
  %r = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>,
                     affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a, %s : tensor<4x8xf32>, tensor<4x1xf32>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %w: f32):
    %t = arith.subf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}"""


def test_a_sum_that_keeps_its_dimension() -> None:
    text = same_numbers(SOFTMAX_SUM, numbers(4, 8))
    assert "x1xf32" not in text
    assert ", 0)" not in text


def test_results_can_be_kept_out() -> None:
    module = Module.parse(SOFTMAX_SUM, trusted=True)
    transforms.fold_unit_dims(module, results=False)
    assert "outs(%1 : tensor<4x1xf32>)" in str(module)


def test_an_argument_is_collapsed() -> None:
    text = """
    func.func @f(%a: tensor<4x?xf32>, %x: tensor<1x?xf32>) -> tensor<4x?xf32> {
      %r = linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]
      } ins(%x : tensor<1x?xf32>) outs(%a : tensor<4x?xf32>) {
      ^bb0(%y: f32, %w: f32):
        %t = arith.subf %w, %y : f32
        linalg.yield %t : f32
      } -> tensor<4x?xf32>
      return %r : tensor<4x?xf32>
    }"""
    module = Module.parse(text, trusted=True)
    assert transforms.fold_unit_dims(module)
    a, x = numbers(4, 6), numbers(1, 6)
    np.testing.assert_array_equal(run(str(module), a.copy(), x), a - x)
    assert "tensor.collapse_shape" in str(module)
    assert not transforms.fold_unit_dims(module)


def test_a_destination_that_is_read_is_reshaped() -> None:
    text = SOFTMAX_SUM.replace("%a: tensor<4x8xf32>", "%a: tensor<4x8xf32>, %k: tensor<4x1xf32>")
    text = text.replace("outs(%i : tensor<4x1xf32>) {", "outs(%k : tensor<4x1xf32>) {")
    assert ", 0)" not in same_numbers(text, numbers(4, 8), numbers(4, 1))


@pytest.mark.parametrize("name", ["batch_matmul", "batch_reduce_matmul"])
def test_a_batch_of_one(name: str) -> None:
    """As exporters write a product of matrices of higher rank."""
    rank = "1x4x3" if name == "batch_matmul" else "4x3"
    text = f"""
    func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>, %c: tensor<{rank}xf32>)
        -> tensor<{rank}xf32> {{
      %p = tensor.expand_shape %a [[0, 1], [2]] output_shape [1, 4, 8]
           : tensor<4x8xf32> into tensor<1x4x8xf32>
      %q = tensor.expand_shape %b [[0, 1], [2]] output_shape [1, 8, 3]
           : tensor<8x3xf32> into tensor<1x8x3xf32>
      %r = linalg.{name} {{test.kept}} ins(%p, %q : tensor<1x4x8xf32>, tensor<1x8x3xf32>)
                         outs(%c : tensor<{rank}xf32>) -> tensor<{rank}xf32>
      return %r : tensor<{rank}xf32>
    }}"""
    shape = (1, 4, 3) if name == "batch_matmul" else (4, 3)
    result = same_numbers(text, numbers(4, 8), numbers(8, 3), numbers(*shape))
    assert "linalg.matmul {test.kept} ins(%arg0, %arg1" in result


def test_a_batch_that_nobody_has_said_to_be_one_is_left() -> None:
    text = """
    func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<?x8x3xf32>, %c: tensor<1x4x3xf32>)
        -> tensor<1x4x3xf32> {
      %r = linalg.batch_matmul ins(%a, %b : tensor<1x4x8xf32>, tensor<?x8x3xf32>)
                               outs(%c : tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
      return %r : tensor<1x4x3xf32>
    }"""
    assert not transforms.fold_unit_dims(Module.parse(text, trusted=True))


def test_a_reshape_of_more_elements_is_left_with_a_reason() -> None:
    text = """
    func.func @f(%a: tensor<32xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %s = tensor.expand_shape %a [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
      %r = linalg.exp ins(%s : tensor<4x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
      return %r : tensor<4x8xf32>
    }"""
    report = transforms.fold_unit_dims(Module.parse(text, trusted=True))
    assert not report
    (reason,) = report.left["linalg.exp"]
    assert "splits or joins" in reason
