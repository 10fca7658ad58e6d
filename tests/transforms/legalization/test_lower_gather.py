"""linalg_ext.gather: the documented generic, NumPy's numbers, indices out of range."""

from __future__ import annotations

import numpy as np
import pytest

from destination_ops import call, compiled
from linalg_ext.dialects.linalg_ext import gather
from linalg_ext.errors import ExecutionError

TABLE = np.arange(60, dtype=np.float32).reshape(4, 5, 3)
FAR = np.iinfo(np.int64)
ROWS = np.array([[0], [3], [-1], [4], [FAR.max], [FAR.min], [1]])


@pytest.mark.parametrize(
    ("table", "indices"),
    [
        ("tensor<4x5x3xf32>", "tensor<7x1xi64>"),
        ("tensor<?x?x?xf32>", "tensor<?x1xindex>"),
        ("tensor<4x?x3xf32>", "tensor<?x1xi64>"),
    ],
)
def test_rows_out_of_range_are_the_nearest(table: str, indices: str) -> None:
    found = call(lambda a, i: gather(a, i), (table, indices), TABLE, ROWS)
    np.testing.assert_array_equal(found, TABLE[np.clip(ROWS[:, 0], 0, 3)])


def test_narrow_indices_are_signed() -> None:
    rows = np.array([[-128], [127], [2]], np.int8)
    found = call(lambda a, i: gather(a, i), ("tensor<4x5x3xf32>", "tensor<3x1xi8>"), TABLE, rows)
    np.testing.assert_array_equal(found, TABLE[[0, 3, 2]])


@pytest.mark.parametrize("sizes", ["4x5x3", "?x?x?"])
def test_all_dimensions_indexed_gives_elements(sizes: str) -> None:
    places = np.array([[0, 0, 0], [3, 4, 2], [9, -9, 1]])
    types = (f"tensor<{sizes}xf32>", "tensor<?x3xi64>")
    found = call(lambda a, i: gather(a, i), types, TABLE, places)
    np.testing.assert_array_equal(found, TABLE[[0, 3, 3], [0, 4, 0], [0, 2, 1]])


@pytest.mark.parametrize("is_static", [True, False])
def test_windows_move_back_until_they_fit(is_static: bool) -> None:
    """Those of a gather whose windows are 2 x 1 in 5 x 3."""
    table = np.arange(1, 16, dtype=np.float32).reshape(5, 3)
    places = np.array([[0, 0], [1, 0], [4, 3], [-1, -1]])
    types = (
        ("tensor<5x3xf32>", "tensor<4x2xi64>", "tensor<4x2x1xf32>")
        if is_static
        else ("tensor<?x?xf32>", "tensor<?x2xi64>", "tensor<?x?x?xf32>")
    )
    destination = np.zeros((4, 2, 1), np.float32)
    found = call(lambda a, i, o: gather(a, i, outs=o), types, table, places, destination)
    assert found[..., 0].tolist() == [[1, 4], [4, 7], [12, 15], [1, 4]]


def test_no_rows_read_nothing() -> None:
    types = ("tensor<?x3xf32>", "tensor<?x1xi64>")
    none, empty = np.zeros((0, 1), np.int64), np.zeros((0, 3), np.float32)
    kernel = compiled(lambda a, i: gather(a, i), *types)
    assert kernel(empty, none).shape == (0, 3)
    with pytest.raises(ExecutionError, match="a window is larger than the operand"):
        kernel(empty, ROWS)


def test_no_rows_of_a_table_that_is_known_to_be_empty() -> None:
    types = ("tensor<0x3xf32>", "tensor<?x1xi64>")
    none, empty = np.zeros((0, 1), np.int64), np.zeros((0, 3), np.float32)
    assert call(lambda a, i: gather(a, i), types, empty, none).shape == (0, 3)


def test_columns_of_no_index() -> None:
    table, none = TABLE[0, 0], np.zeros((2, 0), np.int64)
    found = call(lambda a, i: gather(a, i), ("tensor<3xf32>", "tensor<2x0xi64>"), table, none)
    np.testing.assert_array_equal(found, np.stack([table] * 2))


def test_a_window_larger_than_the_operand_is_found_by_the_run() -> None:
    types = ("tensor<?xf32>", "tensor<2x1xi64>", "tensor<2x?xf32>")
    kernel = compiled(lambda a, i, o: gather(a, i, outs=o), *types)
    places, table = np.zeros((2, 1), np.int64), np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(kernel(table, places, np.zeros((2, 3), np.float32)), [table] * 2)
    with pytest.raises(ExecutionError, match="a window is larger"):
        kernel(table, places, np.zeros((2, 4), np.float32))


def test_what_is_gathered_may_be_made_before() -> None:
    """Operand, indices and destination are results of other ops."""
    types = ("tensor<?xf32>", "tensor<3x1xi64>", "tensor<2x1xi64>")
    places, last = np.array([[3], [0], [2]]), np.array([[1], [9]])
    found = call(lambda a, i, j: gather(gather(a, i), j), types, TABLE[:, 0, 0], places, last)
    np.testing.assert_array_equal(found, TABLE[[0, 2], 0, 0])
