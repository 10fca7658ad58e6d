"""tensor.pad by negative amounts: the documented ops, and NumPy's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.transforms.legalization import crop_negative_pads as file

X = np.arange(1, 31, dtype=np.float32).reshape(5, 6)

FUNCTION = """
func.func @f(%x: tensor<{source}xf32>) -> tensor<{result}xf32> {{
  %v = arith.constant 7.0 : f32
  %r = tensor.pad %x low[{low}] high[{high}] {{
  ^bb0(%i: index, %j: index):
    tensor.yield %v : f32
  }} : tensor<{source}xf32> to tensor<{result}xf32>
  return %r : tensor<{result}xf32>
}}"""


def padded(low: tuple[int, int], high: tuple[int, int]) -> np.ndarray:
    """What is asked for, element by element."""
    sizes = [size + a + b for size, a, b in zip(X.shape, low, high, strict=True)]
    result = np.full(sizes, 7, np.float32)
    for i, j in np.ndindex(*sizes):
        if 0 <= i - low[0] < X.shape[0] and 0 <= j - low[1] < X.shape[1]:
            result[i, j] = X[i - low[0], j - low[1]]
    return result


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    ("low", "high"),
    [
        ((-1, 0), (0, -2)),
        ((2, -3), (-1, 4)),
        ((-4, -5), (0, 0)),
        ((0, -1), (1, -5)),
        # The result has the type of the source.
        ((-1, 2), (1, -2)),
    ],
)
def test_numbers(low: tuple[int, int], high: tuple[int, int], is_open: bool) -> None:
    wanted = padded(low, high)
    text = FUNCTION.format(
        source="?x?" if is_open else "5x6",
        result="?x?" if is_open else "x".join(map(str, wanted.shape)),
        low=", ".join(map(str, low)),
        high=", ".join(map(str, high)),
    )
    np.testing.assert_array_equal(lx.compile(text)(X), wanted)


def test_nothing_of_the_source_is_left() -> None:
    text = FUNCTION.format(source="5x6", result="5x4", low="0, -7", high="0, 5")
    np.testing.assert_array_equal(lx.compile(text)(X), np.full((5, 4), 7))


def test_other_pads_are_left() -> None:
    text = FUNCTION.format(source="5x6", result="6x8", low="1, 0", high="0, 2")
    assert not file.crop_negative_pads(lx.parse(text))
