"""Slices of results, computed alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.module import Module
from linalg_ext.transforms.legalization import slice_producers as file
from linalg_ext.transforms.legalization.slice_producers import slice_producers

Array = np.ndarray[Any, Any]

ROW = np.arange(100, dtype=np.float32) / 7
MATRIX = np.arange(600, dtype=np.float32).reshape(20, 30) / 11
OTHER = np.arange(1200, dtype=np.float32).reshape(30, 40) / 13

ALONE: dict[str, tuple[Callable[..., Any], list[Array]]] = {
    "the first": (lambda x: np.exp(-x)[:5], [ROW]),
    "a scalar": (lambda x: np.exp(-x)[17], [ROW]),
    "reversed": (lambda x: np.exp(-x)[::-1][10:15], [ROW]),
    "an axis dropped": (lambda x: np.tanh(x)[:, 3], [MATRIX]),
    "both axes": (lambda x: np.tanh(x)[4:6, -2:], [MATRIX]),
    "a row that is broadcast": (lambda x, y: (x + y)[3], [MATRIX, MATRIX[0]]),
    "a transpose": (lambda x: np.tanh(x.T)[2:4], [MATRIX]),
    "a chain": (lambda x: np.sqrt(np.exp(-np.abs(x * 2)))[7:9] + 1, [ROW]),
    "several": (lambda x: (y := np.exp(-x))[:3] + y[-3:], [ROW]),
    "positions": (lambda x: np.where(x > 3, x, np.arange(100, dtype=np.float32))[40:44], [ROW]),
    "the last row of a product": (lambda x, y: (x @ y)[-1], [MATRIX, OTHER]),
    "a column of a product": (lambda x, y: (x @ y)[:, 2], [MATRIX, OTHER]),
    "sums of some rows": (lambda x: x.sum(1)[2:5], [MATRIX]),
    "rows of a softmax": (
        lambda x: ((e := np.exp(x - x.max(1, keepdims=True))) / e.sum(1, keepdims=True))[2],
        [MATRIX],
    ),
}


@pytest.mark.parametrize("name", ALONE)
def test_a_slice_is_computed_alone_and_right(name: str) -> None:
    function, arrays = ALONE[name]
    lowered = lx.jit(function).lower(*arrays)
    result = lowered.compile()(*arrays)
    np.testing.assert_allclose(result, function(*arrays), rtol=1e-5)
    module = Module.parse(lowered.module.to_text())
    assert slice_producers(module).changed


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (y := np.exp(-x))[:3] * y.sum(),  # all of it is read elsewhere
        lambda x: np.diff(np.exp(-x)),  # two slices, which are twice the whole
        lambda x: np.exp(-x)[::9],  # of steps
    ],
)
def test_a_result_of_which_more_is_read_is_computed_once(function: Callable[[Any], Any]) -> None:
    lowered = lx.jit(function).lower(ROW)
    np.testing.assert_allclose(lowered.compile()(ROW), function(ROW), rtol=1e-5)
    module = Module.parse(lowered.module.to_text())
    slice_producers(module)
    assert "tensor<100xf32>) outs" in module.to_text()


def test_a_check_in_a_body_is_made_for_every_element() -> None:
    """Only a place that no slice reads is out of bounds."""
    places = np.array([1, 2, 3, 500])
    taken = lx.jit(lambda x, places: x[places][:2] + 1)
    with pytest.raises(lx.errors.ExecutionError):
        taken(ROW, places)
    np.testing.assert_array_equal(taken(ROW, places % 100), ROW[places % 100][:2] + 1)


def test_positions_and_signs_and_constants_of_indices() -> None:
    text = """
    func.func @f(%a: tensor<30x20xf32>) -> tensor<4xf32> {
      %o = tensor.empty() : tensor<10x20xf32>
      %e = linalg.generic {
          indexing_maps = [affine_map<(i, j) -> (-i + 25, j)>, affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<30x20xf32>) outs(%o : tensor<10x20xf32>) attrs = {of.a.user = 7 : i64} {
      ^bb0(%x: f32, %old: f32):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %k = arith.addi %i, %j : index
        %n = arith.index_cast %k : index to i32
        %f = arith.sitofp %n : i32 to f32
        %y = arith.addf %x, %f : f32
        linalg.yield %y : f32
      } -> tensor<10x20xf32>
      %r = tensor.extract_slice %e[6, 5] [1, 4] [1, 1] : tensor<10x20xf32> to tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    module = Module.parse(text)
    assert slice_producers(module).changed
    assert "of.a.user = 7" in module.to_text()
    a = np.random.default_rng(0).random((30, 20), np.float32)
    expected = a[25 - 6, 5:9] + (6 + np.arange(5, 9, dtype=np.float32))
    np.testing.assert_array_equal(lx.compile(module)(a), expected)
    np.testing.assert_array_equal(lx.compile(text)(a), expected)


def test_windows_stay_whole() -> None:
    text = """
    func.func @f(%a: tensor<21xf32>, %k: tensor<3xf32>) -> tensor<2xf32> {
      %o = tensor.empty() : tensor<10xf32>
      %zero = arith.constant 0.0 : f32
      %z = linalg.fill ins(%zero : f32) outs(%o : tensor<10xf32>) -> tensor<10xf32>
      %e = linalg.generic {
          indexing_maps = [affine_map<(i, k) -> (i * 2 + k)>, affine_map<(i, k) -> (k)>,
                           affine_map<(i, k) -> (i)>],
          iterator_types = ["parallel", "reduction"]}
        ins(%a, %k : tensor<21xf32>, tensor<3xf32>) outs(%z : tensor<10xf32>) {
      ^bb0(%x: f32, %y: f32, %old: f32):
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %old, %p : f32
        linalg.yield %s : f32
      } -> tensor<10xf32>
      %r = tensor.extract_slice %e[6] [2] [1] : tensor<10xf32> to tensor<2xf32>
      return %r : tensor<2xf32>
    }"""
    assert not slice_producers(Module.parse(text)).changed
    a, k = np.arange(21, dtype=np.float32), np.array([1, 2, 3], np.float32)
    expected = [a[12:15] @ k, a[14:17] @ k]
    np.testing.assert_array_equal(lx.compile(text)(a, k), expected)


def test_a_result_of_many_slices_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All its uses are looked at: for each slice anew that would be the square of their number."""
    asked: list[Any] = []
    reads = file._reads

    def counted(source: Any) -> Any:
        asked.append(source)
        return reads(source)

    monkeypatch.setattr(file, "_reads", counted)

    def parts(x: Any) -> list[Any]:
        y = np.exp(-x)
        return [y[at : at + 1] * 2 for at in range(100)]

    module = Module.parse(lx.jit(parts).lower(ROW).module.to_text())
    slice_producers(module)
    assert len(asked) == 1
    for found, expected in zip(lx.jit(parts)(ROW), parts(ROW), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
