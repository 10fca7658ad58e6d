"""Accumulators of parallel loops become private results, and a sum of them in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.dialects import gml_st
from subset_modules import add, doubled, reduce_points, reduce_tiles, subset_module

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("body", [reduce_tiles, reduce_points])
def test_sums_are_those_of_iterations_in_order_to_the_last_bit(body: Any, threads: int) -> None:
    x = RNG.standard_normal((8, 12)).astype(np.float32)
    y = RNG.standard_normal(8).astype(np.float32)
    module = subset_module(["tensor<8x12xf32>", "tensor<8xf32>"], body)
    with lx.options(threads=threads):
        expected = lx.compile(module, entry="main")(x, y)
        report = lx.transforms.privatize_accumulators(module)
        assert report.changed["gml_st.parallel"] == 1
        lowered = str(lx.transforms.lower_subset_loops(module.clone()).module)
        assert "scf.forall" in lowered
        kernel = lx.compile(module, entry="main")
        for _ in range(20):
            np.testing.assert_array_equal(kernel(x, y), expected)


def test_one_of_two_values_is_private() -> None:
    def body(x: ir.Value, total: ir.Value, y: ir.Value, n: ir.Value) -> Any:
        with gml_st.parallel([1], [n], [2]) as loop:
            (i,) = loop.ivs
            value = gml_st.materialize(x, gml_st.point(x, [i]))
            gml_st.set_yield(
                [value, doubled(value)],
                into=[total, y],
                at=[gml_st.point(total, []), gml_st.point(y, [i])],
                accumulate=[add, None],
            )
        return loop.results

    types = ["tensor<9xf32>", "tensor<f32>", "tensor<9xf32>", "index"]
    module = subset_module(types, body)
    lx.transforms.privatize_accumulators(module)
    kernel = lx.compile(module, entry="main")
    x, y = (RNG.integers(-9, 9, 9).astype(np.float32) for _ in range(2))
    for n in (0, 1, 2, 8, 9):
        total, twice = kernel(x, np.float32(3), y, n)
        expected = y.copy()
        expected[1:n:2] = 2 * x[1:n:2]
        assert total == 3 + x[1:n:2].sum()
        np.testing.assert_array_equal(twice, expected)


def test_memory_is_left_alone() -> None:
    def body(x: ir.Value, total: ir.Value) -> None:
        with gml_st.parallel([0], [8], [1]) as loop:
            value = gml_st.materialize(x, gml_st.point(x, list(loop.ivs)))
            gml_st.set_yield([value], into=[total], at=[gml_st.point(total, [])], accumulate=add)

    module = subset_module(["tensor<8xf32>", "memref<f32>"], body)
    report = lx.transforms.privatize_accumulators(module)
    assert report.left == {"gml_st.parallel": {"the loop writes to memory"}}
