"""Loops over subsets, down to numbers, beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.dialects import gml_st
from linalg_ext.errors import ExecutionError, LoweringError
from subset_modules import (
    add,
    doubled,
    kernel_of,
    numbers,
    reduce_points,
    reduce_tiles,
    row_sum_loop,
    row_sums,
    subset_module,
    zeros_like,
)

RNG = np.random.default_rng(7)


def floats(*shape: int) -> Any:
    return RNG.integers(-9, 9, shape).astype(np.float32)


@pytest.mark.parametrize("threads", [1, 2])
def test_row_sums(threads: int) -> None:
    x, y = floats(80, 60), floats(80)
    before = y.copy()
    sums = numbers(["tensor<80x60xf32>", "tensor<80xf32>"], row_sum_loop, x, y, threads=threads)
    np.testing.assert_array_equal(sums, before + x.sum(1))
    np.testing.assert_array_equal(y, before)


def test_whole_tensors_are_yielded_in_order() -> None:
    def body(x: ir.Value, y: ir.Value) -> Any:
        with gml_st.loop([0], [8], [1], ins=[x], outs=[y]) as loop:
            (i,) = loop.ivs
            here = gml_st.point(loop.ins[0], [i])
            element = gml_st.materialize(loop.ins[0], here)
            gml_st.yield_([tensor.InsertOp(element, loop.outs[0], [i]).result])
        return loop.results[0]

    x = floats(8)
    np.testing.assert_array_equal(numbers(["tensor<8xf32>"] * 2, body, x, floats(8)), x)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [0, 3, 8, 21])
def test_tiles_of_what_is_left(n: int, threads: int) -> None:
    def body(x: ir.Value, y: ir.Value) -> Any:
        zero = arith.ConstantOp(ir.IndexType.get(), 0).result
        size = gml_st.size(gml_st.full(x), 0)
        with gml_st.parallel([zero], [size], [8]) as loop:
            (i,) = loop.ivs
            eight = arith.ConstantOp(ir.IndexType.get(), 8).result
            left = arith.MinSIOp(eight, arith.SubIOp(size, i).result).result
            tile = gml_st.tile(x, [i], [left])
            gml_st.set_yield([doubled(gml_st.materialize(x, tile))], into=[y], at=[tile])
        return loop.results[0]

    x = floats(n)
    twice = numbers(["tensor<?xf32>"] * 2, body, x, floats(n), threads=threads)
    np.testing.assert_array_equal(twice, 2 * x)


@pytest.mark.parametrize("threads", [1, 2])
def test_parallel_points(threads: int) -> None:
    def body(x: ir.Value, y: ir.Value) -> Any:
        with gml_st.parallel([0, 0], [4, 5], [1, 1]) as loop:
            i, j = loop.ivs
            there = gml_st.point(gml_st.space([5, 4]), [j, i])
            value = doubled(gml_st.materialize(x, gml_st.point(x, [i, j])))
            gml_st.set_yield([value], into=[y], at=[there])
        return loop.results[0]

    x = floats(4, 5)
    types = ["tensor<4x5xf32>", "tensor<5x4xf32>"]
    found = numbers(types, body, x, floats(5, 4), threads=threads)
    np.testing.assert_array_equal(found, 2 * x.T)


def test_a_sequential_loop_carries_what_it_writes() -> None:
    def body(x: ir.Value) -> Any:
        with gml_st.for_([1], [6], [1], outs=[x]) as loop:
            (i,) = loop.ivs
            one = arith.ConstantOp(ir.IndexType.get(), 1).result
            before = gml_st.point(loop.outs[0], [arith.SubIOp(i, one).result])
            here = gml_st.point(loop.outs[0], [i])
            values = [gml_st.materialize(loop.outs[0], each) for each in (before, here)]
            gml_st.set_yield([add(*values)], into=loop.outs, at=[here])
        return loop.results[0]

    x = floats(6)
    np.testing.assert_array_equal(numbers(["tensor<6xf32>"], body, x), np.cumsum(x))


def column_reduction(x: ir.Value, y: ir.Value) -> Any:
    with gml_st.for_([0], [12], [3], outs=[y]) as loop:
        (j,) = loop.ivs
        part = gml_st.materialize(x, gml_st.tile(x, [0, j], [8, 3]))
        sums = row_sums(part, zeros_like(y))
        gml_st.set_yield([sums], into=loop.outs, at=[gml_st.full(loop.outs[0])], accumulate=add)
    return loop.results[0]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("body", [reduce_tiles, reduce_points, column_reduction])
def test_accumulators(body: Any, threads: int) -> None:
    x, y = floats(8, 12), floats(8)
    before = y.copy()
    kernel = kernel_of(["tensor<8x12xf32>", "tensor<8xf32>"], body)
    with lx.options(threads=threads):
        results = [kernel(x, y) for _ in range(1000)]
    np.testing.assert_array_equal(results, [before + x.sum(1)] * 1000)
    np.testing.assert_array_equal(y, before)


def test_one_of_two_values_is_accumulated() -> None:
    def body(x: ir.Value, total: ir.Value, y: ir.Value) -> Any:
        with gml_st.parallel([0], [6], [1]) as loop:
            (i,) = loop.ivs
            value = gml_st.materialize(x, gml_st.point(x, [i]))
            gml_st.set_yield(
                [doubled(value), value],
                into=[y, total],
                at=[gml_st.point(y, [i]), gml_st.point(total, [])],
                accumulate=[None, add],
            )
        return loop.results

    x = floats(6)
    types = ["tensor<6xf32>", "tensor<f32>", "tensor<6xf32>"]
    twice, total = numbers(types, body, x, np.float32(3), floats(6))
    np.testing.assert_array_equal(twice, 2 * x)
    assert total == 3 + x.sum()


def test_loops_in_loops() -> None:
    def body(x: ir.Value, y: ir.Value) -> Any:
        with gml_st.loop([0], [8], [4], ins=[x], outs=[y]) as outer:
            (i,) = outer.ivs
            tile = gml_st.tile(outer.outs[0], [i], [4])
            start = gml_st.materialize(outer.outs[0], tile)
            with gml_st.for_([0], [4], [1], outs=[start]) as inner:
                (j,) = inner.ivs
                mine = gml_st.point(gml_st.tile(outer.ins[0], [i], [4]), [j])
                value = doubled(gml_st.materialize(outer.ins[0], mine))
                there = gml_st.point(inner.outs[0], [j])
                gml_st.set_yield([value], into=inner.outs, at=[there], accumulate=add)
            gml_st.yield_([inner.results[0]], to=[tile])
        return outer.results[0]

    x, y = floats(8), floats(8)
    np.testing.assert_array_equal(numbers(["tensor<8xf32>"] * 2, body, x, y), 2 * x + y)


def test_a_parallel_loop_that_reads_other_parts_of_its_output_keeps_its_order() -> None:
    def body(y: ir.Value) -> Any:
        with gml_st.loop([1], [6], [1], outs=[y]) as loop:
            (i,) = loop.ivs
            first = gml_st.materialize(loop.outs[0], gml_st.point(loop.outs[0], [0]))
            gml_st.yield_([first], to=[gml_st.point(loop.outs[0], [i])])
        return loop.results[0]

    report = lx.transforms.lower_subset_loops(subset_module(["tensor<6xf32>"], body))
    assert "scf.forall" not in str(report.module)
    assert "other parts of the output" in str(report.decisions)
    y = floats(6)
    np.testing.assert_array_equal(numbers(["tensor<6xf32>"], body, y), np.full(6, y[0]))


def test_a_step_of_nothing_ends_in_an_error() -> None:
    def body(y: ir.Value, step: ir.Value) -> Any:
        zero, four = (arith.ConstantOp(ir.IndexType.get(), n).result for n in (0, 4))
        with gml_st.for_([zero], [four], [step], outs=[y]) as loop:
            here = gml_st.point(loop.outs[0], list(loop.ivs))
            value = gml_st.materialize(loop.outs[0], here)
            gml_st.set_yield([doubled(value)], into=loop.outs, at=[here])
        return loop.results[0]

    kernel = kernel_of(["tensor<4xf32>", "index"], body)
    y = floats(4)
    np.testing.assert_array_equal(kernel(y, 1), 2 * y)
    for step in (0, -1):
        with pytest.raises(ExecutionError, match="step of a loop over subsets is not positive"):
            kernel(y, step)


def test_a_set_is_no_value() -> None:
    text = """
    func.func private @use(!gml_st.subset<"4">)
    func.func @main() {
      %s = "gml_st.space"() {static_sizes = array<i64: 4>} : () -> !gml_st.subset<"4">
      call @use(%s) : (!gml_st.subset<"4">) -> ()
      return
    }"""
    with pytest.raises(LoweringError, match=r"a set of gml_st\.space is used by func\.call"):
        lx.transforms.lower_subset_loops(lx.parse(text))


def test_a_set_from_elsewhere_has_no_place() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>, %s: !gml_st.subset<"2">) -> tensor<2xf32> {
      %r = "gml_st.materialize"(%x, %s) : (tensor<4xf32>, !gml_st.subset<"2">) -> tensor<2xf32>
      return %r : tensor<2xf32>
    }"""
    with pytest.raises(LoweringError, match="a set is argument 1 of the block") as caught:
        lx.transforms.lower_subset_loops(lx.parse(text))
    assert "gml_st.materialize" in str(caught.value)


