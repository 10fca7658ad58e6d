"""The forms of linalg that are not one named op each: bodies, maps, reshaping, packing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels import run

F = np.float32
A = np.arange(24, dtype=F).reshape(4, 6)
B = np.arange(48, dtype=F).reshape(2, 2, 3, 4)
IMAGE = np.random.default_rng(0).normal(0, 1, (1, 6, 6, 5)).astype(F)
FILTER = np.random.default_rng(1).normal(0, 1, (2, 3, 3, 5)).astype(F)
LARGE = np.array([[-1e9, -1e9, -1e9], [1e9, 0, 0], [1, 2, 3]], F)


def softmax(x: Any, axis: int) -> Any:
    power = np.exp(x - x.max(axis, keepdims=True))
    return power / power.sum(axis, keepdims=True)


def packed(x: Any, rows: int, columns: int, fill: float) -> Any:
    m, n = -(-x.shape[0] // rows), -(-x.shape[1] // columns)
    whole = np.full((m * rows, n * columns), fill, F)
    whole[: x.shape[0], : x.shape[1]] = x
    return whole.reshape(m, rows, n, columns).transpose(0, 2, 1, 3)


CASES: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "fill, copy, broadcast, transpose": (
        """func.func @f(%a: tensor<4x6xf32>, %v: tensor<6xf32>, %x: f32)
            -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<6x4xf32>) {
          %e = tensor.empty() : tensor<4x6xf32>
          %t = tensor.empty() : tensor<6x4xf32>
          %0 = linalg.fill ins(%x : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
          %1 = linalg.broadcast ins(%v : tensor<6xf32>) outs(%e : tensor<4x6xf32>) dimensions = [0]
          %2 = linalg.transpose ins(%a : tensor<4x6xf32>) outs(%t : tensor<6x4xf32>)
                 permutation = [1, 0]
          return %0, %1, %2 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<6x4xf32>
        }""",
        (A, A[1], 2.5),
        (np.full((4, 6), 2.5, F), np.broadcast_to(A[1], (4, 6)), A.T),
    ),
    "select, div_unsigned": (
        """func.func @f(%c: tensor<4xi1>, %a: tensor<4xi32>, %b: tensor<4xi32>)
            -> (tensor<4xi32>, tensor<4xi32>) {
          %e = tensor.empty() : tensor<4xi32>
          %0 = linalg.select ins(%c, %a, %b : tensor<4xi1>, tensor<4xi32>, tensor<4xi32>)
                 outs(%e : tensor<4xi32>) -> tensor<4xi32>
          %1 = linalg.div_unsigned ins(%a, %b : tensor<4xi32>, tensor<4xi32>)
                 outs(%e : tensor<4xi32>) -> tensor<4xi32>
          return %0, %1 : tensor<4xi32>, tensor<4xi32>
        }""",
        (np.array([1, 0, 0, 1], bool), np.array([-1, 7, 8, 9], "i4"), np.array([2, 0, 3, 4], "i4")),
        (np.array([-1, 0, 3, 9]), np.array([2**31 - 1, 0, 2, 2])),
    ),
    "map, reduce of several": (
        """func.func @f(%a: tensor<?x6xf32>, %z: tensor<6xf32>, %k: tensor<6xi64>)
            -> (tensor<6xf32>, tensor<6xi64>) {
          %m:2 = linalg.generic {
              indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                               affine_map<(i, j) -> (j)>],
              iterator_types = ["reduction", "parallel"]}
            ins(%a : tensor<?x6xf32>) outs(%z, %k : tensor<6xf32>, tensor<6xi64>) {
          ^bb0(%x: f32, %best: f32, %at: i64):
            %i = linalg.index 0 : index
            %n = arith.index_cast %i : index to i64
            %more = arith.cmpf ogt, %x, %best : f32
            %0 = arith.select %more, %x, %best : f32
            %1 = arith.select %more, %n, %at : i64
            linalg.yield %0, %1 : f32, i64
          } -> (tensor<6xf32>, tensor<6xi64>)
          return %m#0, %m#1 : tensor<6xf32>, tensor<6xi64>
        }""",
        (A[[1, 3, 0]], np.full(6, -np.inf, F), np.zeros(6, np.int64)),
        (A[3], np.ones(6)),
    ),
    "contract and elementwise": (
        """func.func @f(%a: tensor<4x6xf32>, %b: tensor<?x6xf32>, %c: tensor<?x4xf32>,
                        %v: tensor<6xf32>) -> (tensor<?x4xf32>, tensor<4x6xf32>) {
          %0 = linalg.contract indexing_maps = [affine_map<(i, j, k) -> (i, k)>,
                 affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (j, i)>]
               ins(%a, %b : tensor<4x6xf32>, tensor<?x6xf32>) outs(%c : tensor<?x4xf32>)
               -> tensor<?x4xf32>
          %e = tensor.empty() : tensor<4x6xf32>
          %1 = linalg.elementwise kind=#linalg.elementwise_kind<mul> indexing_maps = [
                 affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                 affine_map<(i, j) -> (i, j)>]
               ins(%a, %v : tensor<4x6xf32>, tensor<6xf32>) outs(%e : tensor<4x6xf32>)
               -> tensor<4x6xf32>
          return %0, %1 : tensor<?x4xf32>, tensor<4x6xf32>
        }""",
        (A, A[:2], np.ones((2, 4), F), A[1]),
        (1 + A[:2] @ A.T, A * A[1]),
    ),
    "softmax": (
        """func.func @f(%a: tensor<3x3xf32>, %b: tensor<?x?xf32>, %n: index)
            -> (tensor<3x3xf32>, tensor<?x?xf32>) {
          %e = tensor.empty() : tensor<3x3xf32>
          %d = tensor.empty(%n, %n) : tensor<?x?xf32>
          %0 = linalg.softmax dimension(1) ins(%a : tensor<3x3xf32>) outs(%e : tensor<3x3xf32>)
                 -> tensor<3x3xf32>
          %1 = linalg.softmax dimension(0) ins(%b : tensor<?x?xf32>) outs(%d : tensor<?x?xf32>)
                 -> tensor<?x?xf32>
          return %0, %1 : tensor<3x3xf32>, tensor<?x?xf32>
        }""",
        (LARGE, LARGE, 3),
        (softmax(LARGE, 1), softmax(LARGE, 0)),
    ),
    "pack": (
        """func.func @f(%a: tensor<4x6xf32>, %b: tensor<?x6xf32>, %two: index) -> (
            tensor<2x2x2x3xf32>, tensor<2x2x3x4xf32>, tensor<2x2x2x3xf32>, tensor<?x2x2x3xf32>) {
          %z = arith.constant 9.0 : f32
          %e0 = tensor.empty() : tensor<2x2x2x3xf32>
          %e1 = tensor.empty() : tensor<2x2x3x4xf32>
          %e3 = tensor.empty(%two) : tensor<?x2x2x3xf32>
          %0 = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %e0
            : tensor<4x6xf32> -> tensor<2x2x2x3xf32>
          %1 = linalg.pack %a padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [3, 4]
            into %e1 : tensor<4x6xf32> -> tensor<2x2x3x4xf32>
          %2 = linalg.pack %a outer_dims_perm = [1, 0] inner_dims_pos = [0, 1]
            inner_tiles = [2, 3] into %e0 : tensor<4x6xf32> -> tensor<2x2x2x3xf32>
          %3 = linalg.pack %b padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [2, 3]
            into %e3 : tensor<?x6xf32> -> tensor<?x2x2x3xf32>
          return %0, %1, %2, %3 : tensor<2x2x2x3xf32>, tensor<2x2x3x4xf32>, tensor<2x2x2x3xf32>,
            tensor<?x2x2x3xf32>
        }""",
        (A, A[:3], 2),
        (
            packed(A, 2, 3, 0),
            packed(A, 3, 4, 9),
            packed(A, 2, 3, 0).transpose(1, 0, 2, 3),
            packed(A[:3], 2, 3, 9),
        ),
    ),
    "unpack": (
        """func.func @f(%a: tensor<2x2x3x4xf32>, %b: tensor<?x?x3x4xf32>, %n: index)
            -> (tensor<4x6xf32>, tensor<?x?xf32>) {
          %e = tensor.empty() : tensor<4x6xf32>
          %d = tensor.empty(%n, %n) : tensor<?x?xf32>
          %0 = linalg.unpack %a inner_dims_pos = [0, 1] inner_tiles = [3, 4] into %e
            : tensor<2x2x3x4xf32> -> tensor<4x6xf32>
          %1 = linalg.unpack %b inner_dims_pos = [0, 1] inner_tiles = [3, 4] into %d
            : tensor<?x?x3x4xf32> -> tensor<?x?xf32>
          return %0, %1 : tensor<4x6xf32>, tensor<?x?xf32>
        }""",
        (B, B, 5),
        tuple(B.transpose(0, 2, 1, 3).reshape(6, 8)[:m, :n] for m, n in ((4, 6), (5, 5))),
    ),
    "winograd": (
        """func.func @f(%i: tensor<1x6x6x5xf32>, %k: tensor<2x3x3x5xf32>, %o: tensor<1x4x4x2xf32>)
            -> tensor<1x4x4x2xf32> {
          %e0 = tensor.empty() : tensor<6x6x5x2xf32>
          %f = linalg.winograd_filter_transform fmr(F_4_3) ins(%k : tensor<2x3x3x5xf32>)
                 outs(%e0 : tensor<6x6x5x2xf32>) -> tensor<6x6x5x2xf32>
          %e1 = tensor.empty() : tensor<6x6x1x1x1x5xf32>
          %t = linalg.winograd_input_transform fmr(F_4_3) ins(%i : tensor<1x6x6x5xf32>)
                 outs(%e1 : tensor<6x6x1x1x1x5xf32>) -> tensor<6x6x1x1x1x5xf32>
          %cf = tensor.collapse_shape %f [[0, 1], [2], [3]]
            : tensor<6x6x5x2xf32> into tensor<36x5x2xf32>
          %ct = tensor.collapse_shape %t [[0, 1], [2, 3, 4], [5]]
            : tensor<6x6x1x1x1x5xf32> into tensor<36x1x5xf32>
          %z = arith.constant dense<0.0> : tensor<36x1x2xf32>
          %m = linalg.batch_matmul ins(%ct, %cf : tensor<36x1x5xf32>, tensor<36x5x2xf32>)
                 outs(%z : tensor<36x1x2xf32>) -> tensor<36x1x2xf32>
          %x = tensor.expand_shape %m [[0, 1], [2, 3, 4], [5]] output_shape [6, 6, 1, 1, 1, 2]
            : tensor<36x1x2xf32> into tensor<6x6x1x1x1x2xf32>
          %r = linalg.winograd_output_transform fmr(F_4_3) ins(%x : tensor<6x6x1x1x1x2xf32>)
                 outs(%o : tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
          return %r : tensor<1x4x4x2xf32>
        }""",
        (IMAGE, FILTER, np.zeros((1, 4, 4, 2), F)),
        np.stack(
            [
                sum(
                    IMAGE[0, p : p + 4, q : q + 4] @ FILTER[f, p, q]
                    for p in range(3)
                    for q in range(3)
                )
                for f in range(2)
            ],
            axis=-1,
        )[None],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_form(case: str) -> None:
    text, arguments, expected = CASES[case]
    actual = run(text, *arguments)
    if not isinstance(expected, tuple):
        actual, expected = (actual,), (expected,)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 if "winograd" in case else 0)


def test_random_numbers_are_the_same_wherever_they_are_made() -> None:
    text = """
    func.func @f(%lo: f64, %hi: f64, %seed: i32) -> tensor<40x50xf32> {
      %e = tensor.empty() : tensor<40x50xf32>
      %r = linalg.fill_rng_2d ins(%lo, %hi, %seed : f64, f64, i32) outs(%e : tensor<40x50xf32>)
             -> tensor<40x50xf32>
      return %r : tensor<40x50xf32>
    }"""
    made = run(text, -1.0, 3.0, 7)
    i, j = np.meshgrid(np.arange(40), np.arange(50), indexing="ij")
    state = np.int32(7)

    def step(value: Any) -> Any:
        return ((value.astype(np.int64) * 1103515245 + 12345) & 0xFFFFFFFF).astype("u4").view("i4")

    # Upstream's definition: two steps of a linear congruential generator, seeded by the position.
    state = step((step((i + state).astype("i4")).astype(np.int64) + j).astype("u4").view("i4"))
    expected = state.astype(np.float64) * (4.0 * 2.3283063999999999e-10) + 1.0
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)
