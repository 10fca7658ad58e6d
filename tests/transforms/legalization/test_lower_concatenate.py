"""linalg_ext.concatenate: the documented slices, and NumPy's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from destination_ops import call, compiled, text_of
from linalg_ext.dialects.linalg_ext import concatenate
from linalg_ext.errors import ExecutionError
from linalg_ext.transforms.legalization.lower_destination_ops import lower_concatenate

PARTS = [np.arange(4 * n, dtype=np.float32).reshape(4, n) + n for n in (3, 0, 5, 1)]


@pytest.mark.parametrize("sizes", [["4x3", "4x0", "4x5", "4x1"], ["?x?", "?x0", "4x?", "?x?"]])
def test_empty_inputs_add_nothing(sizes: list[str]) -> None:
    types = tuple(f"tensor<{each}xf32>" for each in sizes)
    found = call(lambda *given: concatenate(*given, dimension=-1), types, *PARTS)
    np.testing.assert_array_equal(found, np.concatenate(PARTS, 1))


def test_all_slots() -> None:
    rows = np.arange(25, dtype=np.int64).reshape(25, 1)
    found = call(lambda *given: concatenate(*given), ("tensor<1xi64>",) * 25, *rows)
    np.testing.assert_array_equal(found, rows.ravel())


def test_one_tensor_given_twice_and_alone() -> None:
    types = ("tensor<?x3xf32>",)
    found = call(lambda a: [concatenate(a, a), concatenate(a, dimension=1)], types, PARTS[0])
    np.testing.assert_array_equal(found[0], np.concatenate([PARTS[0]] * 2))
    np.testing.assert_array_equal(found[1], PARTS[0])


def test_a_destination_that_is_given_is_written_whole_and_stays_as_it_was() -> None:
    destination = np.full((4, 8), 7, np.float32)
    kernel = compiled(
        lambda a, b, o: concatenate(a, b, dimension=1, outs=o),
        *("tensor<4x3xf32>", "tensor<4x5xf32>", "tensor<4x?xf32>"),
    )
    found = kernel(PARTS[0], PARTS[2], destination)
    np.testing.assert_array_equal(found, np.concatenate([PARTS[0], PARTS[2]], 1))
    assert (destination == 7).all()


def test_a_destination_of_another_size_is_found_by_the_run() -> None:
    kernel = compiled(
        lambda a, b, o: concatenate(a, b, dimension=1, outs=o), *["tensor<?x?xf32>"] * 3
    )
    for shape in ((4, 7), (4, 9), (3, 8), (0, 0)):
        with pytest.raises(ExecutionError, match=r"concatenate: the sizes of the inputs"):
            kernel(PARTS[0], PARTS[2], np.zeros(shape, np.float32))


def test_known_sizes_are_not_asserted() -> None:
    given = lx.parse(text_of(concatenate, "tensor<4x3xf32>", "tensor<2x3xf32>"))
    assert lower_concatenate(given)
    assert "cf.assert" not in str(given)
