"""linalg_ext.sort: the documented network, NumPy's order at every length, stability."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from destination_ops import call, compiled
from linalg_ext.bindings import arith, ir
from linalg_ext.dialects.linalg_ext import sort
from linalg_ext.errors import ExecutionError

RANDOM = np.random.default_rng(8)


@pytest.fixture(scope="module")
def by_key() -> Any:
    """Keys with their places, of any length."""
    return compiled(lambda k, p: sort(k, p), "tensor<?xi8>", "tensor<?xi64>")


LENGTHS = [*range(20), 31, 32, 33, 63, 64, 65, 100, 127, 129, 255, 256, 257, 1000, 4095, 4097]


@pytest.mark.parametrize("most", [1, 5, 120])
def test_equal_keys_keep_their_order_at_every_length(by_key: Any, most: int) -> None:
    for length in LENGTHS:
        keys = RANDOM.integers(-most, most, length).astype(np.int8)
        order = np.argsort(keys, kind="stable")
        found = by_key(keys, np.arange(length))
        np.testing.assert_array_equal(found[0], keys[order])
        np.testing.assert_array_equal(found[1], order)


def test_runs_that_leave_the_cache(by_key: Any) -> None:
    """More than 2^12 blocks of 8: the last levels are merged across the whole row."""
    for length in (32_768, 32_769, 100_003, 262_145):
        keys = RANDOM.integers(-100, 100, length).astype(np.int8)
        found = by_key(keys, np.arange(length))
        np.testing.assert_array_equal(found[1], np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("length", [0, 2, 8, 9, 17])
def test_lengths_that_the_type_tells(length: int) -> None:
    x = RANDOM.standard_normal(length).astype(np.float32)
    types = (f"tensor<{length}xf32>",)
    np.testing.assert_array_equal(call(lambda x: sort(x), types, x), np.sort(x))


@pytest.fixture(scope="module")
def by_dimension() -> Any:
    return compiled(lambda x: [sort(x, dimension=d)[0] for d in (0, 1)], "tensor<?x?xf32>")


@pytest.mark.parametrize("shape", [(40, 5), (3, 300), (0, 5), (5, 0), (1, 1)])
def test_every_dimension(by_dimension: Any, shape: tuple[int, int]) -> None:
    x = RANDOM.standard_normal(shape).astype(np.float32)
    for dim, found in enumerate(by_dimension(x)):
        np.testing.assert_array_equal(found, np.sort(x, dim))


def test_a_dimension_in_the_middle() -> None:
    x = RANDOM.standard_normal((3, 40, 5)).astype(np.float32)
    found = call(lambda x: sort(x, dimension=1), ("tensor<3x40x5xf32>",), x)
    np.testing.assert_array_equal(found, np.sort(x, 1))


def test_keys_and_what_belongs_to_them() -> None:
    """Those of a sort of rows of f32 keys with an i32 payload."""
    keys = np.array([[4, 2, 1, 5, 3], [6, 9, 8, 7, 10]], np.float32)
    payload = np.arange(1, 11, dtype=np.int32).reshape(2, 5)
    found = call(lambda k, p: sort(k, p), ("tensor<2x5xf32>", "tensor<2x5xi32>"), keys, payload)
    assert found[0].tolist() == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]
    assert found[1].tolist() == [[3, 2, 5, 1, 4], [6, 9, 8, 7, 10]]


def test_by_two_keys_the_second_descending() -> None:
    first, second = (RANDOM.integers(0, 4, 500) for _ in range(2))

    def before(a: ir.Value, b: ir.Value, c: ir.Value, d: ir.Value, *_: ir.Value) -> ir.Value:
        less, equal, greater = (
            arith.cmpi(getattr(arith.CmpIPredicate, name), *pair)
            for name, pair in (("slt", (a, b)), ("eq", (a, b)), ("sgt", (c, d)))
        )
        return arith.ori(less, arith.andi(equal, greater))

    found = call(
        lambda *given: sort(*given, comparator=before),
        ("tensor<?xi64>",) * 3,
        *(first, second, np.arange(500)),
    )
    np.testing.assert_array_equal(found[2], np.lexsort((-second, first)))


def test_nan_is_last() -> None:
    x = RANDOM.standard_normal(100)
    x[[3, 50, 51]], x[7] = np.nan, -np.inf
    found = call(lambda x: sort(x), ("tensor<?xf64>",), x)
    np.testing.assert_array_equal(found, np.sort(x))


def test_a_comparator_that_is_no_order_loses_nothing() -> None:
    def never_sure(a: ir.Value, b: ir.Value) -> ir.Value:
        """A hash of both, so that neither a < b < c nor a = a holds."""
        mixed = arith.xori(arith.muli(a, arith.constant(a.type, 7)), b)
        low = arith.andi(mixed, arith.constant(a.type, 1))
        return arith.cmpi(arith.CmpIPredicate.eq, low, arith.constant(a.type, 1))

    x = RANDOM.permutation(3001)
    found = call(lambda x: sort(x, comparator=never_sure), ("tensor<?xi64>",), x)
    assert sorted(found.tolist()) == list(range(3001))


def test_destinations_are_not_read_and_may_be_other_arrays() -> None:
    kernel = compiled(lambda x, o: sort(x, outs=[o]), *["tensor<?xf32>"] * 2)
    x = RANDOM.standard_normal(30).astype(np.float32)
    np.testing.assert_array_equal(kernel(x, np.full(30, np.nan, np.float32)), np.sort(x))
    with pytest.raises(ExecutionError, match=r"linalg_ext\.sort: .* other shapes"):
        kernel(x, np.zeros(29, np.float32))