def test_a_parallel_loop_reads_what_its_destination_was_before() -> None:
    def body(x: ir.Value, y: ir.Value) -> Any:
        with gml_st.parallel([0], [4], [1]) as loop:
            start = gml_st.materialize(y, gml_st.point(y, []))
            value = add(gml_st.materialize(x, gml_st.point(x, list(loop.ivs))), start)
            gml_st.set_yield([value], into=[y], at=[gml_st.point(y, [])], accumulate=add)
        return loop.results[0]

    x = floats(4)
    total = numbers(["tensor<4xf32>", "tensor<f32>"], body, x, np.float32(5))
    assert total == 5 + x.sum() + 4 * 5


def test_all_that_a_place_is_computed_by_moves_out_of_the_sequential_iterators() -> None:
    def body(x: ir.Value, y: ir.Value) -> Any:
        with gml_st.loop(
            [0, 0], [6, 4], [2, 1], ins=[x], outs=[y], iterators=["sequential", "parallel"]
        ) as loop:
            i, j = loop.ivs
            part = gml_st.materialize(loop.ins[0], gml_st.tile(loop.ins[0], [j, i], [1, 2]))
            three = arith.ConstantOp.create_index(3).result
            there = gml_st.tile(gml_st.full(loop.outs[0]), [arith.SubIOp(three, j).result], [1])
            gml_st.yield_([row_sums(part, gml_st.materialize(loop.outs[0], there))], to=[there])
        return loop.results[0]

    types = ["tensor<4x6xf32>", "tensor<4xf32>"]
    assert "scf.forall" in str(lx.transforms.lower_subset_loops(subset_module(types, body)).module)
    x, y = floats(4, 6), floats(4)
    np.testing.assert_array_equal(numbers(types, body, x, y), y + x.sum(1)[::-1])


