"""Short rows of linalg_ext.sort, many at a time in the lanes of vectors: as NumPy sorts stably."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from destination_ops import call, compiled, text_of
from linalg_ext import target
from linalg_ext.bindings import arith
from linalg_ext.dialects.linalg_ext import sort
from linalg_ext.module import Module
from linalg_ext.transforms.ir_utils.walking import operations
from linalg_ext.transforms.sorting._lane_sort import _merges, _neighbours
from linalg_ext.transforms.sorting.lower_sort import lower_sort
from resources import skip_machine

RANDOM = np.random.default_rng(27)


@pytest.mark.parametrize("network", [_merges, _neighbours])
@pytest.mark.parametrize("size", range(12))
def test_a_network_sorts_all_zeros_and_ones(network: Any, size: int) -> None:
    """And so it sorts everything."""
    for bits in itertools.product((0, 1), repeat=size):
        held = list(bits)
        for first, second in network(size):
            assert first < second < size
            held[first], held[second] = sorted((held[first], held[second]))
        assert held == sorted(bits)


def test_neighbours_are_exchanged_alone() -> None:
    assert all(second == first + 1 for first, second in _neighbours(9))


SHAPES = [
    *((100, 2), (64, 5), (67, 16), (17, 16), (1000, 22)),
    *((70, 40), (130, 100), (129, 191), (65, 193), (64, 1025)),
    *((15, 8), (3, 2, 16), (2, 70, 16), (1, 16)),
]
"""Networks written out, looped over; more rows than a block has and fewer."""


@pytest.mark.parametrize("shape", SHAPES)
def test_by_their_own_elements(shape: tuple[int, ...]) -> None:
    """Integers, of which equal ones are the same."""
    x = RANDOM.integers(-100, 100, shape).astype(np.int32)
    type_ = f"tensor<{'x'.join(map(str, shape))}xi32>"
    np.testing.assert_array_equal(call(lambda x: sort(x), (type_,), x), np.sort(x))


@pytest.mark.parametrize(
    ("predicate", "dtype"),
    [("sgt", "int8"), ("ult", "uint16"), ("ugt", "uint32"), ("slt", "int64"), ("ugt", "uint64")],
)
@pytest.mark.parametrize("size", [9, 40])
def test_widths_and_directions(predicate: str, dtype: str, size: int) -> None:
    info = np.iinfo(dtype)
    x = RANDOM.integers(info.min, info.max, (size, 77), dtype, endpoint=True)
    order = getattr(arith.CmpIPredicate, predicate)
    type_ = f"tensor<{size}x?xi{8 * x.itemsize}>"
    found = call(
        lambda x: sort(x, dimension=0, comparator=lambda a, b: arith.cmpi(order, a, b)), (type_,), x
    )
    expected = np.sort(x, 0)
    wanted = expected[::-1] if predicate.endswith("gt") else expected
    np.testing.assert_array_equal(found.view(dtype), wanted)


@pytest.mark.parametrize("shape", SHAPES)
def test_keys_with_places(shape: tuple[int, ...]) -> None:
    """Equal keys keep their order, among them both zeros; NaN is last."""
    x = RANDOM.integers(-5, 5, shape).astype(np.float32)
    x[x == -5] = -0.0
    x[x == -4] = np.nan
    places = np.broadcast_to(np.arange(shape[-1]), shape).copy()
    sizes = "x".join(map(str, shape))
    types = (f"tensor<{sizes}xf32>", f"tensor<{sizes}xi64>")
    found = call(lambda x, p: sort(x, p), types, x, places)
    expected = np.argsort(x, kind="stable")
    np.testing.assert_array_equal(found[1], expected)
    sorted_ = np.take_along_axis(x, expected, -1)
    np.testing.assert_array_equal(found[0].view(np.int32), sorted_.view(np.int32))


@pytest.mark.parametrize("size", [7, 50])
def test_rows_of_which_only_the_run_tells(size: int) -> None:
    """Fewer than a block has, none, and more."""
    kernel = compiled(lambda x: sort(x), f"tensor<?x?x{size}xf64>")
    for rows in (0, 1, 63, 64, 65, 200):
        x = RANDOM.standard_normal((2, rows, size))
        np.testing.assert_array_equal(kernel(x), np.sort(x))


@pytest.mark.parametrize("size", [7, 50])
@pytest.mark.parametrize("dimension", [0, 1])
def test_along_another_dimension(size: int, dimension: int) -> None:
    shape = [3, 4, 70]
    shape[dimension] = size
    x = RANDOM.standard_normal(shape).astype(np.float32)
    places = np.broadcast_to(
        np.arange(size).reshape([size if at == dimension else 1 for at in range(3)]), shape
    ).copy()
    sizes = "x".join(map(str, shape))
    types = (f"tensor<{sizes}xf32>", f"tensor<{sizes}xi64>")
    found = call(lambda x, p: sort(x, p, dimension=dimension), types, x, places)
    np.testing.assert_array_equal(found[0], np.sort(x, dimension))
    np.testing.assert_array_equal(found[1], np.argsort(x, dimension, kind="stable"))


@pytest.mark.parametrize("size", [6, 30])
def test_elements_that_vectors_do_not_hold(size: int) -> None:
    """They are sorted as ever."""
    x = RANDOM.integers(0, 2, (100, size)).astype(bool)
    found = call(
        lambda x: sort(x, comparator=lambda a, b: arith.cmpi(arith.CmpIPredicate.ult, a, b)),
        (f"tensor<100x{size}xi1>",),
        x,
    )
    np.testing.assert_array_equal(found, np.sort(x))


@pytest.mark.parametrize(("values", "writes"), [(1, 8), (2, 24)], ids=["alone", "with places"])
def test_a_round_reads_all_its_places_first(values: int, writes: int) -> None:
    """A read after a write would wait for it: the processor cannot tell that they are apart."""
    module = Module.parse(text_of(lambda *x: sort(*x), *["tensor<100x150xi32>"] * values))
    with target.using("avx2"):
        lower_sort(module)
    bodies = [
        [op.operation.name for op in loop.regions[0].blocks[0].operations]
        for loop in operations(module.ir, {"scf.for"})
    ]
    (names,) = [names for names in bodies if "tensor.extract" in names]
    assert names.count("vector.transfer_write") == writes
    last_read = max(at for at, name in enumerate(names) if name == "tensor.extract")
    assert last_read < names.index("vector.transfer_write")


def test_a_comparator_that_says_no_always() -> None:
    x = RANDOM.standard_normal((100, 6)).astype(np.float32)
    false = lambda a, _: arith.constant(arith.cmpf(arith.CmpFPredicate.ORD, a, a).type, 0)  # noqa: E731
    found = call(lambda x: sort(x, comparator=false), ("tensor<100x6xf32>",), x)
    np.testing.assert_array_equal(found, x)


def test_outputs_that_are_given() -> None:
    kernel = compiled(lambda x, o: sort(x, outs=[o]), *["tensor<100x6xf32>"] * 2)
    x = RANDOM.standard_normal((100, 6)).astype(np.float32)
    given = x.copy()
    np.testing.assert_array_equal(kernel(x, np.full_like(x, np.nan)), np.sort(x))
    np.testing.assert_array_equal(x, given)


@pytest.mark.parametrize("name", ["avx2", "avx512"])
@pytest.mark.parametrize("size", [10, 45, 300])
def test_vectors_of_other_machines(name: str, size: int) -> None:
    if not target.named(name).features <= target.host().features:
        skip_machine(name)
    x = RANDOM.standard_normal((70, size))
    places = np.broadcast_to(np.arange(size), x.shape).copy()
    types = (f"tensor<70x{size}xf64>", f"tensor<70x{size}xi64>")
    with target.using(name):
        found = call(lambda x, p: [*sort(x, p), *sort(p)], types, x, places[:, ::-1].copy())
    order = np.argsort(x, kind="stable")
    np.testing.assert_array_equal(found[1], size - 1 - order)
    np.testing.assert_array_equal(found[2], places)
