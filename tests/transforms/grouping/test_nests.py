"""The nests that a cost is counted for are those that code generation makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from costed_modules import gelu, model, module_of, read, softmax, together
from exported_modules import module_params
from linalg_ext.transforms.grouping import ROOT, State, read_graph
from linalg_ext.transforms.grouping._graph import CONTRACTION, LOOPS, WINDOW
from linalg_ext.transforms.grouping._nests import Members, Nest, nests_of
from linalg_ext.transforms.grouping._reading import _bytes as read_bytes


def _layer_norm(x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)


def _attention(q: Any, k: Any, v: Any) -> Any:
    return softmax((q @ k.T) * 0.125) @ v


SQUARE = (64, 64)
FUNCTIONS: list[tuple[Callable[..., Any], int]] = [
    (gelu, 1),
    (softmax, 1),
    (_layer_norm, 1),
    (_attention, 3),
    (lambda x, w, b: gelu(_layer_norm(x) @ w + b), 3),
    (lambda x, w: np.tanh(x @ w) * 2.0, 2),
    (lambda x, w: softmax(x @ w), 2),
    (lambda x, w: (softmax(x) * 2.0) @ w, 2),
]


def _nests(state: State) -> list[Nest]:
    return nests_of(Members(state, ROOT, tuple(state.graph.returned), {}))


@pytest.mark.parametrize(("function", "arguments"), FUNCTIONS)
def test_as_many_as_code_generation_decides_on(
    function: Callable[..., Any], arguments: int
) -> None:
    module = module_of(function, *[SQUARE] * arguments)
    found = [nest for nest in _nests(State(read_graph(module))) if not nest.shares_rows]
    with lx.options(threads=1):
        assert len(found) == len(lx.compile(module).explain().decisions)


def test_what_a_product_waits_for_is_no_part_of_it() -> None:
    state = State(read_graph(module_of(lambda x, w: np.exp(x) @ w, SQUARE, SQUARE)))
    exponentials, product = _nests(state)
    assert state.node(exponentials.main).work.kind == LOOPS
    assert state.node(product.main).work.kind == CONTRACTION
    assert product.ops == [product.main]


def test_a_value_that_is_broadcast_afterwards_is_computed_for_each_element() -> None:
    def scaled(x: Any, row: Any) -> Any:
        return x * np.exp(row)

    state = State(read_graph(module_of(scaled, (50, 60), (60,))))
    (nest,) = _nests(state)
    assert max(nest.rounds.values()) == 50


def test_a_window_is_told_from_a_reduction() -> None:
    image, kernel, result = "tensor<1x3x9x9xf32>", "tensor<4x3x3x3xf32>", "tensor<1x4x7x7xf32>"
    state = read(f"""
    func.func @f(%x: {image}, %k: {kernel}, %e: {result}) -> {result} {{
      %r = linalg.conv_2d_nchw_fchw ins(%x, %k : {image}, {kernel}) outs(%e : {result}) -> {result}
      return %r : {result}
    }}""")
    work = state.node(0).work
    assert work.kind == WINDOW
    assert dict(work.operations) == {"multiply_add": 1.0}
    assert work.iterations == 4 * 7 * 7 * 27


@pytest.mark.parametrize("path", module_params("l[12]_0[1-5]*.mlir"))
def test_every_module_has_a_cost(path: Path) -> None:
    state = State(read_graph(lx.parse(path.read_text(), trusted=True)))
    costs = model()
    apart = costs.of_state(state).seconds
    assert 0 < apart < 1
    try:
        together(state)
    except lx.errors.GroupingError:
        return  # sizes that are computed between
    assert 0 < costs.of_state(state).seconds <= apart


@pytest.mark.parametrize(
    ("type_", "bytes_"),
    [
        ("tensor<4x5xf32>", 80),
        ("tensor<4x5xindex>", 160),
        ("tensor<4xcomplex<f32>>", 32),
        ("tensor<f64>", 8),
        ("tensor<3xi1>", 3),
        ("tensor<?x2xbf16>", 512),
        ("tensor<4xf32, 3 : i64>", 16),
    ],
)
def test_bytes_of_a_tensor(type_: str, bytes_: int) -> None:
    assert read_bytes(type_)[1] == bytes_


def test_what_is_no_tensor_is_no_work() -> None:
    state = read("""
    func.func @f(%x: memref<4xf32>, %y: memref<4xf32>, %u: tensor<*xf32>) -> memref<4xf32> {
      linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
      %c = tensor.cast %u : tensor<*xf32> to tensor<?xf32>
      %v = tensor.cast %c : tensor<?xf32> to tensor<*xf32>
      return %y : memref<4xf32>
    }""")
    costs = model()
    assert costs.of_state(state).seconds == costs.figures.call


def test_sizes_of_loops() -> None:
    type_ = "tensor<0x?x3xf32>"
    state = read(f"""
    func.func @f(%x: {type_}, %e: {type_}) -> {type_} {{
      %r = linalg.exp ins(%x : {type_}) outs(%e : {type_}) -> {type_}
      return %r : {type_}
    }}""")
    assert state.node(0).work.loops == (0, 128, 3)
