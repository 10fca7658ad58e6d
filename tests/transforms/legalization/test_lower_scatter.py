"""linalg_ext.scatter: the documented loop; duplicates in order, windows outside left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from destination_ops import call, compiled
from linalg_ext.bindings import arith, ir, scf
from linalg_ext.dialects.linalg_ext import scatter
from linalg_ext.errors import ExecutionError

FAR = np.iinfo(np.int64)
ROWS = np.array([[1], [4], [1], [-1], [FAR.max], [FAR.min], [0], [1]])
UPDATES = np.arange(1, 25, dtype=np.float32).reshape(8, 3)
TARGET = np.arange(12, dtype=np.float32).reshape(4, 3) / 8

TYPES = [
    ("tensor<8x1xi64>", "tensor<8x3xf32>", "tensor<4x3xf32>"),
    ("tensor<?x1xindex>", "tensor<?x?xf32>", "tensor<?x?xf32>"),
]


def expected(combine: Any) -> Any:
    result = TARGET.copy()
    for (row,), new in zip(ROWS, UPDATES, strict=True):
        if 0 <= row < 4:
            result[row] = combine(new, result[row])
    return result


@pytest.mark.parametrize("types", TYPES)
def test_the_last_of_several_replaces(types: tuple[str, ...]) -> None:
    found = call(lambda i, u, o: scatter(i, u, o), types, ROWS, UPDATES, TARGET)
    np.testing.assert_array_equal(found, expected(lambda new, old: new))


@pytest.mark.parametrize("types", TYPES)
def test_duplicates_combine_in_order(types: tuple[str, ...]) -> None:
    """`new - old / 2` tells the new one from the old one, and one order from another."""

    def combine(new: ir.Value, old: ir.Value) -> ir.Value:
        half = arith.constant(ir.F32Type.get(), 0.5)
        return arith.subf(new, arith.mulf(old, half))

    found = call(lambda i, u, o: scatter(i, u, o, combine=combine), types, ROWS, UPDATES, TARGET)
    np.testing.assert_array_equal(found, expected(lambda new, old: new - old / 2))


@pytest.mark.parametrize("is_static", [True, False])
def test_a_window_that_is_not_whole_inside_is_left_out_whole(is_static: bool) -> None:
    """Windows of 2 x 1 in 3 x 3, as in the sums of a scatter with rows (2, 2) and (3, 3)."""
    places = np.array([[0, 0], [1, 0], [1, 1], [2, 2], [3, 3]])
    updates = np.repeat(np.arange(1, 6, dtype=np.float32), 2).reshape(5, 2, 1)
    types = (
        ("tensor<5x2xi64>", "tensor<5x2x1xf32>", "tensor<3x3xf32>")
        if is_static
        else ("tensor<?x2xi64>", "tensor<?x?x?xf32>", "tensor<?x?xf32>")
    )
    found = call(
        lambda i, u, o: scatter(i, u, o, combine=arith.addf),
        types,
        places,
        updates,
        np.zeros((3, 3), np.float32),
    )
    assert found.tolist() == [[1, 0, 0], [3, 3, 0], [2, 3, 0]]


def test_single_elements_count() -> None:
    places = np.random.default_rng(3).integers(-2, 7, (200, 2))
    inside = places[((places >= 0) & (places < (4, 6))).all(1)]
    counts = np.zeros((4, 6), np.int64)
    np.add.at(counts, tuple(inside.T), 1)
    found = call(
        lambda i, u, o: scatter(i, u, o, combine=arith.addi),
        ("tensor<?x2xi64>", "tensor<?xi64>", "tensor<4x6xi64>"),
        places,
        np.ones(200, np.int64),
        np.zeros((4, 6), np.int64),
    )
    np.testing.assert_array_equal(found, counts)


def test_the_combiner_may_use_values_from_outside_and_regions() -> None:
    def body(i: ir.Value, u: ir.Value, o: ir.Value, scale: ir.Value) -> ir.Value:
        def combine(new: ir.Value, old: ir.Value) -> ir.Value:
            less = arith.cmpf(arith.CmpFPredicate.OLT, new, old)
            choice: Any = scf.IfOp(less, [new.type], has_else=True)
            for block, value in ((choice.then_block, old), (choice.else_block, new)):
                with ir.InsertionPoint(block):
                    scf.YieldOp([arith.mulf(value, scale)])
            result: ir.Value = choice.results[0]
            return result

        return scatter(i, u, o, combine=combine)

    types = (*TYPES[0], "f32")
    found = call(body, types, ROWS, UPDATES, TARGET, np.float32(0.5))
    np.testing.assert_array_equal(found, expected(lambda new, old: np.maximum(new, old) / 2))


def test_nothing_to_write() -> None:
    kernel = compiled(lambda i, u, o: scatter(i, u, o, combine=arith.addf), *TYPES[1])
    none = np.zeros((0, 1), np.int64)
    found = kernel(none, np.zeros((0, 3), np.float32), TARGET)
    np.testing.assert_array_equal(found, TARGET)
    assert kernel(ROWS, UPDATES, np.zeros((0, 3), np.float32)).shape == (0, 3)
    with pytest.raises(ExecutionError, match="other numbers of rows"):
        kernel(none, UPDATES, TARGET)


@pytest.mark.parametrize("sizes", ["4x2", "?x?"])
def test_a_window_wider_than_the_destination_is_left_out(sizes: str) -> None:
    target = np.ones((4, 2), np.float32)
    types = ("tensor<8x1xi64>", "tensor<8x3xf32>", f"tensor<{sizes}xf32>")
    found = call(lambda i, u, o: scatter(i, u, o), types, ROWS, UPDATES, target)
    np.testing.assert_array_equal(found, target)
