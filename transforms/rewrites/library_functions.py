"""Ops replaced by calls of a library, and their description for `kernel.explain()`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, cf, func, ir, linalg, memref, passmanager
from linalg_ext.executable.libraries import Gemm
from linalg_ext.structured.contraction import fill_number
from linalg_ext.structured.contraction_form import Contraction
from linalg_ext.structured.maps import iterators_attribute
from linalg_ext.structured.sizes import dim_of, sizes_of, split_sizes
from linalg_ext.transforms.ir_utils.walking import element_type, operations, replace_op

from .call_stubs import adopt, stub
from .library_choice import Chosen, operand_type

PREFIX = "lx.library.call"
"""Begins the names of these functions."""


@dataclass(frozen=True)
class LibraryCall:
    """An op that became a call, described for `kernel.explain()`."""

    symbol: str
    op: str
    chosen: Chosen
    types: tuple[str, ...]
    copied: tuple[int, ...]

    @property
    def title(self) -> str:
        """The title of the table."""
        return f"library call @{self.symbol}"

    def rows(self) -> Sequence[tuple[str, str]]:
        """Return the op, the function, its library, and the operands that are copied for it."""
        native = self.chosen.native
        rows = [
            ("op", f"{self.op} on {', '.join(self.types)}"),
            ("function", str(native.function)),
            ("library", f"{native.library}, {native.file or 'of this process'}"),
        ]
        if self.copied:
            rows.append(("copied", ", ".join(f"operand {number}" for number in self.copied)))
        return rows


def replace_by_call(module: ir.Operation, op: Any, chosen: Chosen) -> LibraryCall:
    """Replace an op of a module by a call of a function that it gets; the op is gone then."""
    name = op.name
    operands = list(op.operands)
    types_of_op = tuple(str(value.type) for value in operands)
    table = ir.SymbolTable(module)
    symbol = next(s for n in itertools.count() if (s := f"{PREFIX}{n}") not in table)
    overwrites = len(op.results) > 0 and isinstance(chosen.native.function, Gemm)
    overwrites = overwrites and _unfill(operands)
    types = [_buffer_type(v.type, n, chosen) for n, v in enumerate(operands)]
    body = CallBody(symbol, chosen, types, linalg.get_indexing_maps(op))
    with op.location:
        adopt(module, body.module(overwrites=overwrites))
        callee = symbol
        if len(op.results):
            callee = f"{symbol}.stub"
            tensors = [value.type for value in operands]
            adopt(module, stub(symbol, callee, tensors, types, chosen.inputs))
        with ir.InsertionPoint(op):
            call = func.CallOp([result.type for result in op.results], callee, operands)
    replace_op(op, *call.operation.results)
    return LibraryCall(symbol, name, chosen, types_of_op, tuple(body.copied))


def _unfill(operands: list[Any]) -> bool:
    """Return whether the last operand is a fill with zeros, and replace it by the filled value."""
    if fill_number(operands[-1]) != 0:
        return False
    operands[-1] = operands[-1].owner.operation.operands[1]
    return True


def _buffer_type(type_: Any, number: int, chosen: Chosen) -> Any:
    """Return the memref type of an operand: the function's for an input, dense for an output."""
    if not isinstance(type_, ir.RankedTensorType):
        return type_
    layout = chosen.native.function.operands[number].layout
    if number >= chosen.inputs or not layout:
        return ir.MemRefType.get(type_.shape, type_.element_type)
    return ir.MemRefType.get(type_.shape, type_.element_type, ir.Attribute.parse(layout))


_CHECKS = "builtin.module(generate-runtime-verification)"
_CONVERSION = "builtin.module(convert-linalg-to-std)"


