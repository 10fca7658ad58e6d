"""tm_tensor.sort: stable, of rows of any length, along any dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels import kernel

TEXT = """
func.func @f(%x: {t}xf32>, %i: {t}xi64>) -> ({t}xf32>, {t}xi64>) {{
  %r:2 = tm_tensor.sort dimension({axis}) outs(%x, %i : {t}xf32>, {t}xi64>) {{
  ^bb0(%a: f32, %b: f32, %ia: i64, %ib: i64):
    %s = arith.cmpf {order}, %a, %b : f32
    tm_tensor.yield %s : i1
  }} -> {t}xf32>, {t}xi64>
  return %r#0, %r#1 : {t}xf32>, {t}xi64>
}}"""


def places(shape: tuple[int, ...], axis: int) -> Any:
    return np.indices(shape, np.int64)[axis]


def check(function: Any, x: Any, axis: int, descending: bool = False) -> None:
    values, indices = function(x, places(x.shape, axis))
    order = np.argsort(-x if descending else x, axis, kind="stable")
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_of_any_length(axis: int) -> None:
    function = kernel(TEXT.format(t="tensor<?x?", axis=axis, order="ole"))
    rng = np.random.default_rng(0)
    for count in (0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 100):
        shape = (count, 3) if axis == 0 else (3, count)
        # Few values, so that many are equal: their order must stay.
        check(function, rng.integers(0, 9, shape).astype(np.float32), axis)


def test_the_other_way_round() -> None:
    function = kernel(TEXT.format(t="tensor<2x9x3", axis=1, order="oge"))
    rng = np.random.default_rng(0)
    check(function, rng.integers(0, 4, (2, 9, 3)).astype(np.float32), 1, descending=True)


@pytest.mark.parametrize(
    ("order", "expected"),
    [("ole", [5, 2, 3, 0, 1, 4]), ("oge", [1, 4, 0, 3, 2, 5])],
)
def test_what_is_no_number_is_larger_than_all(order: str, expected: list[int]) -> None:
    function = kernel(TEXT.format(t="tensor<?x?", axis=1, order=order))
    x = np.array([[3, np.nan, 1, 2, np.nan, 0]], np.float32)
    values, indices = function(x, places(x.shape, 1))
    np.testing.assert_array_equal(indices, [expected])
    np.testing.assert_array_equal(values, x[:, expected])
