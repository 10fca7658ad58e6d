"""The best element of an array whose axes were taken as one, and where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx

SHAPES = [(1, 40), (40, 1), (5, 3), (7, 33), (70, 100), (3, 5, 70), (2, 3, 4, 50)]
FUNCTIONS = [np.argmax, np.argmin]


def odd_arrays(dtype: str, shape: tuple[int, ...]) -> list[Any]:
    """Arrays with many equal elements, with NaNs, of one element only, and backwards in memory."""
    few = np.random.default_rng(0).integers(0, 50, shape).astype(dtype)
    if few.dtype.kind != "f":
        return [few]
    with_nan = few.copy()
    with_nan.flat[few.size // 2] = with_nan.flat[-1] = np.nan
    return [few, with_nan, np.full_like(few, np.inf), np.full_like(few, -np.inf), few[..., ::-1]]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "u1"])
def test_the_best_of_all(dtype: str, function: Any) -> None:
    best = lx.jit(lambda x: function(x))
    for shape in SHAPES:
        for x in odd_arrays(dtype, shape):
            np.testing.assert_array_equal(best(x), function(x))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_best_of_some_axes(function: Any) -> None:
    def turned(x: Any) -> Any:
        return function(x.transpose(1, 0, 2).reshape(x.shape[1], -1), axis=1)

    def straight(x: Any) -> Any:
        return function(x.reshape(x.shape[0], -1), axis=1)

    for x in odd_arrays("f4", (3, 5, 70)):
        for way in (turned, straight):
            np.testing.assert_array_equal(lx.jit(way)(x), way(x))


def test_the_best_of_all_is_found_on_vectors() -> None:
    x = np.zeros((64, 96), np.float32)
    kernel = lx.jit(lambda x: np.argmax(x)).lower(x).compile()
    loops = kernel.as_text("loops")
    assert "vector.load" in loops
    assert "affine.apply" not in loops


def test_a_position_that_is_no_sum_stays() -> None:
    text = """
    func.func @f(%a: memref<4x32xf32>, %v: memref<f32>, %p: memref<i64>) {
      linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>,
                                       affine_map<(i, j) -> ()>],
                      iterator_types = ["reduction", "reduction"]}
          ins(%a : memref<4x32xf32>) outs(%v, %p : memref<f32>, memref<i64>) {
      ^bb0(%x: f32, %best: f32, %at: i64):
        %take = arith.cmpf ogt, %x, %best : f32
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %k = affine.apply affine_map<(i, j) -> (i * 8 + j floordiv 4)>(%i, %j)
        %n = arith.index_cast %k : index to i64
        %value = arith.select %take, %x, %best : f32
        %place = arith.select %take, %n, %at : i64
        linalg.yield %value, %place : f32, i64
      }
      return
    }"""
    module = lx.parse(text)
    module.run("linalg-ext-vectorize-loops")
    assert "vector.load" not in str(module)
    assert "affine.apply" in str(module)
