"""From memrefs to what the matrix product of CBLAS takes."""

from __future__ import annotations

from linalg_ext.libraries import Gemm
from linalg_ext.structured.contraction_form import Contraction

_ROW_MAJOR, _COLUMN_MAJOR = 101, 102
_PLAIN, _TRANSPOSED = 111, 112
"""The values of the transpose arguments in <cblas.h>."""

_MATRIX = "memref<?x?x{element}, strided<[?, ?], offset: ?>>"


def gemm_function(
    name: str, native: str, gemm: Gemm, product: Contraction, *, overwrites: bool
) -> str:
    """The text of a function on three matrices of any strides, and of what it calls.

    Args:
        name: of the function.
        native: the linked name of CBLAS's.
        gemm: what that takes.
        product: how the matrices are indexed: by a row, a column and what is summed over.
        overwrites: whether the result is not read, for it would be zero.
    """
    (m,), (k,) = product.rows, product.contracted
    size = f"i{gemm.integer_bits}"
    matrix = _MATRIX.format(element=gemm.element)
    a, b, c = (
        _Matrix(letter, matrix, gemm.element, rows=dims.index(row), size=size)
        for letter, dims, row in (("a", product.a, m), ("b", product.b, k), ("c", product.c, m))
    )
    kinds = f"i32, i32, i32, {size}, {size}, {size}, {gemm.element}, !llvm.ptr, {size}, "
    kinds += f"!llvm.ptr, {size}, {gemm.element}, !llvm.ptr, {size}"
    beta = "0.0" if overwrites else "1.0"
    return f"""
func.func private @{native}({kinds})
func.func private @{name}(%a0: {matrix}, %b0: {matrix}, %c0: {matrix}) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %alpha = arith.constant 1.0 : {gemm.element}
  %beta = arith.constant {beta} : {gemm.element}
  %by_rows = arith.constant {_ROW_MAJOR} : i32
  %by_columns = arith.constant {_COLUMN_MAJOR} : i32
  %plain = arith.constant {_PLAIN} : i32
  %transposed = arith.constant {_TRANSPOSED} : i32
  {a.fitted()}
  {b.fitted()}
  {c.fitted()}
  {a.described()}
  {b.described()}
  {c.described()}
  %order = arith.select %c_by_rows, %by_rows, %by_columns : i32
  %a_as_c = arith.cmpi eq, %a_by_rows, %c_by_rows : i1
  %b_as_c = arith.cmpi eq, %b_by_rows, %c_by_rows : i1
  %a_turn = arith.select %a_as_c, %plain, %transposed : i32
  %b_turn = arith.select %b_as_c, %plain, %transposed : i32
  %m = arith.index_cast %c_rows : index to {size}
  %n = arith.index_cast %c_columns : index to {size}
  %k = arith.index_cast %a_columns : index to {size}
  {_checked(gemm)}
  call @{native}(%order, %a_turn, %b_turn, %m, %n, %k, %alpha, %a_pointer, %a_leading, %b_pointer,
    %b_leading, %beta, %c_pointer, %c_leading) : ({kinds}) -> ()
  scf.if %c_is_copied {{
    memref.copy %c, %c0 : {matrix} to {matrix}
  }}
  return
}}
"""


def _checked(gemm: Gemm) -> str:
    """Nothing, or the check that 32 bits hold the sizes."""
    if gemm.integer_bits == 64:
        return ""
    lines = ["%most = arith.constant 2147483647 : index"]
    for name in ("%c_rows", "%c_columns", "%a_columns", "%a_step", "%b_step", "%c_step"):
        lines += [
            f"{name}_fits = arith.cmpi sle, {name}, %most : index",
            f'cf.assert {name}_fits, "a matrix is too large for 32-bit sizes of {gemm.symbol}"',
        ]
    return "\n  ".join(lines)


