"""Fill each new buffer, of heap, pool and stack, with a poison value: a read of it then shows.

before:
    %p = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
after:
    %p = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
    llvm.call @lx_poison(%p, %n) : (!llvm.ptr, i64) -> ()

With `LINALG_EXT_POISON=1` it is the last pass of all: see `linalg_ext.runtime.poison`. The pattern
is in a variable of the module.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, llvm
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.runtime.machine_code import variable_symbol
from linalg_ext.runtime.poison import PATTERN, VARIABLE
from linalg_ext.transforms.ir_utils.module_functions import declare
from linalg_ext.transforms.ir_utils.walking import callee_of, enclosing, name_of, operations

from .lend_buffers import TAKE

NAME = "linalg-ext-poison-allocations"

_FILL = "lx_poison"
_BYTES = {"malloc": 0, "aligned_alloc": 1}
"""The functions that give memory, and the position of its size among their arguments."""

FUNCTIONS = f"""
llvm.mlir.global weak @{variable_symbol(VARIABLE)}({PATTERN} : i64) : i64

llvm.func internal @{_FILL}(%start: !llvm.ptr, %bytes: i64) {{
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(1 : i64) : i64
  %8 = llvm.mlir.constant(8 : i64) : i64
  %7 = llvm.mlir.constant(7 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %variable = llvm.mlir.addressof @{variable_symbol(VARIABLE)} : !llvm.ptr
  %pattern = llvm.load %variable : !llvm.ptr -> i64
  %is_null = llvm.icmp "eq" %start, %null : !llvm.ptr
  llvm.cond_br %is_null, ^done, ^words(%0 : i64)
^words(%at: i64):
  %end = llvm.add %at, %8 : i64
  %fits = llvm.icmp "ule" %end, %bytes : i64
  llvm.cond_br %fits, ^word, ^bytes(%at : i64)
^word:
  %place = llvm.getelementptr %start[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.store %pattern, %place {{alignment = 1 : i64}} : i64, !llvm.ptr
  llvm.br ^words(%end : i64)
^bytes(%rest: i64):
  %more = llvm.icmp "ult" %rest, %bytes : i64
  llvm.cond_br %more, ^byte, ^done
^byte:
  %number = llvm.and %rest, %7 : i64
  %bits = llvm.mul %number, %8 : i64
  %shifted = llvm.lshr %pattern, %bits : i64
  %part = llvm.trunc %shifted : i64 to i8
  %last = llvm.getelementptr %start[%rest] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.store %part, %last : i8, !llvm.ptr
  %next = llvm.add %rest, %1 : i64
  llvm.br ^bytes(%next : i64)
^done:
  llvm.return
}}
"""


@module_pass(NAME, on=("llvm.alloca", "llvm.call"))
def poison_allocations(module: ir.Operation) -> Report:
    """Fill the memory that functions of the LLVM dialect allocate."""
    report = Report(NAME)
    for op in operations(module, {"llvm.call", "llvm.alloca"}):
        with op.location, ir.InsertionPoint.after(op):
            nbytes = _bytes_of_alloca(op) if op.name == "llvm.alloca" else _bytes_of_call(op)
            if nbytes is None:
                continue
            report.matched[op.name] += 1
            report.changed[op.name] += 1
            callee = ir.FlatSymbolRefAttr.get(_FILL)
            llvm.CallOp(None, [op.results[0], nbytes], [], [], callee=callee)
    if report.changed:
        declare(module, FUNCTIONS)
    return report


def _bytes_of_call(op: Any) -> Any:
    """Return the size of the memory that a call gives; None if it gives no memory."""
    if "callee" in op.attributes:
        position = _BYTES.get(callee_of(op))
        return None if position is None else op.operands[position]
    # The pool's function has no name: `lend_buffers` calls it by its address.
    function: Any = enclosing(op, "llvm.func")
    return op.operands[2] if name_of(function) == TAKE and len(op.results) else None


def _bytes_of_alloca(op: Any) -> Any:
    pointer, i64 = op.results[0].type, ir.IntegerType.get_signless(64)
    dynamic = ir.DenseI32ArrayAttr.get([-(1 << 31)])
    start = llvm.ZeroOp(pointer).result
    end = llvm.GEPOp(pointer, start, [op.operands[0]], dynamic, op.attributes["elem_type"], None)
    return llvm.PtrToIntOp(i64, end.result).result
