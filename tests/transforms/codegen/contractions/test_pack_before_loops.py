"""Operands that loops leave alone are packed before them, and no number changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.contractions import pack_before_loops as file

AROUND = """
func.func @f(%a: tensor<4096x320xf32>, %w: tensor<320x640xf32>, %c: tensor<4096x640xf32>)
    -> tensor<4096x640xf32> {{
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c4096 = arith.constant 4096 : index
  {body}
  return %r : tensor<4096x640xf32>
}}"""


def grouped(function: Any, tiling: tuple[int, ...], *arrays: Any) -> Module:
    """A traced function as one group with a tiling."""
    from linalg_ext.transforms.grouping import Insert, Plan, read_graph

    module = lx.jit(function).lower(*arrays).module
    nodes = read_graph(module).nodes
    computing = [n.number for n in nodes if n.op.startswith(("linalg.", "tensor.e", "tensor.c"))]
    kept = [number for number in computing if nodes[number].op != "tensor.empty"]
    Plan([Insert(tuple(kept), {"tiling": tiling})]).realize(module)
    return module


def product(x: Any, w: Any) -> Any:
    return np.exp(x @ w * 0.01).sum(axis=-1)


def with_epilogue(x: Any, w: Any, b: Any) -> Any:
    y = np.maximum(x @ w + b, 0.0)
    return y / (y.sum(axis=-1, keepdims=True) + 1.0)


def transposed(x: Any, w: Any) -> Any:
    return np.maximum(x @ w.T, 0.0) @ w


def twice(x: Any, w: Any) -> Any:
    y = x @ w
    return (y - y.max(axis=-1, keepdims=True)) @ w


CASES = [
    (product, [(512, 64), (64, 512)], 1),
    (product, [(512, 33), (33, 192)], 1),
    (with_epilogue, [(512, 64), (64, 512), (512,)], 1),
    (transposed, [(512, 64), (512, 64)], 1),
    (twice, [(512, 256), (256, 256)], 2),
]


@pytest.mark.parametrize("target", [None, "avx2"])
@pytest.mark.parametrize("tiling", [(128,), (100,), (64, 64)])
@pytest.mark.parametrize(("function", "shapes", "_"), CASES)
def test_numbers_stay(
    function: Any,
    shapes: list[tuple[int, ...]],
    _: int,
    tiling: tuple[int, ...],
    target: str | None,
) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape, np.float32) for shape in shapes]
    wide = [array.astype(np.float64) for array in arrays]
    if target is None:
        kernel = lx.compile(grouped(function, tiling[: len(function(*arrays).shape)], *arrays))
        scale = np.abs(function(*wide)).max()
        np.testing.assert_allclose(kernel(*arrays), function(*wide), atol=1e-5 * scale, rtol=1e-4)
        return
    with lx.target.using(target):
        module = grouped(function, tiling[: len(function(*arrays).shape)], *arrays)
        expected = lx.compile(lx.jit(function).lower(*arrays).module)(*arrays)
        scale = float(np.abs(expected).max())
        found = lx.compile(module)(*arrays)
        np.testing.assert_allclose(found, expected, atol=1e-5 * scale, rtol=1e-4)


@pytest.mark.parametrize(("function", "shapes", "changed"), CASES)
def test_tiles_of_rows_pack_once(
    function: Any, shapes: list[tuple[int, ...]], changed: int
) -> None:
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    with lx.target.using("avx512"):
        kernel = lx.compile(grouped(function, (128,), *arrays))
    assert "B rows" not in str(kernel.explain())
    assert str(kernel.explain()).count("columns  ") >= changed


def test_what_changes_in_the_loop_stays() -> None:
    before, _ = examples(file)[0]
    sliced = "ins(%x, %v : tensor<128x320xf32>, tensor<320x640xf32>)"
    text = before.replace(
        "%p = linalg.matmul",
        "%v = tensor.extract_slice %b[%i, 0] [320, 640] [1, 1]"
        " : tensor<9000x640xf32> to tensor<320x640xf32>\n      %p = linalg.matmul",
    ).replace("ins(%x, %w : tensor<128x320xf32>, tensor<320x640xf32>)", sliced)
    around = AROUND.replace("%w: tensor<320x640xf32>", "%b: tensor<9000x640xf32>")
    module = Module.parse(around.format(body=text), trusted=True)
    report = lx.transforms.pack_before_loops(module)
    assert not report
    assert "changes in the loop" in str(report)
