"""linalg_ext.sort of which only the first few are read, or the last: as a stable sort has them."""

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


@pytest.mark.parametrize(
    "kind", ["random", "ascending", "descending", "equal", "few values", "no number"]
)
@pytest.mark.parametrize(("length", "few"), [(1000, 10), (5003, 300), (193, 1)])
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
    """Return whether the sort becomes a choice of the first few."""
    module = Module.parse(text_of(body, *types))
    lower_sort(module)
    # A sort by digits has a table.
    return "xindex>" not in str(module)


def test_what_is_selected() -> None:
    def two(x: ir.Value, *begins: int) -> list[Any]:
        (found,) = sort(x)
        return [extract_slice(found, [begin], [3]) for begin in begins]

    def all_(x: ir.Value) -> list[Any]:
        (found,) = sort(x)
        return [found, extract_slice(found, [0], [3])]

    type_ = "tensor<10000xf32>"
    assert selects(first(10, (10_000,))[0], type_)
    assert not selects(first(9_000, (10_000,))[0], type_)
    assert selects(first(10, (10_000,), begin=9_990)[0], type_)
    assert selects(lambda x: two(x, 0, 7), type_)
    assert selects(lambda x: two(x, 9_900, 9_990), type_)
    assert not selects(lambda x: two(x, 0, 9_990), type_)
    assert not selects(all_, type_)


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
