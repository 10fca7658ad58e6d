"""Rows that indices name become operands: the documented form, and what is left as it is."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from examples import check_example, examples
from linalg_ext.bindings import ir
from linalg_ext.transforms.codegen.loops import view_indexed_rows as file
from linalg_ext.transforms.codegen.loops.view_indexed_rows import SHORTEST, view_indexed_rows


def gathering(columns: str = "40", *, row: str = "%i0", column: str = "%d") -> str:
    """A function that reads a row of `%a` for each element of `%i`, and halves it."""
    return f"""
    func.func @f(%a: memref<4x{columns}xf32>, %i: memref<3xindex>, %o: memref<3x{columns}xf32>)
        attributes {{llvm.emit_c_interface}} {{
      %half = arith.constant 0.5 : f32
      %c1 = arith.constant 1 : index
      linalg.generic {{indexing_maps = [affine_map<(r, d) -> (r)>, affine_map<(r, d) -> (r, d)>],
                      iterator_types = ["parallel", "parallel"]}}
          ins(%i : memref<3xindex>) outs(%o : memref<3x{columns}xf32>) {{
      ^bb0(%i0: index, %out: f32):
        %r = linalg.index 0 : index
        %d = linalg.index 1 : index
        %next = arith.addi %i0, %c1 : index
        %moved = arith.addi %i0, %d : index
        %v = memref.load %a[{row}, {column}] : memref<4x{columns}xf32>
        %w = arith.mulf %v, %half : f32
        linalg.yield %w : f32
      }}
      return
    }}"""


def test_the_example() -> None:
    around = """
    func.func @f(%a: memref<4x40xf32>, %i: memref<3xindex>, %o: memref<3x40xf32>)
        attributes {llvm.emit_c_interface} {
      {}
      return
    }"""
    given = "c0 0 : index\nc1 1 : index\nc3 3 : index"
    check_example(file.view_indexed_rows, examples(file)[0], around=around, given=given)


@pytest.mark.parametrize("columns", ["40", "?", "1"])
@pytest.mark.parametrize("row", ["%i0", "%next"])
def test_rows_are_read_in_place(columns: str, row: str) -> None:
    size = 40 if columns == "?" else int(columns)
    a = np.arange(4 * size, dtype=np.float32).reshape(4, size)
    i, o = np.array([2, 0, 1]), np.zeros((3, size), np.float32)
    lx.compile(lx.parse(gathering(columns, row=row)), opt_level=0)(a, i, o)
    np.testing.assert_array_equal(o, a[i + (row == "%next")] / 2)


def test_a_row_may_be_named_by_a_scalar_and_summed() -> None:
    text = """
    func.func @f(%a: memref<4x40xf32>, %i: index, %w: memref<40xf32>, %o: memref<3xf32>) {
      linalg.generic {indexing_maps = [affine_map<(r, d) -> ()>, affine_map<(r, d) -> (d)>,
                                       affine_map<(r, d) -> (r)>],
                      iterator_types = ["parallel", "reduction"]}
          ins(%i, %w : index, memref<40xf32>) outs(%o : memref<3xf32>) {
      ^bb0(%first: index, %x: f32, %sum: f32):
        %r = linalg.index 0 : index
        %d = linalg.index 1 : index
        %row = arith.addi %first, %r : index
        %v = memref.load %a[%row, %d] : memref<4x40xf32>
        %p = arith.mulf %v, %x : f32
        %s = arith.addf %sum, %p : f32
        linalg.yield %s : f32
      }
      return
    }"""
    a = np.arange(160, dtype=np.float32).reshape(4, 40)
    w, o = np.arange(40, dtype=np.float32) % 3, np.ones(3, np.float32)
    lx.compile(lx.parse(text), opt_level=0)(a, 1, w, o)
    np.testing.assert_array_equal(o, 1 + a[1:] @ w)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (gathering(column="%i0"), "does not run along the rows"),
        (gathering(row="%moved"), "changes along the row"),
        (gathering(str(SHORTEST - 1)), "the rows are short"),
        (
            gathering().replace("memref<4x40xf32>", "memref<4x40xf32, strided<[1, 4]>>"),
            "does not lie in rows",
        ),
        (gathering().replace("%a[", "%o[").replace("4x40", "3x40"), "may write to"),
    ],
)
def test_what_is_left(text: str, reason: str) -> None:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        before = str(module)
        report = view_indexed_rows.apply(module.operation)
        assert reason in str(report.left)
        assert str(module) == before
