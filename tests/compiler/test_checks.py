"""What only the run can tell: open dimensions that differ, indices out of bounds."""

from __future__ import annotations

import numpy as np
import pytest

from linalg_ext import errors
from linalg_ext.compiler import compile

LONG = np.ones(1 << 24, np.float32)
SHORT = np.ones(3, np.float32)


def test_open_dimensions_must_agree() -> None:
    kernel = compile(
        """
        func.func @add(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
          %0 = arith.addf %a, %b : tensor<?xf32>
          return %0 : tensor<?xf32>
        }
        """,
        trusted=True,
    )
    np.testing.assert_array_equal(kernel(SHORT, SHORT), [2, 2, 2])
    with pytest.raises(errors.ExecutionError, match=r"`add` stopped: .* operand #1"):
        kernel(LONG, SHORT)


def test_open_dimensions_of_memory_must_agree() -> None:
    kernel = compile(
        """
        func.func @product(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
          linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
          return
        }
        """,
        trusted=True,
    )
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    c = np.zeros((2, 2), np.float32)
    kernel(a, np.ascontiguousarray(a.T), c)
    np.testing.assert_array_equal(c, a @ a.T)
    with pytest.raises(errors.ExecutionError, match=r"(?s)linalg\.matmul"):
        kernel(a, a, c)
    with pytest.raises(errors.ExecutionError, match="operand #2"):
        kernel(a, np.ascontiguousarray(a.T), np.zeros((2, 1), np.float32))


GATHER = """
func.func @gather(%table: tensor<5xf32>, %at: tensor<?xi64>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %at, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]}
    ins(%at : tensor<?xi64>) outs(%e : tensor<?xf32>) {
  ^bb0(%i: i64, %o: f32):
    %j = arith.index_cast %i : i64 to index
    %x = tensor.extract %table[%j] : tensor<5xf32>
    linalg.yield %x : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""


@pytest.mark.parametrize("bad", [5, -1, 1 << 60])
def test_an_index_out_of_bounds(bad: int) -> None:
    kernel = compile(GATHER, trusted=True)
    table = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(kernel(table, np.array([4, 0, 4])), [4, 0, 4])
    with pytest.raises(errors.ExecutionError, match=r"(?s)out-of-bounds.*tensor\.extract"):
        kernel(table, np.array([0, bad]))


def test_a_view_out_of_bounds() -> None:
    kernel = compile(
        """
        func.func @part(%a: tensor<?xf32>, %from: index) -> tensor<2xf32> {
          %0 = tensor.extract_slice %a[%from] [2] [1] : tensor<?xf32> to tensor<2xf32>
          return %0 : tensor<2xf32>
        }
        """,
        trusted=True,
    )
    np.testing.assert_array_equal(kernel(np.arange(3, dtype=np.float32), 1), [1, 2])
    for start in (2, -1, 1 << 40):
        with pytest.raises(errors.ExecutionError, match="`part` stopped"):
            kernel(SHORT, start)


def test_a_cast_to_another_shape() -> None:
    kernel = compile(
        """
        func.func @cast(%a: tensor<?xf32>) -> tensor<4xf32> {
          %0 = tensor.cast %a : tensor<?xf32> to tensor<4xf32>
          return %0 : tensor<4xf32>
        }
        """,
        trusted=True,
    )
    with pytest.raises(errors.ExecutionError, match="`cast` stopped"):
        kernel(SHORT)


def test_unchecked() -> None:
    kernel = compile(GATHER, trusted=True, checked=False)
    assert "checks" not in kernel.stages
    np.testing.assert_array_equal(kernel(np.arange(5, dtype=np.float32), np.array([4])), [4])


def test_integer_division_by_zero_does_not_end_the_process() -> None:
    kernel = compile(
        """
        func.func @quotient(%a: tensor<3xi32>, %b: tensor<3xi32>) -> tensor<3xi32> {
          %0 = arith.divsi %a, %b : tensor<3xi32>
          return %0 : tensor<3xi32>
        }
        """,
        trusted=True,
    )
    least = np.iinfo(np.int32).min
    a, b = np.array([7, 7, least], np.int32), np.array([2, 0, -1], np.int32)
    assert kernel(a, b).tolist() == [3, 0, least]
