"""Bodies that read where they say, and that assert, on vectors."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ExecutionError

SIZES = [0, 1, 17, 100]
DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "i32": np.int32,
    "i8": np.int8,
    "i1": np.bool_,
}


def rows(size: int | str, element: str = "f32", column: str = "%d", body: str = "%v") -> str:
    """A function of a table and of indices of rows: one row of the table for each."""
    return f"""
    func.func @f(%t: tensor<9x{size}x{element}>, %i: tensor<5xi32>) -> tensor<5x{size}x{element}> {{
      %c1 = arith.constant 1 : index
      %axis = arith.constant 1 : index
      %n = tensor.dim %t, %axis : tensor<9x{size}x{element}>
      %last = arith.subi %n, %c1 : index
      %e = tensor.empty({"%n" if size == "?" else ""}) : tensor<5x{size}x{element}>
      %r = linalg.generic {{indexing_maps = [affine_map<(r, d) -> (r)>,
                                            affine_map<(r, d) -> (r, d)>],
                           iterator_types = ["parallel", "parallel"]}}
          ins(%i : tensor<5xi32>) outs(%e : tensor<5x{size}x{element}>) {{
      ^bb0(%a: i32, %o: {element}):
        %p = arith.index_cast %a : i32 to index
        %d = linalg.index 1 : index
        %back = arith.subi %last, %d : index
        %v = tensor.extract %t[%p, {column}] : tensor<9x{size}x{element}>
        linalg.yield {body} : {element}
      }} -> tensor<5x{size}x{element}>
      return %r : tensor<5x{size}x{element}>
    }}"""


def elements(size: int, *, of: int = 50, element: str = "f32", index: str = "i64") -> str:
    """A function of a table and of indices that are five too high: one element for each."""
    cast = f"arith.index_cast %near : {index} to index"
    if index == "index":
        cast = "arith.addi %near, %zero : index"
    return f"""
    func.func @f(%t: tensor<{of}x{element}>, %i: tensor<{size}x{index}>)
        -> tensor<{size}x{element}> {{
      %zero = arith.constant 0 : index
      %five = arith.constant 5 : {index}
      %e = tensor.empty() : tensor<{size}x{element}>
      %r = linalg.generic {{indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>],
                           iterator_types = ["parallel"]}}
          ins(%i : tensor<{size}x{index}>) outs(%e : tensor<{size}x{element}>) {{
      ^bb0(%a: {index}, %o: {element}):
        %near = arith.subi %a, %five : {index}
        %p = {cast}
        %v = tensor.extract %t[%p] : tensor<{of}x{element}>
        linalg.yield %v : {element}
      }} -> tensor<{size}x{element}>
      return %r : tensor<{size}x{element}>
    }}"""


def loops(kernel: Any) -> str:
    return str(kernel.as_text("loops"))


@pytest.mark.parametrize(("size", "checked"), [(0, True), (1, False), (17, True), ("?", False)])
def test_rows_are_loaded_side_by_side(size: int | str, checked: bool) -> None:
    kernel = lx.compile(lx.parse(rows(size)), checked=checked)
    assert "vector.gather" not in loops(kernel)
    table = np.random.default_rng(1).random((9, 19 if size == "?" else int(size)), np.float32)
    where = np.array([8, 0, 3, 3, 1], np.int32)
    np.testing.assert_array_equal(kernel(table, where), table[where])


@pytest.mark.parametrize("size", [1, 100])
def test_rows_from_back_to_front(size: int) -> None:
    kernel = lx.compile(lx.parse(rows(size, column="%back")), checked=False)
    table = np.random.default_rng(1).random((9, size), np.float32)
    where = np.array([8, 0, 3, 3, 1], np.int32)
    np.testing.assert_array_equal(kernel(table, where), table[where, ::-1])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("index", "checked"), [("i32", True), ("index", False)])
def test_elements_come_from_anywhere(size: int, index: str, checked: bool) -> None:
    # The lanes beyond the end of a row would read before the table.
    kernel = lx.compile(lx.parse(elements(size, index=index)), checked=checked)
    assert ("vector.gather" in loops(kernel)) == (size > 0 and not checked)
    rng = np.random.default_rng(2)
    table = rng.random(50, np.float32)
    where = rng.integers(0, 50, size).astype("int32" if index == "i32" else "int64")
    np.testing.assert_array_equal(kernel(table, where + where.dtype.type(5)), table[where])


@pytest.mark.parametrize("element", DTYPES)
def test_elements_of_every_kind(element: str) -> None:
    kernel = lx.compile(lx.parse(elements(21, element=element)), checked=False)
    assert "vector.gather" in loops(kernel)
    rng = np.random.default_rng(3)
    table = (rng.random(50) * 100 % (2 if element == "i1" else 99)).astype(DTYPES[element])
    where = rng.integers(0, 50, 21)
    np.testing.assert_array_equal(kernel(table, where + 5), table[where])


def test_an_index_out_of_bounds_is_found() -> None:
    kernel = lx.compile(lx.parse(elements(21)), checked=True)
    kernel(np.zeros(50, np.float32), np.full(21, 5))
    for at, wrong in itertools.product([0, 7, 8, 20], [4, 55, -(2**40)]):
        where = np.full(21, 5)
        where[at] = wrong
        with pytest.raises(ExecutionError, match="out-of-bounds"):
            kernel(np.zeros(50, np.float32), where)


@pytest.mark.parametrize("size", [1, 40])
def test_a_row_out_of_bounds_is_found(size: int) -> None:
    kernel = lx.compile(lx.parse(rows(size)), checked=True)
    for wrong in (-1, 9):
        with pytest.raises(ExecutionError, match="out-of-bounds"):
            kernel(np.zeros((9, size), np.float32), np.array([0, 1, wrong, 0, 0], np.int32))


def test_rows_are_summed() -> None:
    text = """
    func.func @f(%t: tensor<9x40xf32>, %i: tensor<3x4xi64>, %o: tensor<3x40xf32>)
        -> tensor<3x40xf32> {
      %r = linalg.generic {indexing_maps = [affine_map<(b, l, d) -> (b, l)>,
                                            affine_map<(b, l, d) -> (b, d)>],
                           iterator_types = ["parallel", "reduction", "parallel"]}
          ins(%i : tensor<3x4xi64>) outs(%o : tensor<3x40xf32>) {
      ^bb0(%a: i64, %sum: f32):
        %p = arith.index_cast %a : i64 to index
        %d = linalg.index 2 : index
        %v = tensor.extract %t[%p, %d] : tensor<9x40xf32>
        %s = arith.addf %sum, %v : f32
        linalg.yield %s : f32
      } -> tensor<3x40xf32>
      return %r : tensor<3x40xf32>
    }"""
    rng = np.random.default_rng(4)
    table = rng.integers(0, 9, (9, 40)).astype(np.float32)
    where = rng.integers(0, 9, (3, 4))
    kernel = lx.compile(lx.parse(text))
    result = kernel(table, where, np.ones((3, 40), np.float32))
    np.testing.assert_array_equal(result, 1 + table[where].sum(1))


def on_buffers(load: str, *, layout: str = "") -> str:
    """Two ops: the first writes `%m`, the second reads it or `%t` where indices say."""
    return f"""
    func.func @f(%x: memref<40xf32>, %t: memref<40xf32{layout}>, %i: memref<40xindex>,
                 %m: memref<40xf32>, %o: memref<40xf32>) {{
      linalg.generic {{indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>],
                      iterator_types = ["parallel"]}}
          ins(%x : memref<40xf32>) outs(%m : memref<40xf32>) {{
      ^bb0(%a: f32, %old: f32):
        %s = arith.addf %a, %a : f32
        linalg.yield %s : f32
      }}
      linalg.generic {{indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>],
                      iterator_types = ["parallel"]}}
          ins(%i : memref<40xindex>) outs(%o : memref<40xf32>) {{
      ^bb0(%p: index, %old: f32):
        %v = memref.load {load}
        linalg.yield %v : f32
      }}
      return
    }}"""


def called(text: str, table: Any) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(5)
    x, where = rng.random(40, np.float32), rng.integers(0, 40, 40)
    between, result = np.zeros((2, 40), np.float32)
    lx.compile(lx.parse(text), checked=False)(x, table, where, between, result)
    return x, where, between, result


def test_what_is_looked_up_is_written_first() -> None:
    table = np.zeros(40, np.float32)
    x, where, between, result = called(on_buffers("%m[%p] : memref<40xf32>"), table)
    np.testing.assert_array_equal(between, 2 * x)
    np.testing.assert_array_equal(result, between[where])


def test_a_table_may_have_gaps() -> None:
    layout = ", strided<[3], offset: ?>"
    table = np.arange(200, dtype=np.float32)[7 : 7 + 120 : 3]
    text = on_buffers(f"%t[%p] : memref<40xf32{layout}>", layout=layout)
    _, where, _, result = called(text, table)
    np.testing.assert_array_equal(result, table[where])


def test_what_an_op_writes_it_looks_up_one_by_one() -> None:
    kernel = lx.compile(lx.parse(on_buffers("%o[%p] : memref<40xf32>")), checked=False)
    assert "vector.gather" not in loops(kernel)
    assert "the op may write to memory that it loads" in str(kernel.explain())
