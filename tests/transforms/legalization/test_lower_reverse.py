"""linalg_ext.reverse: the documented generic, and NumPy's numbers."""

from __future__ import annotations

import numpy as np
import pytest

from destination_ops import call, compiled
from linalg_ext.dialects.linalg_ext import reverse
from linalg_ext.errors import ExecutionError

X = np.arange(24, dtype=np.float32).reshape(2, 4, 3)


@pytest.mark.parametrize("type_", ["tensor<2x4x3xf32>", "tensor<?x4x?xf32>"])
def test_every_choice_of_dimensions(type_: str) -> None:
    choices = [(), (-1, 0), (1,)]
    found = call(lambda x: [reverse(x, dimensions=each) for each in choices], (type_,), X)
    for choice, one in zip(choices, found, strict=True):
        np.testing.assert_array_equal(one, np.flip(X, choice))


def test_sizes_of_0_and_1() -> None:
    kernel = compiled(lambda x: reverse(x, dimensions=[0, 1]), "tensor<?x?xf32>")
    for shape in ((0, 4), (2, 0), (1, 1)):
        np.testing.assert_array_equal(kernel(np.ones(shape, np.float32)), np.ones(shape))


def test_a_destination_of_another_size_is_found_by_the_run() -> None:
    kernel = compiled(lambda x, o: reverse(x, dimensions=0, outs=o), *["tensor<?xf32>"] * 2)
    with pytest.raises(ExecutionError, match=r"linalg_ext\.reverse: .* other shapes"):
        kernel(np.ones(3, np.float32), np.ones(4, np.float32))
