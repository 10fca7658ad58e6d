"""Ops on windows of what is computed: named, so that nothing is computed again for each window."""

from __future__ import annotations

from typing import Any

import numpy as np

import linalg_ext as lx
from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.convolutions import keep_windows as file
from linalg_ext.transforms.codegen.convolutions.keep_windows import keep_windows
from memrefs import integers
from window_kernels import Windows

AROUND = """
func.func @f(%a: tensor<2x9x8xf32>, %b: tensor<3x8x16xf32>, %c: tensor<2x7x16xf32>)
    -> tensor<2x7x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x9x8xf32>
  {}
  return %s : tensor<2x7x16xf32>
}"""


def kept(text: str) -> tuple[str, Any]:
    module = Module.parse(text, trusted=True)
    report = keep_windows(module)
    return str(module.ir), report


def test_an_input_that_is_not_computed_changes_nothing() -> None:
    before, _ = examples(file)[0]
    text = AROUND.replace("{}", before.replace("ins(%r, %b", "ins(%a, %b"))
    after, report = kept(text)
    assert not report
    assert "linalg.conv" not in after


def test_what_has_no_name_stays() -> None:
    before, _ = examples(file)[0]
    text = AROUND.replace("{}", before.replace("arith.addf %z, %p", "arith.maximumf %z, %p"))
    after, report = kept(text)
    assert not report
    assert "it has no name" in repr(report)
    assert after.count("linalg.generic") == 2


def test_layers_in_a_row() -> None:
    """Each activation is done once, with the convolution before it."""
    windows = Windows("nhwc", "hwcf", "nhwf")
    x, first, second = integers(1, 12, 13, 5), integers(3, 3, 5, 7), integers(3, 3, 7, 19)
    conv, relu = lx.ops.conv_2d_nhwc_hwcf, lx.ops.relu
    kernel = lx.jit(lambda x, a, b: relu(conv(relu(conv(x, a)), b)))
    between = windows.reference(x, first, np.zeros((1, 10, 11, 7), np.float32))
    expected = windows.reference(
        np.maximum(between, 0), second, np.zeros((1, 8, 9, 19), np.float32)
    )
    compiled = kernel.lower(x, first, second).compile()
    text = compiled.as_text("loops")
    assert text.count("call @linalg_ext_windows") == 2
    assert text.count("memref.alloc(") == 1
    np.testing.assert_array_equal(compiled(x, first, second), np.maximum(expected, 0))


def test_functions_of_what_a_pooling_without_a_name_reads() -> None:
    x, shape = np.linspace(-1, 1, 7 * 9 * 20, dtype=np.float32), np.empty((2, 2), np.float32)
    x = x.reshape(1, 7, 9, 20)
    kernel = lx.jit(lambda x, k: lx.ops.pooling_nhwc_average(lx.ops.exp(x), k))
    views = np.lib.stride_tricks.sliding_window_view(np.exp(x), (2, 2), axis=(1, 2))
    np.testing.assert_allclose(kernel(x, shape), views.mean((-2, -1)), rtol=1e-6)