def test_an_output_that_moves_with_a_sequential_iterator_keeps_its_order() -> None:
    def body(x: ir.Value, y: ir.Value) -> Any:
        with gml_st.loop(
            [0, 0], [4, 3], [1, 1], ins=[x], outs=[y], iterators=["parallel", "sequential"]
        ) as loop:
            i, j = loop.ivs
            here = gml_st.point(loop.outs[0], [i, j])
            value = gml_st.materialize(loop.ins[0], gml_st.point(loop.ins[0], [i, j]))
            gml_st.yield_([add(value, gml_st.materialize(loop.outs[0], here))], to=[here])
        return loop.results[0]

    types = ["tensor<4x3xf32>"] * 2
    report = lx.transforms.lower_subset_loops(subset_module(types, body))
    assert "a sequential iterator moves over the output" in str(report.decisions)
    x, y = floats(4, 3), floats(4, 3)
    np.testing.assert_array_equal(numbers(types, body, x, y), x + y)


@pytest.mark.parametrize("threads", [1, 2])
def test_parallel_loops_in_parallel_loops(threads: int) -> None:
    def body(x: ir.Value, y: ir.Value) -> Any:
        with gml_st.parallel([0, 0], [16, 16], [8, 8]) as outer:
            tile = gml_st.tile(x, list(outer.ivs), [8, 8])
            part, init = gml_st.materialize(x, tile), gml_st.materialize(y, tile)
            with gml_st.parallel([0, 0], [8, 8], [4, 2]) as inner:
                small = gml_st.tile(part, list(inner.ivs), [4, 2])
                value = doubled(gml_st.materialize(part, small))
                gml_st.set_yield([value], into=[init], at=[small])
            gml_st.set_yield([inner.results[0]], into=[y], at=[tile])
        return outer.results[0]

    x = floats(16, 16)
    types = ["tensor<16x16xf32>"] * 2
    twice = numbers(types, body, x, floats(16, 16), threads=threads)
    np.testing.assert_array_equal(twice, 2 * x)
