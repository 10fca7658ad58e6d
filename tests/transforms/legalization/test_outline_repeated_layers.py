"""Layers that are alike are one function until ops are fused; others that differ are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.module import Module
from linalg_ext.transforms.codegen import outline_repeated_parts as parts
from linalg_ext.transforms.legalization import outline_repeated_layers as file

LAYER = """
  %y{n} = linalg.matmul ins(%{a}, %{b} : tensor<8x8xf32>, tensor<8x8xf32>)
    outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %c{n} = arith.constant dense<2.0> : tensor<8x8xf32>
  %d{n} = arith.subf %y{n}, %c{n} : tensor<8x8xf32>
  %x{n} = linalg.exp ins(%d{n} : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
"""


def _two_layers(old: str = "", new: str = "", second: str = LAYER) -> Module:
    last = second.format(n=1, a="x0", b="v").replace(old, new)
    return Module.parse(
        f"""
        func.func @f(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>)
            -> tensor<8x8xf32> {{
          %e = tensor.empty() : tensor<8x8xf32>
          {LAYER.format(n=0, a="x", b="w")} {last}
          return %x1 : tensor<8x8xf32>
        }}""",
        trusted=True,
    )


def test_two_layers_are_one_function() -> None:
    assert file.outline_repeated_layers(_two_layers(), least=2).changed.total() == 2


@pytest.mark.parametrize(
    ("difference", "old", "new"),
    [
        ("a constant", "dense<2.0>", "dense<3.0>"),
        ("an attribute", "arith.subf %y1, %c1", "arith.subf %y1, %c1 fastmath<nnan>"),
        ("an op", "linalg.exp", "linalg.log"),
        ("the order of operands", "arith.subf %y1, %c1", "arith.subf %c1, %y1"),
        ("equal operands", "ins(%x0, %v", "ins(%x0, %x0"),
        ("the value that is read", "arith.subf %y1, %c1", "arith.subf %c1, %c1"),
    ],
)
def test_layers_stay_apart_that_differ_in(difference: str, old: str, new: str) -> None:
    assert not file.outline_repeated_layers(_two_layers(old, new), least=2), difference


def test_layers_stay_apart_that_differ_in_a_type() -> None:
    narrow = """
      %t = arith.truncf %x0 : tensor<8x8xf32> to tensor<8x8xf16>
      %u = arith.truncf %v : tensor<8x8xf32> to tensor<8x8xf16>
      %s = linalg.matmul ins(%t, %u : tensor<8x8xf16>, tensor<8x8xf16>)
        outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
      %c1 = arith.constant dense<2.0> : tensor<8x8xf32>
      %d1 = arith.subf %s, %c1 : tensor<8x8xf32>
      %x1 = linalg.exp ins(%d1 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
    """.replace("{", "{{").replace("}", "}}")
    assert not file.outline_repeated_layers(_two_layers(second=narrow), least=2)


def test_a_layer_does_not_end_where_its_last_op_is_fused_into_the_next() -> None:
    """The only reader of each value is element-wise."""
    chain = "\n".join(
        f"""%y{n} = linalg.exp ins(%{"x" if not n else f"y{n - 1}"} : tensor<8xf32>)
          outs(%e : tensor<8xf32>) -> tensor<8xf32>"""
        for n in range(6)
    )
    module = Module.parse(
        f"""
        func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {{
          %e = tensor.empty() : tensor<8xf32>
          {chain}
          return %y5 : tensor<8xf32>
        }}""",
        trusted=True,
    )
    assert not file.outline_repeated_layers(module, least=1)


def _model(seed: int) -> tuple[Any, list[Any]]:
    """A random model of layers, some of which differ in a number."""
    rng = np.random.default_rng(seed)
    count, size = int(rng.integers(2, 6)), int(rng.choice([8, 24]))
    steps = rng.integers(0, 5, 4)
    odd = int(rng.integers(0, 2 * count))

    def model(x: Any, *weights: Any) -> Any:
        for number, weight in enumerate(weights):
            y = x @ weight
            for step in steps:
                if step == 0:
                    y = np.tanh(y)
                elif step == 1:
                    y = y - np.mean(y, axis=1, keepdims=True)
                elif step == 2:
                    y = np.maximum(y, 0.1) * (0.5 if number == odd else 0.25)
                elif step == 3:
                    y = np.swapaxes(y, 0, 1)
                else:
                    y = y / (1 + np.max(np.abs(y), axis=1, keepdims=True))
            x = x + y
        return x

    shapes = [(size, size)] * (count + 1)
    return model, [rng.standard_normal(shape, np.float32) for shape in shapes]


@pytest.mark.parametrize("seed", range(12))
def test_models_give_the_numbers_that_they_give_without_the_search(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, arrays = _model(seed)
    found = lx.jit(model)(*arrays)
    for module in (file, parts):
        monkeypatch.setattr(module, "repeated_runs", lambda *_, **__: ())
    np.testing.assert_allclose(found, lx.jit(model)(*arrays), rtol=1e-6, atol=1e-6)
