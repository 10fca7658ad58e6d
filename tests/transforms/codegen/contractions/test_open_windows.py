"""Convolutions whose tiles have open sizes: their results lie in pieces of unknown lengths."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx

CONVOLUTION = """
func.func @main(%x: tensor<2x4x20x{width}xf32>, %w: tensor<7x4x3x2xf32>,
                %c: tensor<2x7x18x{less}xf32>) -> tensor<2x7x18x{less}xf32> {{
  %r = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<2x4x20x{width}xf32>, tensor<7x4x3x2xf32>)
    outs(%c : tensor<2x7x18x{less}xf32>) -> tensor<2x7x18x{less}xf32>
  return %r : tensor<2x7x18x{less}xf32>
}}"""


@pytest.mark.parametrize("columns", [1, 4, 5, 21])
@pytest.mark.parametrize("sizes", [[3, 3, 3], [1, 4, 5, 2], [0, 0, 7, 0, 3]])
def test_pieces_of_open_lengths_are_written_in_one_loop(columns: int, sizes: list[int]) -> None:
    text = CONVOLUTION.format(width=columns + 1, less=columns)
    module = lx.parse(text, trusted=True)
    lx.Schedule(module).match("conv_2d_nchw_fchw").tile(sizes)
    rng = np.random.default_rng(0)
    shapes = [(2, 4, 20, columns + 1), (7, 4, 3, 2), (2, 7, 18, columns)]
    x, w, c = (rng.standard_normal(shape, np.float32) for shape in shapes)
    kernel = lx.compile(module, entry="main")
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 2), axis=(2, 3))
    wanted = c + np.einsum("nchwij,fcij->nfhw", windows, w, dtype=np.float64)
    np.testing.assert_allclose(kernel(x, w, c.copy()), wanted, rtol=1e-4, atol=1e-4)
    # A nest for each piece would be a hundred of them, which LLVM takes minutes for.
    assert kernel.as_text("loops").count("scf.for") < 60
