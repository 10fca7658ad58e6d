"""Long rows of linalg_ext.sort, sorted by digits: as NumPy sorts stably, whatever the keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from destination_ops import call, compiled, text_of
from linalg_ext.bindings import arith, ir
from linalg_ext.dialects.linalg_ext import sort
from linalg_ext.ir.context import new_context
from linalg_ext.transforms.sorting._radix_sort import keys_of

RANDOM = np.random.default_rng(26)
LENGTH = 2000
"""A row that is sorted by digits, whatever its keys."""

Comparator = Callable[..., Any]


def integers(name: str) -> Comparator:
    predicate = getattr(arith.CmpIPredicate, name)
    return lambda a, b, *_: arith.cmpi(predicate, a, b)


def floats(name: str) -> Comparator:
    predicate = getattr(arith.CmpFPredicate, name)
    return lambda a, b, *_: arith.cmpf(predicate, a, b)


def both(*conditions: Comparator) -> Comparator:
    def comparator(*elements: Any) -> Any:
        return arith.andi(*(condition(*elements) for condition in conditions))

    return comparator


def no(condition: Comparator) -> Comparator:
    def comparator(*elements: Any) -> Any:
        found = condition(*elements)
        return arith.xori(found, arith.constant(found.type, 1))

    return comparator


def swapped(condition: Comparator) -> Comparator:
    return lambda a, b, *_: condition(b, a)


def is_number(number: int) -> Comparator:
    ordered = arith.CmpFPredicate.ORD
    return lambda *elements: arith.cmpf(ordered, elements[number], elements[number])


def chained(first: Comparator, equal: Comparator, second: Comparator) -> Comparator:
    """By one key, and by another where the first is equal."""

    def comparator(a: Any, b: Any, c: Any, d: Any, *_: Any) -> Any:
        return arith.ori(first(a, b), arith.andi(equal(a, b), second(c, d)))

    return comparator


ASCENDING = both(floats("ULT"), is_number(0))
DESCENDING = both(no(swapped(floats("OGE"))), is_number(1))
"""With NaN first, as PyTorch has it."""


def numbers(dtype: str, length: int = LENGTH) -> Any:
    """With duplicates, both zeros, infinities and NaN of both signs."""
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        some = RANDOM.integers(info.min, info.max, length, dtype, endpoint=True)
        some[::3] = RANDOM.integers(0, 9, len(some[::3]))
        return some
    some = RANDOM.standard_normal(length).astype(dtype)
    some[::3] = RANDOM.integers(-3, 3, len(some[::3]))
    some[RANDOM.random(length) < 0.1] = -0.0
    some[:6] = np.inf, -np.inf, np.nan, -np.nan, 0, np.nan
    some[1000:1003] = np.nan
    return RANDOM.permutation(some)


def order(x: Any, descending: bool = False) -> Any:
    """The stable order of numbers, NaN as the largest."""
    ranks = np.unique(x, return_inverse=True)[1]
    return np.argsort(-ranks if descending else ranks, kind="stable")


def with_places(x: Any, before: Comparator, type_: str) -> Any:
    found = call(
        lambda x, p: sort(x, p, comparator=before),
        (f"tensor<?x{type_}>", "tensor<?xi64>"),
        *(x, np.arange(len(x))),
    )
    np.testing.assert_array_equal(found[0].view(np.uint8), x[found[1]].view(np.uint8))
    return found[1]


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("name", ["slt", "sgt", "ult", "ugt"])
def test_integers(bits: int, name: str) -> None:
    x = numbers(f"{'int' if name[0] == 's' else 'uint'}{bits}")
    found = with_places(x, integers(name), f"i{bits}")
    np.testing.assert_array_equal(found, order(x, descending=name.endswith("gt")))


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize(("before", "descending"), [(ASCENDING, False), (DESCENDING, True)])
def test_floats_with_both_zeros_and_nan(bits: int, before: Comparator, descending: bool) -> None:
    """Zeros keep their order, and so does what is not a number, whatever its bits."""
    x = numbers(f"float{bits}")
    found = with_places(x, before, f"f{bits}")
    np.testing.assert_array_equal(found, order(x, descending))


@pytest.mark.parametrize("length", [191, 192, 193, 1000, 5001, 70_001])
def test_lengths_where_digits_take_over(length: int) -> None:
    x = RANDOM.integers(-50, 50, length).astype(np.float32)
    found = with_places(x, floats("OLT"), "f32")
    np.testing.assert_array_equal(found, np.argsort(x, kind="stable"))


@pytest.mark.parametrize("length", [2047, 2048, 5001])
@pytest.mark.parametrize(
    ("type_", "dtype"),
    [("i8", "int8"), ("i16", "int16"), ("f16", "float16"), ("f32", "float32"), ("i64", "int64")],
)
def test_known_lengths_have_wider_digits(type_: str, dtype: str, length: int) -> None:
    x, before = numbers(dtype, length), ASCENDING if type_[0] == "f" else integers("slt")
    found = call(
        lambda x, p: sort(x, p, comparator=before),
        (f"tensor<{length}x{type_}>", f"tensor<{length}xi32>"),
        *(x, np.arange(length, dtype=np.int32)),
    )
    np.testing.assert_array_equal(found[1], order(x))
    np.testing.assert_array_equal(found[0].view(np.uint8), x[found[1]].view(np.uint8))


@pytest.mark.parametrize(("type_", "least"), [("i32", 4 << 11), ("i64", 6 << 11), ("i16", 512)])
def test_no_branch_has_buffers_of_its_own(type_: str, least: int) -> None:
    kernel = compiled(lambda x: sort(x), f"tensor<5000x{type_}>")
    allocations = re.findall(r"memref.alloc\(\).*memref<(\w+)>", str(kernel.stages["buffers"]))
    assert sorted(allocations) == sorted([f"5000x{type_}", f"{least}xindex"])


@pytest.mark.parametrize("most", [1, 200, 60_000, 2**40])
def test_small_numbers_of_a_wide_type(most: int) -> None:
    """Digits that are 0 in all are left out."""
    x = RANDOM.integers(0, most, LENGTH)
    found = with_places(x, integers("slt"), "i64")
    np.testing.assert_array_equal(found, np.argsort(x, kind="stable"))


@pytest.mark.parametrize("type_", ["i8", "i16", "i64"])
def test_two_keys_of_known_lengths(type_: str) -> None:
    """In one word of 24, 32 or 80 bits."""
    x, y = RANDOM.integers(-9, 9, 3000).astype(np.int16), RANDOM.integers(-9, 9, 3000)
    y = y.astype(f"int{type_[1:]}")
    before = chained(integers("slt"), integers("eq"), integers("slt"))
    found = call(
        lambda x, y: sort(x, y, comparator=before),
        ("tensor<3000xi16>", f"tensor<3000x{type_}>"),
        x,
        y,
    )
    expected = np.lexsort((y, x))
    np.testing.assert_array_equal(found[0], x[expected])
    np.testing.assert_array_equal(found[1], y[expected])


KEYS = [("i8", "int8"), ("f32", "float32"), ("i64", "int64")]


@pytest.mark.parametrize(("second_type", "second_dtype"), KEYS)
@pytest.mark.parametrize(("first_type", "first_dtype"), KEYS)
def test_two_keys(first_type: str, first_dtype: str, second_type: str, second_dtype: str) -> None:
    """In one word of 64 bits or two, of an even number of digits or an odd one."""
    x, y = (RANDOM.integers(-9, 9, LENGTH).astype(each) for each in (first_dtype, second_dtype))
    first, equal = (
        (floats("OGT"), floats("OEQ")) if "f" in first_type else (integers("sgt"), integers("eq"))
    )
    second = floats("OLT") if "f" in second_type else integers("slt")
    found = call(
        lambda *given: sort(*given, comparator=chained(first, equal, second)),
        (f"tensor<?x{first_type}>", f"tensor<?x{second_type}>", "tensor<?xi64>"),
        *(x, y, np.arange(LENGTH)),
    )
    expected = np.lexsort((y, -x.astype(np.float64)))
    for result, given in zip(found, (x, y, np.arange(LENGTH)), strict=True):
        np.testing.assert_array_equal(result, given[expected])


@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_rows_of_several_dimensions(dimension: int) -> None:
    shape = [3, 4, 5]
    shape[dimension] = 777
    x = RANDOM.standard_normal(shape).astype(np.float32)
    kernel = compiled(lambda x: sort(x, dimension=dimension), "tensor<?x?x?xf32>")
    np.testing.assert_array_equal(kernel(x), np.sort(x, dimension))
    fixed = f"tensor<{'x'.join(map(str, shape))}xf32>"
    found = call(lambda x: sort(x, dimension=dimension), (fixed,), x)
    np.testing.assert_array_equal(found, np.sort(x, dimension))


def test_a_key_that_is_computed() -> None:
    """By the absolute value modulo 1000, say."""

    def key(x: ir.Value) -> Any:
        return arith.andi(x, arith.constant(x.type, 1023))

    x = RANDOM.integers(-(2**31), 2**31, LENGTH).astype(np.int32)
    found = with_places(x, lambda a, b, *_: integers("ult")(key(a), key(b)), "i32")
    np.testing.assert_array_equal(found, np.argsort(x & 1023, kind="stable"))


def test_the_inputs_stay() -> None:
    x = numbers("int64")
    given = x.copy()
    call(lambda x: sort(x), (f"tensor<{LENGTH}xi64>",), x)
    np.testing.assert_array_equal(x, given)


def read(before: Comparator, *types: str) -> Any:
    """(width, is descending, is NaN last) of each key."""
    text = text_of(
        lambda *given: sort(*given, comparator=before), *(f"tensor<9x{each}>" for each in types)
    )
    with new_context():
        module = ir.Module.parse(text)
        function = module.body.operations[0]
        (op,) = (
            each.operation
            for each in function.regions[0].blocks[0].operations
            if each.operation.name == "linalg_ext.sort"
        )
        keys = keys_of(op.regions[0].blocks[0])
        return keys and [(key.bits, key.is_descending, key.is_nan_last) for key in keys]


@pytest.mark.parametrize(
    ("before", "keys"),
    [
        (floats("OLT"), [(32, False, True)]),
        (floats("OGT"), [(32, True, True)]),
        (swapped(floats("OLT")), [(32, True, True)]),
        (ASCENDING, [(32, False, True)]),
        (DESCENDING, [(32, True, False)]),
        (both(no(floats("OGE")), no(swapped(no(is_number(1))))), [(32, False, True)]),
        (both(floats("ULT"), is_number(1)), [(32, False, False)]),
        (floats("OLE"), None),
        # No order of NaN: any will do.
        (floats("ULT"), [(32, False, True)]),
        (floats("OEQ"), None),
        (is_number(0), None),
    ],
)
def test_keys_of_floats(before: Comparator, keys: Any) -> None:
    assert read(before, "f32") == keys


def test_keys_of_integers() -> None:
    less, equal = integers("slt"), integers("eq")
    assert read(less, "i32") == [(32, False, True)]
    assert read(integers("ugt"), "index") == [(64, True, True)]
    assert read(chained(less, equal, integers("ugt")), "i8", "i64") == [
        (8, False, True),
        (64, True, True),
    ]
    # The second one decides first.
    assert read(lambda a, b, c, d: chained(less, equal, less)(c, d, a, b), "i8", "i64") == [
        (64, False, True),
        (8, False, True),
    ]


def test_what_has_no_keys() -> None:
    less, equal = integers("slt"), integers("eq")
    assert read(integers("sle"), "i32") is None
    assert read(both(less, integers("ult")), "i32") is None
    assert read(lambda a, b, c, d: less(a, d), "i32", "i32") is None
    assert read(lambda a, b, c, d: both(less, less)(a, b), "i32", "i32") == [(32, False, True)]
    assert read(lambda a, b, c, d: arith.andi(less(a, b), less(c, d)), "i32", "i32") is None
    assert read(chained(less, equal, less), "i128", "i32") is None
    seven = lambda x: arith.constant(x.type, 7)  # noqa: E731
    assert read(lambda a, b: less(a, seven(a)), "i32") is None
