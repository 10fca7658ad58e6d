"""Results that end in a reshape are computed where they are wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.transforms.bufferization import prepare_destinations as file


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.exp(a).reshape(-1),
        lambda a: (a + 1).reshape(4, 3, 10),
        lambda a: (a * 2).reshape(-1).reshape(5, 24),
        lambda a: np.tile(a, (3, 2)),
        lambda a: np.repeat(a, 2, axis=0),
    ],
)
def test_nothing_is_copied(function: Any) -> None:
    a = np.arange(120, dtype=np.float32).reshape(12, 10) / 50
    kernel = lx.jit(function).lower(a).compile()
    assert "alloc" not in kernel.as_text("buffers")
    np.testing.assert_allclose(kernel(a), function(a), rtol=1e-6)
    out = np.full_like(kernel(a), -1)
    assert kernel(a, out=out) is out
    np.testing.assert_allclose(out, function(a), rtol=1e-6)


def test_two_results_of_one_value() -> None:
    @lx.jit
    def both(a: Any) -> Any:
        x = np.exp(a)
        return x.reshape(-1), x, x.T.reshape(-1)

    a = np.arange(12, dtype=np.float32).reshape(3, 4) / 9
    flat, whole, turned = both(a)
    np.testing.assert_allclose(whole, np.exp(a), rtol=1e-6)
    np.testing.assert_array_equal(flat, whole.reshape(-1))
    np.testing.assert_array_equal(turned, whole.T.reshape(-1))
    flat[:] = 0
    assert whole.all()


def test_an_argument_that_is_reshaped_is_copied() -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    result = lx.jit(lambda a: a.reshape(2, 6))(a)
    np.testing.assert_array_equal(result, a.reshape(2, 6))
    assert not np.shares_memory(result, a)


@pytest.mark.parametrize("reshape", [(0, 4), (4, 0)])
def test_nothing_at_all(reshape: tuple[int, int]) -> None:
    result = lx.jit(lambda a: (a + 1).reshape(reshape))(np.ones((0, 3), np.float32))
    assert result.shape == reshape


def test_memory_of_open_sizes_is_not_reshaped() -> None:
    module = lx.parse("""
    func.func @f(%x: tensor<2x1x3xf32>, %m: memref<2x?xf32>) {
      %c = tensor.collapse_shape %x [[0], [1, 2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
      bufferization.materialize_in_destination %c in restrict writable %m
        : (tensor<2x3xf32>, memref<2x?xf32>) -> ()
      return
    }""")
    before = str(module)
    assert not file.prepare_destinations(module)
    assert str(module) == before
