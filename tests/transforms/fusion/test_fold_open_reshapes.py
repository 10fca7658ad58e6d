"""Pairs of reshapes with several open sizes: the documented ops, and what stays."""

from __future__ import annotations

import numpy as np

import linalg_ext as lx
from linalg_ext.transforms.fusion import fold_open_reshapes as file

PAIR = """
func.func @f(%x: tensor<?x?x6xf32>, %a: index, %b: index) -> tensor<?x?x2x3xf32> {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %d0 = tensor.dim %x, %zero : tensor<?x?x6xf32>
  %d1 = tensor.dim %x, %one : tensor<?x?x6xf32>
  %c = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x6xf32> into tensor<?x6xf32>
  %r = tensor.expand_shape %c [[0, 1], [2, 3]] output_shape [{sizes}, 2, 3]
    : tensor<?x6xf32> into tensor<?x?x2x3xf32>
  return %r : tensor<?x?x2x3xf32>
}}"""


def test_sizes_that_change_places_are_not_folded() -> None:
    assert not file.fold_open_reshapes(lx.parse(PAIR.format(sizes="%d1, %d0"))).changed


def test_sizes_that_nothing_is_known_of_are_not_folded() -> None:
    assert not file.fold_open_reshapes(lx.parse(PAIR.format(sizes="%a, %b"))).changed


def test_sizes_are_followed_to_where_they_come_from() -> None:
    text = PAIR.format(sizes="%e0, %e1").replace(
        "  %r = ",
        """  %e = tensor.empty(%d0, %d1) : tensor<?x?xf32>
  %e0 = tensor.dim %e, %zero : tensor<?x?xf32>
  %e1 = tensor.dim %e, %one : tensor<?x?xf32>
  %r = """,
    )
    module = lx.parse(text)
    assert file.fold_open_reshapes(module).changed
    assert "collapse_shape" not in str(module)
    x = np.arange(2 * 5 * 6, dtype=np.float32).reshape(2, 5, 6)
    np.testing.assert_array_equal(lx.compile(module)(x, 2, 5), x.reshape(2, 5, 2, 3))


def test_what_a_pair_kept_apart_is_fused() -> None:
    text = """
    func.func @f(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %d0 = tensor.dim %x, %zero : tensor<?x?xf32>
      %d1 = tensor.dim %x, %one : tensor<?x?xf32>
      %e = tensor.empty(%d0, %d1) : tensor<?x?xf32>
      %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
          affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {
      ^bb0(%a: f32, %o: f32):
        %v = math.sqrt %a : f32
        linalg.yield %v : f32
      } -> tensor<?x?xf32>
      %c = tensor.collapse_shape %s [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
      %r = tensor.expand_shape %c [[0, 1]] output_shape [%d0, %d1]
        : tensor<?xf32> into tensor<?x?xf32>
      %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
          affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          ins(%r : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {
      ^bb0(%a: f32, %o: f32):
        %v = arith.addf %a, %a : f32
        linalg.yield %v : f32
      } -> tensor<?x?xf32>
      return %t : tensor<?x?xf32>
    }"""
    module = lx.parse(text)
    assert file.fold_open_reshapes(module).changed
    assert str(module).count("linalg.generic") == 1
