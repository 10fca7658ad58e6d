"""Results that share a state are all right, whichever is put into its place first."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from kernels import run
from linalg_ext.transforms.bufferization import prepare_destinations as file

A = np.arange(16, dtype=np.float32).reshape(4, 4)
V = np.arange(1, 5, dtype=np.float32)

AROUND = (
    "func.func @f(%a: tensor<4x4xf32>, %v: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
    "%z = arith.constant 0.0 : f32\n{}\nreturn %x, %y : tensor<4xf32>, tensor<4xf32>\n}"
)


def test_results_of_one_fill() -> None:
    before, _ = examples(file)[2]
    x, y = run(AROUND.replace("{}", before), A, V)
    np.testing.assert_array_equal(x, A @ V)
    np.testing.assert_array_equal(y, V @ A)


@pytest.mark.parametrize("order", ["%x, %y", "%y, %x"])
def test_a_result_and_what_it_is_made_from(order: str) -> None:
    before, _ = examples(file)[2]
    head, _, tail = AROUND.replace("{}", before).rpartition("outs(%f :")
    text = f"{head}outs(%x :{tail}".replace("return %x, %y", f"return {order}")
    x, y = run(text, A, V)
    first, second = A @ V, A @ V + V @ A
    expected = (first, second) if order == "%x, %y" else (second, first)
    np.testing.assert_array_equal((x, y), expected)


def test_results_of_one_empty_tensor_are_not_copied() -> None:
    kernel = lx.jit(lambda a, b: (a + b, a * b)).lower(A, A).compile()
    assert "memref.copy" not in kernel.as_text("buffers")
    np.testing.assert_array_equal(kernel(A, A), (A + A, A * A))


def test_a_result_that_is_given_twice() -> None:
    np.testing.assert_array_equal(lx.jit(lambda a: (a * 2, a * 2))(A), (A * 2, A * 2))
