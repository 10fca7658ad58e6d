"""tm_tensor.topk: the first few of each row, with where they were or with given numbers."""

from __future__ import annotations

import numpy as np
import pytest

from kernels import run

TEXT = """
func.func @f(%x: {x}xf32>{more}, %v: {v}xf32>, %i: {v}xi32>) -> ({v}xf32>, {v}xi32>) {{
  %r:2 = tm_tensor.topk dimension({axis}) ins({ins}) outs(%v, %i : {v}xf32>, {v}xi32>) {{
  ^bb0(%a: f32, %b: f32):
    %s = arith.cmpf ogt, %a, %b : f32
    tm_tensor.yield %s : i1
  }} -> {v}xf32>, {v}xi32>
  return %r#0, %r#1 : {v}xf32>, {v}xi32>
}}"""
X = np.array([[3, 1, 3, 2], [0, 5, 4, 5], [7, 7, 7, 8]], np.float32)


@pytest.mark.parametrize("axis", [0, 1])
def test_of_equal_ones_the_first_comes_first(axis: int) -> None:
    x = X if axis == 1 else np.ascontiguousarray(X.T)
    text = TEXT.format(
        x="tensor<?x?", v="tensor<?x?", axis=axis, more="", ins="%x : tensor<?x?xf32>"
    )
    shape = (3, 2) if axis == 1 else (2, 3)
    values, indices = run(text, x, np.full(shape, -np.inf, np.float32), np.zeros(shape, np.int32))
    order = np.argsort(-x, axis, kind="stable").take([0, 1], axis)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, axis))


def test_given_numbers_are_carried_along() -> None:
    text = TEXT.format(
        x="tensor<3x4", v="tensor<3x1", axis=1, more=", %n: tensor<3x4xi32>",
        ins="%x, %n : tensor<3x4xf32>, tensor<3x4xi32>",
    )  # fmt: skip
    numbers = np.arange(100, 112, dtype=np.int32).reshape(3, 4)
    _, indices = run(
        text, X, numbers, np.full((3, 1), -np.inf, np.float32), np.zeros((3, 1), np.int32)
    )
    np.testing.assert_array_equal(indices[:, 0], [100, 105, 111])
