"""Tensors that are made of one scalar are no memory."""

from __future__ import annotations

from typing import Any

import numpy as np

import linalg_ext as lx
from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.fusion import read_scalars_as_operands as file

AROUND = """
func.func @f(%x: tensor<9xf32>, %s: f32, %e: tensor<9xf32>) -> tensor<9xf32> {
  {}
  return %r : tensor<9xf32>
}"""


def test_a_tensor_of_one_element_along_an_axis_stays() -> None:
    before, _ = examples(file)[0]
    long = before.replace("tensor<f32>", "tensor<1xf32>").replace("(i) -> ()", "(i) -> (0)")
    module = Module.parse(AROUND.replace("{}", long, 1))
    assert not file.read_scalars_as_operands(module)


def test_others_read_it_still() -> None:
    before, _ = examples(file)[0]
    cast = "\n%d = tensor.cast %t : tensor<f32> to tensor<f32>\n"
    module = Module.parse(AROUND.replace("{}", before + cast, 1))
    assert file.read_scalars_as_operands(module)
    assert "from_elements" in str(module)


def test_a_mean_of_open_length_is_one_pass_over_rows() -> None:
    def normalized(x: Any) -> Any:
        d = x - np.mean(x, axis=-1, keepdims=True)
        return d / np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + 1e-5)

    x = np.random.default_rng(1).random((5, 37), np.float32)
    opened = lx.jit(normalized, signature=[lx.ShapeDtype((lx.Dim("m"), lx.Dim("k")), "f32")])
    np.testing.assert_allclose(opened(x), normalized(x), rtol=1e-4, atol=1e-6)
    loops = opened.lower(x).compile().as_text("loops")
    assert "memref<i64>" not in loops
    assert sum(line.startswith("    scf.for") for line in loops.splitlines()) == 1
