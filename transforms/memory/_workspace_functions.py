"""The functions that compiled code takes large buffers with, and gives them back."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.runtime.machine_code import variable_symbol
from linalg_ext.runtime.workspace import LEAST_BYTES, VARIABLE

TAKE, GIVE, GIVE_ALL = "lx_take", "lx_give", "lx_give_all"

_POOL = variable_symbol(VARIABLE)

DESCRIPTOR = "!llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>"
"""The descriptor of a `memref<?xi8>`: the allocation, the start, an offset, its size, a stride."""

FUNCTIONS = f"""
llvm.mlir.global weak @{_POOL}() : !llvm.ptr {{
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}}
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)

func.func private @lx_pool(%bytes: i64) -> (i1, !llvm.ptr)
    attributes {{llvm.linkage = #llvm.linkage<internal>}} {{
  %least = arith.constant {LEAST_BYTES} : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %variable = llvm.mlir.addressof @{_POOL} : !llvm.ptr
  %pool = llvm.load %variable : !llvm.ptr -> !llvm.ptr
  %is_there = llvm.icmp "ne" %pool, %null : !llvm.ptr
  %is_large = arith.cmpi uge, %bytes, %least : i64
  %lends = arith.andi %is_there, %is_large : i1
  return %lends, %pool : i1, !llvm.ptr
}}

func.func private @{TAKE}(%size: index) -> memref<?xi8>
    attributes {{llvm.linkage = #llvm.linkage<internal>}} {{
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %64 = arith.constant 64 : i64
  %line = arith.constant 63 : i64
  %bytes = arith.index_cast %size : index to i64
  %lends, %pool = call @lx_pool(%bytes) : (i64) -> (i1, !llvm.ptr)
  cf.cond_br %lends, ^lent, ^own
^lent:
  %take = llvm.load %pool : !llvm.ptr -> !llvm.ptr
  %block = llvm.call %take(%pool, %bytes) : !llvm.ptr, (!llvm.ptr, i64) -> !llvm.ptr
  cf.br ^done(%block, %0 : !llvm.ptr, i64)
^own:
  %room = arith.addi %bytes, %64 : i64
  %memory = llvm.call @malloc(%room) : (i64) -> !llvm.ptr
  %number = llvm.ptrtoint %memory : !llvm.ptr to i64
  %negated = arith.subi %0, %number : i64
  %missing = arith.andi %negated, %line : i64
  cf.br ^done(%memory, %missing : !llvm.ptr, i64)
^done(%allocated: !llvm.ptr, %skipped: i64):
  %aligned = llvm.getelementptr %allocated[%skipped] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %a = llvm.mlir.zero : {DESCRIPTOR}
  %b = llvm.insertvalue %allocated, %a[0] : {DESCRIPTOR}
  %c = llvm.insertvalue %aligned, %b[1] : {DESCRIPTOR}
  %d = llvm.insertvalue %bytes, %c[3, 0] : {DESCRIPTOR}
  %e = llvm.insertvalue %1, %d[4, 0] : {DESCRIPTOR}
  %buffer = builtin.unrealized_conversion_cast %e : {DESCRIPTOR} to memref<?xi8>
  return %buffer : memref<?xi8>
}}

func.func private @{GIVE}(%buffer: memref<?xi8>)
    attributes {{llvm.linkage = #llvm.linkage<internal>}} {{
  %whole = builtin.unrealized_conversion_cast %buffer : memref<?xi8> to {DESCRIPTOR}
  %allocated = llvm.extractvalue %whole[0] : {DESCRIPTOR}
  %bytes = llvm.extractvalue %whole[3, 0] : {DESCRIPTOR}
  %lends, %pool = call @lx_pool(%bytes) : (i64) -> (i1, !llvm.ptr)
  cf.cond_br %lends, ^lent, ^own
^lent:
  %second = llvm.getelementptr %pool[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %give = llvm.load %second : !llvm.ptr -> !llvm.ptr
  llvm.call %give(%pool, %allocated, %bytes) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64) -> ()
  return
^own:
  llvm.call @free(%allocated) : (!llvm.ptr) -> ()
  return
}}

func.func private @{GIVE_ALL}(%buffers: memref<?xmemref<?xi8>>)
    attributes {{llvm.linkage = #llvm.linkage<internal>}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %count = memref.dim %buffers, %0 : memref<?xmemref<?xi8>>
  cf.br ^next(%0 : index)
^next(%number: index):
  %more = arith.cmpi ult, %number, %count : index
  cf.cond_br %more, ^look, ^done
^look:
  %buffer = memref.load %buffers[%number] : memref<?xmemref<?xi8>>
  %address = memref.extract_aligned_pointer_as_index %buffer : memref<?xi8> -> index
  %is_there = arith.cmpi ne, %address, %0 : index
  %after = arith.addi %number, %1 : index
  cf.cond_br %is_there, ^give, ^next(%after : index)
^give:
  call @{GIVE}(%buffer) : (memref<?xi8>) -> ()
  cf.br ^next(%after : index)
^done:
  return
}}
"""


def declare(module: ir.Operation) -> bool:
    """Have the module define them; False where it means something else by one of their names."""
    symbols = ir.SymbolTable(module)
    if _POOL in symbols:
        return True
    parsed = ir.Module.parse(FUNCTIONS, module.context)  # must outlive what is read of it
    made = [op.operation for op in parsed.body.operations]
    taken = [op for op in made if ir.StringAttr(op.attributes["sym_name"]).value in symbols]
    if not all(_is_declared_so(symbols, op) for op in taken):
        return False
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        for op in made:
            if op not in taken:
                op.clone()
    return True


def _is_declared_so(symbols: ir.SymbolTable, op: Any) -> bool:
    """Return whether a symbol of a module is the same function of the C library's."""
    known = symbols[ir.StringAttr(op.attributes["sym_name"]).value].operation
    return bool(
        known.name == op.name
        and known.attributes["function_type"] == op.attributes["function_type"]
        and not len(op.regions[0].blocks)
    )
