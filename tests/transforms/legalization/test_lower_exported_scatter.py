"""tm_tensor.scatter: updates in their order, at indices that are added to their places."""

from __future__ import annotations

import numpy as np
import pytest

from kernels import run
from linalg_ext.errors import ExecutionError

TEXT = """
func.func @f(%u: {u}, %i: {i}, %x: {x}) -> {x} {{
  %r = tm_tensor.scatter {{dimension_map = array<i64: {dims}>}} unique_indices(false)
      ins(%u, %i : {u}, {i}) outs(%x : {x}) {{
  ^bb0(%new: f32, %old: f32):
    %s = arith.{body} %old, %new : f32
    tm_tensor.yield %s : f32
  }} -> {x}
  return %r : {x}
}}"""
ROWS = TEXT.format(
    u="tensor<?x7xf32>", i="tensor<?x1xi32>", x="tensor<5x7xf32>", dims="0", body="addf"
)
X, U = np.ones((5, 7), np.float32), np.arange(21, dtype=np.float32).reshape(3, 7)


def test_rows_that_meet_are_added() -> None:
    found = run(ROWS, U, np.array([[4], [1], [4]], np.int32), X)
    expected = X.copy()
    np.add.at(expected, [4, 1, 4], U)
    np.testing.assert_array_equal(found, expected)
    assert (X == 1).all()  # the argument is nobody's to write


def test_the_order_is_that_of_the_updates() -> None:
    text = TEXT.format(
        u="tensor<3xf32>", i="tensor<3x1xi32>", x="tensor<2xf32>", dims="0", body="divf"
    )
    found = run(text, np.array([2, 4, 8], np.float32), np.array([[1], [0], [1]], np.int32),
                np.array([1, 1], np.float32))  # fmt: skip
    np.testing.assert_array_equal(found, [1 / 4, 1 / 2 / 8])


def test_indices_for_several_dimensions_in_any_order() -> None:
    text = TEXT.format(
        u="tensor<2xf32>", i="tensor<2x2xi32>", x="tensor<3x4xf32>", dims="1, 0", body="addf"
    )
    zeros = np.zeros((3, 4), np.float32)
    found = run(text, np.array([5, 6], np.float32), np.array([[3, 0], [1, 2]], np.int32), zeros)
    assert (found[0, 3], found[2, 1], found.sum()) == (5, 6, 11)


def test_an_index_is_added_to_the_place_of_its_update() -> None:
    text = TEXT.format(
        u="tensor<1x2x7xf32>", i="tensor<1x1xi32>", x="tensor<5x7xf32>", dims="0", body="addf"
    )
    found = run(text, U[None, :2], np.array([[2]], np.int32), X)
    np.testing.assert_array_equal(found[2:4] - 1, U[:2])


@pytest.mark.parametrize("index", [5, -1])
def test_an_index_out_of_bounds_is_found(index: int) -> None:
    with pytest.raises(ExecutionError, match="out-of-bounds"):
        run(ROWS, U[:1], np.array([[index]], np.int32), X, checked=True)
