"""What sets name, read and written: of tensors, of memrefs, through filters; beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linalg_ext.bindings import ir, linalg
from linalg_ext.dialects import gml_st
from linalg_ext.errors import ExecutionError
from subset_modules import add, doubled, kernel_of, numbers

RNG = np.random.default_rng(7)


def floats(*shape: int) -> Any:
    return RNG.integers(-9, 9, shape).astype(np.float32)


@pytest.mark.parametrize("threads", [1, 2])
def test_tiles_of_memrefs_are_views(threads: int) -> None:
    def body(x: ir.Value, y: ir.Value) -> None:
        with gml_st.loop([0, 0], [8, 12], [4, 3], ins=[x], outs=[y]) as loop:
            tiles = [gml_st.tile(each, list(loop.ivs), [4, 3]) for each in (x, loop.outs[0])]
            parts = [gml_st.materialize(*each) for each in zip((x, y), tiles, strict=True)]
            linalg.add(parts[0], parts[0], outs=[parts[1]])
            gml_st.yield_()

    x, y = floats(8, 12), floats(8, 12)
    numbers(["memref<8x12xf32>"] * 2, body, x, y, threads=threads)
    np.testing.assert_array_equal(y, 2 * x)


def test_points_and_tiles_of_memrefs_are_written_in_place() -> None:
    def body(x: ir.Value, y: ir.Value, z: ir.Value) -> None:
        with gml_st.parallel([0], [8], [1]) as loop:
            (i,) = loop.ivs
            row = gml_st.materialize(x, gml_st.tile(x, [i, 2], [1, 4], [1, 2]))
            first = gml_st.materialize(x, gml_st.point(x, [i, 0]))
            gml_st.set_yield(
                [row, first],
                into=[y, z],
                at=[gml_st.tile(y, [i, 0], [1, 4]), gml_st.point(z, [])],
                accumulate=[None, add],
            )

    x, y, z = floats(8, 12), floats(8, 4), floats()
    z = np.array(z)
    start = z.copy()
    numbers(["memref<8x12xf32>", "memref<8x4xf32>", "memref<f32>"], body, x, y, z)
    np.testing.assert_array_equal(y, x[:, 2:10:2])
    assert z == start + x[:, 0].sum()


def test_a_filter_is_zero_elsewhere() -> None:
    def body(x: ir.Value, indices: ir.Value) -> Any:
        return gml_st.materialize(x, gml_st.filter(x, indices))

    x = floats(3, 4)
    indices = np.array([[0, 1], [2, 3], [0, 1]])
    expected = np.zeros_like(x)
    expected[tuple(indices.T)] = x[tuple(indices.T)]
    kernel = kernel_of(["tensor<3x4xf32>", "tensor<3x2xindex>"], body)
    np.testing.assert_array_equal(kernel(x, indices), expected)
    for wrong in ([3, 0], [0, -1]):
        indices[1] = wrong
        with pytest.raises(ExecutionError, match=r"an index of a gml_st\.filter is out of bounds"):
            kernel(x, indices)


def test_a_yield_through_a_filter_writes_those_elements_alone() -> None:
    def body(x: ir.Value, y: ir.Value, indices: ir.Value) -> Any:
        with gml_st.for_([0], [2], [1], outs=[y]) as loop:
            set_ = gml_st.filter(loop.outs[0], indices)
            gml_st.set_yield([doubled(x)], into=loop.outs, at=[set_], accumulate=add)
        return loop.results[0]

    x, y = floats(6), floats(6)
    indices = np.array([4, 1, 4], dtype=np.int32)
    expected = y.copy()
    expected[[1, 4]] += 4 * x[[1, 4]]
    types = ["tensor<6xf32>", "tensor<6xf32>", "tensor<?xi32>"]
    np.testing.assert_array_equal(numbers(types, body, x, y, indices), expected)


def test_sets_of_sets() -> None:
    def body(x: ir.Value, i: ir.Value) -> Any:
        outer = gml_st.tile(x, [2, i], [6, 5], [1, 2])
        inner = gml_st.tile(outer, [i, 1], [2, 2], [3, 2])
        flipped = gml_st.transpose_dims(inner, [1, 0])
        column = gml_st.drop_dims(inner, [1])
        here = gml_st.point(inner, [1, 1])
        return (
            gml_st.materialize(x, inner),
            gml_st.materialize(x, here),
            *(
                each(inner, dim)
                for each in (gml_st.offset, gml_st.size, gml_st.stride)
                for dim in (0, i)
            ),
            gml_st.offset(flipped, 0),
            gml_st.offset(column, 0),
            gml_st.offset(here, 1),
        )

    x = floats(12, 14)
    tile, element, *rest = numbers(["tensor<12x14xf32>", "index"], body, x, 1)
    np.testing.assert_array_equal(tile, x[3:7:3, [3, 7]])
    assert element == x[6, 7]
    assert rest == [3, 3, 2, 2, 3, 4, 3, 3, 7]


def test_boxes_of_two_sets() -> None:
    def body(x: ir.Value, i: ir.Value) -> Any:
        one, other = gml_st.tile(x, [i, 0], [4, 6]), gml_st.tile(x, [2, 1], [6, 3])
        boxes = (
            gml_st.intersection(one, other),
            gml_st.convex_union(one, other),
            *gml_st.difference(one, other),
        )
        return (
            *(gml_st.materialize(x, box) for box in boxes),
            gml_st.contains(one, other),
            gml_st.contains(boxes[1], other),
            gml_st.contains(one, gml_st.point(x, [i, 5])),
            *map(gml_st.is_empty, boxes[2:]),
        )

    kernel = kernel_of(["tensor<10x10xf32>", "index"], body)
    x = np.arange(100, dtype=np.float32).reshape(10, 10)
    for i in (0, 2, 3, 6):
        both, around, *rest = kernel(x, i)
        boxes, answers = rest[:4], rest[4:]
        one, other = x[i : i + 4, 0:6], x[2:8, 1:4]
        common = np.intersect1d(one, other)
        np.testing.assert_array_equal(np.sort(both.ravel()), common)
        np.testing.assert_array_equal(around, x[min(i, 2) : max(i + 4, 8), 0:6])
        left = np.sort(np.concatenate([box.ravel() for box in boxes]))
        np.testing.assert_array_equal(left, np.setdiff1d(one, other))
        assert answers == [False, True, True, *(box.size == 0 for box in boxes)]


def test_a_tile_beyond_its_tensor_is_found_where_checks_are_asked_for() -> None:
    def body(x: ir.Value, i: ir.Value) -> Any:
        return gml_st.materialize(x, gml_st.tile(x, [i], [4]))

    kernel = kernel_of(["tensor<8xf32>", "index"], body, checked=True)
    x = floats(8)
    np.testing.assert_array_equal(kernel(x, 4), x[4:])
    with pytest.raises(ExecutionError, match="out-of-bounds"):
        kernel(x, 5)


def test_memory_is_combined_in_place() -> None:
    def body(x: ir.Value, y: ir.Value) -> None:
        def summed(new: ir.Value, old: ir.Value) -> ir.Value:
            linalg.add(new, old, outs=[old])
            return old

        with gml_st.for_([0], [3], [1], outs=[y]) as loop:
            row = gml_st.materialize(x, gml_st.tile(x, [loop.ivs[0], 0], [1, 8]))
            there = gml_st.tile(loop.outs[0], [0, 0], [1, 8])
            gml_st.set_yield([row], into=loop.outs, at=[there], accumulate=summed)

    x, y = floats(3, 8), floats(1, 8)
    before = y.copy()
    numbers(["memref<3x8xf32>", "memref<1x8xf32>"], body, x, y)
    np.testing.assert_array_equal(y, before + x.sum(0))


def test_sets_of_nothing_have_one_element() -> None:
    def body(x: ir.Value) -> Any:
        sets = (gml_st.tile(x, [], [], []), gml_st.point(x, []), gml_st.full(x))
        return tuple(gml_st.materialize(x, set_) for set_ in sets)

    assert [float(each) for each in numbers(["tensor<f32>"], body, np.float32(3))] == [3, 3, 3]
