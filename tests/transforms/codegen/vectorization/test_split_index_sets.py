"""Loops split where indices jump: results beside NumPy's, and what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.vectorization.split_index_sets import split_index_sets

ops = lx.ops


def around(body: str) -> str:
    return f"func.func @f(%x: memref<9xf32>, %y: memref<9xf32>) {{\n{body}\nreturn\n}}"


def _array(*shape: int, dtype: Any) -> Any:
    return np.random.default_rng(1).integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_])
@pytest.mark.parametrize(("p", "q"), [(1, 1), (7, 64), (33, 2), (100, 100)])
def test_side_by_side(p: int, q: int, dtype: Any) -> None:
    a, b = _array(p, dtype=dtype), _array(q, dtype=dtype)
    np.testing.assert_array_equal(ops.concatenate(a, b), np.concatenate([a, b]))
    a, b = _array(5, p, dtype=dtype), _array(5, q, dtype=dtype)
    beside = ops.concatenate_columns(a, b[:, ::-1])
    np.testing.assert_array_equal(beside, np.concatenate([a, b[:, ::-1]], axis=1))
    below = ops.concatenate_rows(a.T, np.ascontiguousarray(b.T))
    np.testing.assert_array_equal(below, np.concatenate([a.T, b.T]))


@pytest.mark.parametrize("size", [1, 7, 50])
@pytest.mark.parametrize("by", [0, 1, 7, 60])
def test_turned_and_repeated(size: int, by: int) -> None:
    x = _array(size, dtype=np.float32)
    np.testing.assert_array_equal(ops.roll(x, shift=[by]), np.roll(x, by))
    np.testing.assert_array_equal(ops.tile(x, count=[by + 1]), np.tile(x, by + 1))
    rows = _array(3, size, dtype=np.float32)
    np.testing.assert_array_equal(ops.tile_2d(rows, counts=[3, 2]), np.tile(rows, (3, 2)))


def test_each_part_reads_what_it_copies() -> None:
    @lx.jit
    def joined(a: Any, b: Any) -> Any:
        return ops.exp(ops.concatenate(a, b))

    a, b = _array(50, dtype=np.float64) / 50, _array(70, dtype=np.float64) / 50
    np.testing.assert_allclose(joined(a, b), np.exp(np.concatenate([a, b])), rtol=1e-14)
    loops = joined.lower(a, b).compile().as_text("loops")
    assert "memref.load" not in loops, "all is on vectors"
    assert "arith.select" not in loops, "nobody asks which of the two it is"


STEP = """
linalg.generic {{indexing_maps = [affine_map<(i) -> ({index})>, affine_map<(i) -> (i)>],
                iterator_types = ["parallel"]}}
    ins(%x : memref<9xf32>) outs({out} : memref<9xf32>) {{
^bb0(%a: f32, %o: f32):
  linalg.yield %a : f32
}}"""


@pytest.mark.parametrize(
    ("index", "out"),
    [
        ("i floordiv 1 * 3 mod 2", "%y"),  # a part for each element
        ("i mod 4", "%x"),  # what it writes is what it reads
    ],
)
def test_what_is_left_alone(index: str, out: str) -> None:
    module = Module.parse(around(STEP.format(index=index, out=out)), trusted=True)
    before = str(module.ir)
    report = split_index_sets(module)
    assert not report
    assert str(module.ir) == before
    assert "the loops do not split into a few parts" in str(report)


def test_positions_are_those_of_the_whole_loop() -> None:
    body = """
    linalg.generic {indexing_maps = [affine_map<(i) -> (i mod 4)>, affine_map<(i) -> (i)>],
                    iterator_types = ["parallel"]}
        ins(%x : memref<4xf32>) outs(%y : memref<9xf32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i32
      %p = arith.sitofp %j : i32 to f32
      %s = arith.addf %a, %p : f32
      linalg.yield %s : f32
    }"""
    text = f"func.func @f(%x: memref<4xf32>, %y: memref<9xf32>) {{\n{body}\nreturn\n}}"
    module = Module.parse(text, trusted=True)
    assert split_index_sets(module)
    assert str(module.ir).count("linalg.generic") == 3
    kernel = lx.compile(lx.parse(text))
    x, y = np.arange(4, dtype=np.float32), np.empty(9, np.float32)
    kernel(x, y)
    np.testing.assert_array_equal(y, np.arange(9) % 4 + np.arange(9))
