"""stablehlo.scatter: windows inside, windows outside, batches, and which come last."""

from __future__ import annotations

import numpy as np

import linalg_ext as lx

WINDOWS = """func.func @f(%x: tensor<5x7xf32>, %i: tensor<3x1xi32>, %u: tensor<3x2x7xf32>)
    -> tensor<5x7xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %s = stablehlo.subtract %old, %new : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<5x7xf32>, tensor<3x1xi32>, tensor<3x2x7xf32>) -> tensor<5x7xf32>
  return %r : tensor<5x7xf32>
}"""

BATCHES = """func.func @f(%x: tensor<2x4xi32>, %i: tensor<3x2xi32>, %u: tensor<3x2xi32>)
    -> tensor<2x4xi32> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{
      scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1],
        input_batching_dims = [0], scatter_indices_batching_dims = [1],
        scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    stablehlo.return %new : tensor<i32>
  }) : (tensor<2x4xi32>, tensor<3x2xi32>, tensor<3x2xi32>) -> tensor<2x4xi32>
  return %r : tensor<2x4xi32>
}"""


def test_a_window_that_is_not_inside_is_left_out_whole() -> None:
    x, u = np.ones((5, 7), np.float32), np.arange(42, dtype=np.float32).reshape(3, 2, 7)
    found = lx.compile(WINDOWS)(x, np.array([[3], [4], [-1]], np.int32), u)
    expected = x.copy()
    expected[3:5] -= u[0]
    np.testing.assert_array_equal(found, expected)


def test_windows_that_meet_are_taken_in_their_order() -> None:
    x, u = np.zeros((2, 4), np.int32), np.arange(1, 7, dtype=np.int32).reshape(3, 2)
    found = lx.compile(BATCHES)(x, np.array([[0, 3], [1, 9], [0, 3]], np.int32), u)
    np.testing.assert_array_equal(found, [[5, 3, 0, 0], [0, 0, 0, 6]])