class CallBody:
    """The function on memrefs for one op: it checks their shapes, copies them, and calls.

    Attributes:
        copied: the operands that are copied at each call.
    """

    def __init__(self, symbol: str, chosen: Chosen, types: Sequence[Any], maps: Any) -> None:
        self.copied: list[int] = []
        self._symbol = symbol
        self._chosen = chosen
        self._types = types
        self._maps = maps
        self._affine_maps = [ir.AffineMapAttr(map_).value for map_ in maps]

    def module(self, *, overwrites: bool) -> ir.Module:
        """Return a module of the function and those that it calls."""
        module = ir.Module.create()
        outer, arguments = _function(module, self._symbol, self._types)
        with ir.InsertionPoint(outer):
            self._generic(arguments)
            func.ReturnOp([])
        (generic,) = operations(module, {"linalg.generic"})
        with ir.InsertionPoint(generic):
            self._check_sizes(arguments)
        if not all(map_.is_projected_permutation for map_ in self._affine_maps):
            _run(module, _CHECKS)
            (generic,) = operations(module, {"linalg.generic"})
        inner = f"{self._symbol}.native"
        with ir.InsertionPoint(generic):
            arguments = list(generic.operands)
            fitted = [self._fitted(number, value) for number, value in enumerate(arguments)]
            passed = [self._opened(number, value) for number, value in enumerate(fitted)]
            func.CallOp([], inner, passed)
            for number in self.copied:
                if number >= self._chosen.inputs:
                    memref.copy(fitted[number], arguments[number])
        generic.erase()
        native = self._native(inner, [value.type for value in passed], overwrites)
        adopt(module.operation, native)
        return module

    def _check_sizes(self, operands: Sequence[Any]) -> None:
        """Check that sizes agree which one dimension of the op gives.

        Upstream's checks leave out accesses that a loop nest of no iterations would not make; but a
        library relies on the sizes that it is given.
        """
        first: dict[str, tuple[int, int]] = {}
        for number, map_ in enumerate(self._affine_maps):
            for axis, index_expr in enumerate(map_.results):
                if not isinstance(index_expr, ir.AffineDimExpr):
                    continue
                other, other_axis = first.setdefault(str(index_expr), (number, axis))
                reference, value = operands[other], operands[number]
                if (number, axis) == (other, other_axis) or not (
                    reference.type.is_dynamic_dim(other_axis) or value.type.is_dynamic_dim(axis)
                ):
                    continue
                equal = arith.cmpi(
                    arith.CmpIPredicate.eq, dim_of(reference, other_axis), dim_of(value, axis)
                )
                cf.AssertOp(
                    equal,
                    f"axis {axis} of operand {number} of `{self._chosen.native.function.symbol}` "
                    f"is not as long as axis {other_axis} of operand {other}",
                )

    def _native(self, name: str, types: Sequence[Any], overwrites: bool) -> ir.Module:
        """Return the call itself: by upstream's conversion, or as CBLAS wants it."""
        native = self._chosen.native
        if isinstance(native.function, Gemm) and self._chosen.product is not None:
            return ir.Module.parse(
                gemm_function(
                    name,
                    native.linked_name,
                    native.function,
                    self._chosen.product,
                    overwrites=overwrites,
                )
            )
        module = ir.Module.create()
        block, arguments = _function(module, name, types)
        with ir.InsertionPoint(block):
            self._generic(arguments, native.symbol)
            func.ReturnOp([])
        _run(module, _CONVERSION)
        return module

    def _generic(self, operands: Sequence[Any], library_call: str | None = None) -> None:
        """Build the op for its operands' shapes alone: its body computes nothing."""
        inputs = self._chosen.inputs
        maps = self._affine_maps
        # The use of a loop in the outputs determines its iterator type; the shapes hang on nothing
        # else.
        written = {str(expr) for map_ in maps[inputs:] for expr in map_.results}
        kinds = [
            "parallel" if f"d{dim}" in written else "reduction" for dim in range(maps[0].n_dims)
        ]
        generic = linalg.GenericOp(
            result_tensors=[],
            inputs=operands[:inputs],
            outputs=operands[inputs:],
            indexing_maps=self._maps,
            iterator_types=iterators_attribute(kinds),
            library_call=library_call,
        )
        block = generic.regions[0].blocks.append(*(element_type(value.type) for value in operands))
        with ir.InsertionPoint(block):
            linalg.YieldOp(list(block.arguments)[inputs:])

    def _fitted(self, number: int, value: Any) -> Any:
        """Return an operand that lies as the function takes it: itself, or a dense copy."""
        type_ = value.type
        expected = self._chosen.native.function.operands[number]
        if not isinstance(type_, ir.MemRefType) or expected.takes_layout_of(operand_type(type_)):
            return value
        self.copied.append(number)
        shape, sizes = split_sizes(sizes_of(value))
        fresh = memref.alloc(ir.MemRefType.get(shape, type_.element_type), sizes, [])
        memref.copy(value, fresh)
        return fresh

    def _opened(self, number: int, value: Any) -> Any:
        """Cast an operand to the type of the function's one declaration."""
        type_ = ir.Type.parse(str(self._chosen.native.function.operands[number]))
        return value if value.type == type_ else memref.cast(type_, value)


def _function(module: ir.Module, name: str, types: Sequence[Any]) -> tuple[ir.Block, list[Any]]:
    """Return a function without results in a module: its block and its arguments."""
    with ir.InsertionPoint(module.body):
        function = func.FuncOp(name, (list(types), []))
    function.attributes["sym_visibility"] = ir.StringAttr.get("private")
    block = function.add_entry_block()
    return block, list(block.arguments)


def _run(module: ir.Module, pipeline: str) -> None:
    passmanager.PassManager.parse(pipeline).run(module.operation)


_ROW_MAJOR, _COLUMN_MAJOR = 101, 102
_PLAIN, _TRANSPOSED = 111, 112
"""The values of the transpose arguments in <cblas.h>."""

_MATRIX = "memref<?x?x{element}, strided<[?, ?], offset: ?>>"


def gemm_function(
    name: str, native: str, gemm: Gemm, product: Contraction, *, overwrites: bool
) -> str:
    """Return the text of a function on three matrices of any strides, and of the functions it
    calls.

    Args:
        name: of the function.
        native: the linked name of CBLAS's.
        gemm: the layouts that the library's product takes.
        product: how the matrices are indexed: by a row, a column and the summed dimension.
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
    """Return the check that 32 bits hold the sizes, or an empty text."""
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
    """One matrix in the text: the names of its sizes and strides begin with its letter."""

    def __init__(self, letter: str, type_: str, element: str, *, rows: int, size: str) -> None:
        self._letter = letter
        self._type = type_
        self._element = element
        self._axes = (rows, 1 - rows)
        self._size = size

    def fitted(self) -> str:
        """Return the text that makes `%a` of `%a0`: itself if it has a unit stride, else a copy."""
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