class _Matrix:
    """One matrix in the text: the names of what is known of it begin with its letter."""

    def __init__(self, letter: str, type_: str, element: str, *, rows: int, size: str) -> None:
        self._letter = letter
        self._type = type_
        self._element = element
        self._axes = (rows, 1 - rows)
        self._size = size

    def fitted(self) -> str:
        """`%a` of `%a0`: itself where one of its strides is 1, else a dense copy."""
        x, kind = self._letter, self._type
        dense = f"memref<?x?x{self._element}>"
        copied = ""
        if x == "c":
            copied = "%c_is_copied = arith.xori %c0_fits, %true : i1\n  "
            copied = "%true = arith.constant true\n  " + copied
        return f"""{self._metadata(x + "0")}
  {self._directions(x + "0")}
  %{x}0_fits = arith.ori %{x}0_by_rows, %{x}0_by_columns : i1
  {copied}%{x} = scf.if %{x}0_fits -> ({kind}) {{
    scf.yield %{x}0 : {kind}
  }} else {{
    %fresh = memref.alloc(%{x}0_sizes#0, %{x}0_sizes#1) : {dense}
    %copy = memref.cast %fresh : {dense} to {kind}
    memref.copy %{x}0, %copy : {kind} to {kind}
    scf.yield %copy : {kind}
  }}"""

    def described(self) -> str:
        """Return the text for the sizes, order, leading dimension and pointer of `%a`."""
        x, bytes_ = self._letter, int(self._element[1:]) // 8
        return f"""{self._metadata(x)}
  {self._directions(x)}
  %{x}_far_row = arith.maxsi %{x}_row_stride, %{x}_least_row : index
  %{x}_far_column = arith.maxsi %{x}_column_stride, %{x}_least_column : index
  %{x}_step = arith.select %{x}_by_rows, %{x}_far_row, %{x}_far_column : index
  %{x}_leading = arith.index_cast %{x}_step : index to {self._size}
  %{x}_address = memref.extract_aligned_pointer_as_index %{x} : {self._type} -> index
  %{x}_width = arith.constant {bytes_} : index
  %{x}_skipped = arith.muli %{x}_offset, %{x}_width : index
  %{x}_first = arith.addi %{x}_address, %{x}_skipped : index
  %{x}_number = arith.index_cast %{x}_first : index to i64
  %{x}_pointer = llvm.inttoptr %{x}_number : i64 to !llvm.ptr"""

    def _metadata(self, x: str) -> str:
        rows, columns = self._axes
        return f"""%{x}_base, %{x}_offset, %{x}_sizes:2, %{x}_strides:2 =
    memref.extract_strided_metadata %{x} : {self._type}
    -> memref<{self._element}>, index, index, index, index, index
  %{x}_rows = arith.addi %{x}_sizes#{rows}, %zero : index
  %{x}_columns = arith.addi %{x}_sizes#{columns}, %zero : index
  %{x}_row_stride = arith.addi %{x}_strides#{rows}, %zero : index
  %{x}_column_stride = arith.addi %{x}_strides#{columns}, %zero : index"""

    def _directions(self, x: str) -> str:
        """Return whether it lies by rows, or by columns: along an axis of one element any stride
        will do.

        The stride of the other axis must leave room for a row, or a column.
        """
        return f"""%{x}_least_row = arith.maxsi %{x}_columns, %one : index
  %{x}_least_column = arith.maxsi %{x}_rows, %one : index
  %{x}_has_one_row = arith.cmpi sle, %{x}_rows, %one : index
  %{x}_has_one_column = arith.cmpi sle, %{x}_columns, %one : index
  %{x}_near_column = arith.cmpi eq, %{x}_column_stride, %one : index
  %{x}_near_row = arith.cmpi eq, %{x}_row_stride, %one : index
  %{x}_wide_row = arith.cmpi sge, %{x}_row_stride, %{x}_least_row : index
  %{x}_wide_column = arith.cmpi sge, %{x}_column_stride, %{x}_least_column : index
  %{x}_row_dense = arith.ori %{x}_near_column, %{x}_has_one_column : i1
  %{x}_column_dense = arith.ori %{x}_near_row, %{x}_has_one_row : i1
  %{x}_row_apart = arith.ori %{x}_wide_row, %{x}_has_one_row : i1
  %{x}_column_apart = arith.ori %{x}_wide_column, %{x}_has_one_column : i1
  %{x}_by_rows = arith.andi %{x}_row_dense, %{x}_row_apart : i1
  %{x}_by_columns = arith.andi %{x}_column_dense, %{x}_column_apart : i1"""
