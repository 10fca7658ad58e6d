"""Reshapes between ops: those that meet, fills, and ops whose loops are expanded."""

from __future__ import annotations

import re

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.transforms.fusion.fuse_producers import fuse_producers

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
    module = lx.parse(PAIR.format(sizes="%d1, %d0"))
    fuse_producers(module)
    assert "collapse_shape" in str(module)


def test_sizes_that_nothing_is_known_of_are_not_folded() -> None:
    module = lx.parse(PAIR.format(sizes="%a, %b"))
    fuse_producers(module)
    assert "collapse_shape" in str(module)


def test_sizes_are_followed_to_where_they_come_from() -> None:
    text = PAIR.format(sizes="%e0, %e1").replace(
        "  %r = ",
        """  %e = tensor.empty(%d0, %d1) : tensor<?x?xf32>
  %e0 = tensor.dim %e, %zero : tensor<?x?xf32>
  %e1 = tensor.dim %e, %one : tensor<?x?xf32>
  %r = """,
    )
    module = lx.parse(text)
    fuse_producers(module)
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
    fuse_producers(module)
    assert str(module).count("linalg.generic") == 1


def test_a_pair_of_equal_sizes_is_none() -> None:
    module = lx.parse(PAIR.format(sizes="%d0, %d1"))
    fuse_producers(module)
    assert "collapse_shape" not in str(module)


@pytest.mark.parametrize(
    ("shape", "middle", "result"),
    [
        ((4, 6), (24,), (4, 2, 3)),
        ((2, 3, 4), (6, 4), (6, 2, 2)),
        ((2, 3, 4), (24,), (6, 4)),
        ((2, 3, 4), (24,), (4, 6)),
        ((1, 6), (6,), (2, 3)),
        ((12,), (3, 4), (3, 2, 2)),
        ((3, 2, 2), (3, 4), (12,)),
        ((4, 6), (4, 2, 3), (8, 3)),
        ((1,), (), (1, 1)),
        ((), (1,), (1, 1)),
        ((), (1, 1), ()),
        ((1, 1), (1,), ()),
    ],
)
def test_reshapes_that_meet_keep_the_order_of_elements(
    shape: tuple[int, ...], middle: tuple[int, ...], result: tuple[int, ...]
) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    kernel = lx.jit(lambda x: np.reshape(np.reshape(np.negative(x), middle), result) + 1)
    np.testing.assert_array_equal(kernel(x), 1 - x.reshape(result))


def test_ops_around_a_reshape_are_one() -> None:
    x, y = np.ones((4, 6), np.float32), np.ones((4, 2, 3), np.float32)
    lowered = lx.jit(lambda x, y: np.exp(np.reshape(np.exp(x), (4, 2, 3)) + y)).lower(x, y)
    assert lowered.compile().as_text("linalg").count("linalg.generic") == 1


def test_positions_along_a_loop_that_is_expanded_are_those_of_before() -> None:
    kernel = lx.jit(lambda x: np.reshape(np.reshape(x, (24,)) + np.arange(24), (4, 6)))
    x = np.ones((4, 6), np.int64)
    np.testing.assert_array_equal(kernel(x), 1 + np.arange(24).reshape(4, 6))


def test_a_fill_is_made_in_the_shape_that_it_is_read_in() -> None:
    text = """
    func.func @f(%zero: f32) -> (tensor<2x3x4xf32>, tensor<6x4xf32>) {
      %e = tensor.empty() : tensor<6x4xf32>
      %f = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],
                           iterator_types = ["parallel", "parallel"]} outs(%e : tensor<6x4xf32>) {
      ^bb0(%o: f32):
        linalg.yield %zero : f32
      } -> tensor<6x4xf32>
      %r = tensor.expand_shape %f [[0, 1], [2]] output_shape [2, 3, 4]
        : tensor<6x4xf32> into tensor<2x3x4xf32>
      return %r, %f : tensor<2x3x4xf32>, tensor<6x4xf32>
    }"""
    module = lx.parse(text)
    fuse_producers(module)
    assert "expand_shape" not in str(module)


BIAS_OF_HEADS = """
#rows = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
func.func @f(%x: tensor<5x12xf32>, %b: tensor<12xf32>) -> tensor<5x1x4xf32> {
  %e = tensor.empty() : tensor<5x12xf32>
  %s = linalg.generic {
    indexing_maps = [#rows, #columns, #rows], iterator_types = ["parallel", "parallel"]
  } ins(%x, %b : tensor<5x12xf32>, tensor<12xf32>) outs(%e : tensor<5x12xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %t = arith.addf %p, %q : f32
    linalg.yield %t : f32
  } -> tensor<5x12xf32>
  %h = tensor.expand_shape %s [[0], [1, 2]] output_shape [5, 3, 4]
    : tensor<5x12xf32> into tensor<5x3x4xf32>
  %r = tensor.extract_slice %h[0, 1, 0] [5, 1, 4] [1, 1, 1]
    : tensor<5x3x4xf32> to tensor<5x1x4xf32>
  return %r : tensor<5x1x4xf32>
}"""


def test_no_op_is_expanded_for_readers_that_it_cannot_join() -> None:
    module = lx.parse(BIAS_OF_HEADS)
    fuse_producers(module)
    (loops,) = re.findall(r"iterator_types = \[(.*?)\]", str(module))
    assert loops.count("parallel") == 2
