"""linalg_ext.sort of which a few places are read: what a stable sort has there."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from destination_ops import call, compiled, text_of
from linalg_ext.bindings import arith, ir
from linalg_ext.dialects.linalg_ext import sort
from linalg_ext.module import Module
from linalg_ext.transforms.ir_utils.tensor_loops import extract_slice
from linalg_ext.transforms.sorting.lower_sort import lower_sort

RANDOM = np.random.default_rng(28)
KINDS = ("random", "ascending", "descending", "equal", "few values", "no number")


def first(
    few: int, shape: tuple[int | None, ...], dimension: int = -1, begin: int = 0, **given: Any
) -> tuple[Any, tuple[int, ...]]:
    """A function of what is sorted that gives slices of it, and the sizes of these."""
    sizes = [few if at == dimension % len(shape) else size for at, size in enumerate(shape)]
    offsets = [begin if at == dimension % len(shape) else 0 for at in range(len(shape))]

    def body(*values: Any) -> list[Any]:
        found = sort(*values, dimension=dimension, **given)
        return [extract_slice(each, offsets, sizes) for each in found]

    return body, tuple(size or 0 for size in sizes)


def check(x: Any, few: int, dimension: int = -1, *, last: bool = False) -> None:
    """The first few and their places, or the last."""
    begin = x.shape[dimension] - few if last else 0
    places = np.broadcast_to(np.arange(x.shape[dimension]), x.swapaxes(dimension, -1).shape)
    places = places.swapaxes(dimension, -1).copy()
    sizes = "x".join(map(str, x.shape))
    element = {"f": "f", "i": "i"}[x.dtype.kind] + str(8 * x.itemsize)
    body, _ = first(few, x.shape, dimension, begin)
    found = call(body, (f"tensor<{sizes}x{element}>", f"tensor<{sizes}xi64>"), x, places)
    order = np.argsort(x, dimension, kind="stable").take(range(begin, begin + few), dimension)
    np.testing.assert_array_equal(found[1], order)
    values = np.take_along_axis(x, order, dimension)
    np.testing.assert_array_equal(found[0].view(np.uint8), values.view(np.uint8))


def of_kind(kind: str, length: int) -> Any:
    x = RANDOM.standard_normal(length).astype(np.float32)
    match kind:
        case "ascending":
            return np.sort(x)
        case "descending":
            return np.sort(x)[::-1].copy()
        case "equal":
            return np.zeros(length, np.float32)
        case "few values":
            x = RANDOM.integers(-3, 3, length).astype(np.float32)
            x[::7] = -0.0
            x[::11] = np.nan
            return x
        case "no number":
            return np.full(length, np.nan, np.float32)
    return x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("length", "few"), [(1000, 10), (1999, 300), (5003, 300), (193, 1)])
@pytest.mark.parametrize("last", [False, True])
def test_elements_of_all_kinds(kind: str, length: int, few: int, last: bool) -> None:
    check(of_kind(kind, length), few, last=last)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float64])
@pytest.mark.parametrize("last", [False, True])
def test_elements_of_all_types(dtype: Any, last: bool) -> None:
    check(RANDOM.integers(-100, 100, 777).astype(dtype), 33, last=last)


@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_along_every_dimension(dimension: int) -> None:
    shape = [3, 5, 4]
    shape[dimension] = 300
    for last in (False, True):
        check(RANDOM.standard_normal(shape).astype(np.float32), 7, dimension, last=last)


def check_parts(x: Any, *parts: tuple[int, int]) -> None:
    """Some parts of a row and the places of their elements, each from a place up to another."""

    def body(*values: Any) -> list[Any]:
        found = sort(*values)
        return [
            extract_slice(each, [begin], [end - begin]) for each in found for begin, end in parts
        ]

    element = {"f": "f", "i": "i", "u": "i"}[x.dtype.kind] + str(8 * x.itemsize)
    types = (f"tensor<{len(x)}x{element}>", f"tensor<{len(x)}xi64>")
    found = call(body, types, x, np.arange(len(x)))
    order = np.argsort(x, kind="stable")
    for number, (begin, end) in enumerate(parts):
        places = order[begin:end]
        np.testing.assert_array_equal(found[len(parts) + number], places)
        np.testing.assert_array_equal(found[number].view(np.uint8), x[places].view(np.uint8))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [300, 1500, 5003, 20_000])
def test_the_middle(kind: str, length: int) -> None:
    check_parts(of_kind(kind, length), (length // 2 - 1, length // 2 + 1))


@pytest.mark.parametrize("kind", KINDS)
def test_several_parts(kind: str) -> None:
    check_parts(of_kind(kind, 20_000), (0, 1), (2_000, 2_300), (9_999, 10_001), (19_950, 20_000))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.float16, np.float64])
@pytest.mark.parametrize("greatest", [3, 100, 30_000])
def test_the_middle_of_all_types(dtype: Any, greatest: int) -> None:
    numbers = RANDOM.integers(-greatest, greatest, 9_000).astype(dtype)  # which may wrap around
    check_parts(numbers, (4_000, 4_010), (17, 70))


@pytest.mark.parametrize("begin", [2, 70, 2_500, 4_990])
def test_elements_that_lie_where_no_sample_looks(begin: int) -> None:
    """All of a sample is alike; limits taken from it have everything beyond them, or nothing."""
    length = 5_000
    stride = round(length * (5**0.5 - 1) / 2)
    while np.gcd(stride, length) > 1:
        stride += 1
    for alike in (-9.0, 0.0, 9.0):
        x = RANDOM.standard_normal(length).astype(np.float32)
        x[np.arange(400) * stride % length] = alike
        check_parts(x, (begin, begin + 5))


def test_the_middle_of_rows_and_columns() -> None:
    x = RANDOM.standard_normal((7, 3_000, 2)).astype(np.float32)
    body, _ = first(3, x.shape, 1, 1_400)
    found = call(body, ("tensor<7x3000x2xf32>",), x)
    np.testing.assert_array_equal(found, np.sort(x, 1)[:, 1_400:1_403])


def test_the_middle_in_descending_order() -> None:
    after = lambda a, b: arith.cmpf(arith.CmpFPredicate.OGT, a, b)  # noqa: E731
    body, _ = first(5, (9_000,), begin=3_000, comparator=after)
    x = RANDOM.standard_normal(9_000)
    found = call(body, ("tensor<9000xf64>",), x)
    np.testing.assert_array_equal(found, np.sort(x)[::-1][3_000:3_005])


@pytest.mark.parametrize("few", [1, 20, 1024])
def test_lengths_of_which_only_the_run_tells(few: int) -> None:
    body, _ = first(few, (few,))
    kernel = compiled(body, "tensor<?xf32>")
    for length in {few, few + 1, 1024, 1057, 5000}:
        x = RANDOM.standard_normal(length).astype(np.float32)
        np.testing.assert_array_equal(kernel(x), np.sort(x)[:few])


def test_a_comparator_of_no_vectors() -> None:
    """Of bits, by two of three tensors."""
    flags = RANDOM.integers(0, 2, 500).astype(bool)
    keys = RANDOM.integers(0, 50, 500).astype(np.int32)

    def before(a: Any, b: Any, c: Any, d: Any, *_: Any) -> Any:
        order = arith.CmpIPredicate
        by_key = arith.andi(arith.cmpi(order.eq, a, b), arith.cmpi(order.slt, c, d))
        return arith.ori(arith.cmpi(order.ult, a, b), by_key)

    body, _ = first(12, (500,), comparator=before)
    types = ("tensor<500xi1>", "tensor<500xi32>", "tensor<500xi64>")
    given: list[Any] = [flags, keys, np.arange(500)]
    found = call(body, types, *given)
    expected = np.lexsort((keys, flags))[:12]
    for result, whole in zip(found, given, strict=True):
        np.testing.assert_array_equal(result, whole[expected])


def test_a_comparator_that_is_no_order_stays_in_bounds() -> None:
    true = lambda a, b: arith.cmpi(arith.CmpIPredicate.eq, a, a)  # noqa: E731
    body, _ = first(5, (2000,), comparator=true)
    x = RANDOM.permutation(2000)
    found = call(body, ("tensor<2000xi64>",), x)
    assert len(set(found.tolist())) == 5


def selects(body: Any, *types: str) -> bool:
    """Return whether no more of each row is found than is read."""
    module = Module.parse(text_of(body, *types))
    lower_sort(module)
    (function,) = module.ir.body.operations
    *_, last = function.operation.regions[0].blocks[0].operations
    slices: list[Any] = [value.owner for value in last.operation.operands]
    return all(max(part.operands[0].type.shape) < 10_000 for part in slices)


def test_what_is_selected() -> None:
    def two(x: ir.Value, *begins: int) -> list[Any]:
        (found,) = sort(x)
        return [extract_slice(found, [begin], [3]) for begin in begins]

    def whole(x: ir.Value) -> list[Any]:
        (found,) = sort(x)
        return [extract_slice(found, [0], [3]), extract_slice(found, [0], [10_000])]

    type_ = "tensor<10000xf32>"
    assert selects(first(10, (10_000,))[0], type_)
    assert not selects(first(9_000, (10_000,))[0], type_)
    assert selects(first(10, (10_000,), begin=9_990)[0], type_)
    assert selects(lambda x: two(x, 0, 7), type_)
    assert selects(lambda x: two(x, 9_900, 9_990), type_)
    assert selects(lambda x: two(x, 0, 9_990), type_)
    assert selects(lambda x: two(x, 10, 4_000, 7_000, 9_990), type_)
    assert not selects(lambda x: two(x, 10, 2_000, 4_000, 5_000, 7_000, 9_990), type_)
    assert selects(lambda x: two(x, 2_000, 4_000), "tensor<10000xi32>")
    assert not selects(lambda x: two(x, 2_000, 4_000, 7_000), "tensor<10000xi32>")
    assert not selects(whole, type_)


TOP: dict[str, Any] = {
    "the least": lambda x: np.sort(x)[:7],
    "the greatest": lambda x: np.sort(x)[-7:],
    "the greatest first": lambda x: np.sort(x)[::-1][:7],
    "the greatest, turned": lambda x: np.sort(x)[-7:][::-1],
    "places of the greatest": lambda x: np.argsort(x, kind="stable")[-7:],
    "places of the greatest first": lambda x: np.argsort(x, kind="stable")[::-1][:7],
    "of each row": lambda x: np.sort(x.reshape(2, -1))[:, -3:],
    "of each column": lambda x: np.sort(x.reshape(-1, 2), 0)[-3:],
    "the maximum but one": lambda x: np.sort(x)[-2],
    "the least and the next": lambda x: np.sort(x)[0] + np.sort(x)[1],
}


@pytest.mark.parametrize("spelling", TOP)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8])
def test_every_spelling_of_a_few_chooses_them(spelling: str, dtype: Any) -> None:
    x = RANDOM.integers(0, 200, 4000).astype(dtype)
    compiled = lx.jit(TOP[spelling]).lower(x).compile()
    np.testing.assert_array_equal(compiled(x), TOP[spelling](x))
    # A sort by digits has a table.
    assert not re.search(r"memref<\d+xindex>", compiled.kernel.as_text("loops"))
