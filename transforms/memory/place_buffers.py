"""Choose where each allocation is: in huge pages, on the stack, and there out of loops.

The first write to a page is a fault. A buffer of 64 MiB takes 16,384 faults in pages of 4 KiB, and
32 in huge pages: the former take longer than most kernels need to fill the buffer. A buffer for a
few sums costs as much on the heap as some hundred of them. On the stack it costs nothing, and LLVM
knows that nothing else names its memory.

before:
    %a = memref.alloc() : memref<4096x4096xf32>
after:
    %a = memref.alloc() : memref<4096x4096xf32>
    %p = memref.extract_aligned_pointer_as_index %a : memref<4096x4096xf32> -> index
    %last = arith.addi %p, %c4095 : index
    %page = arith.andi %last, %c-4096 : index
    %start = arith.index_cast %page : index to i64
    %inside = arith.subi %c67108864, %c4096 : index
    %length = arith.index_cast %inside : index to i64
    %ignored = func.call @madvise(%start, %length, %c14_i32) : (i64, i64, i32) -> i32

The advice is for the whole pages inside the buffer; the call's result is ignored. A buffer of
dynamic size is tested at run time.

before:
    %a = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
    memref.store %v, %a[%i] : memref<8xf32>
    memref.dealloc %a : memref<8xf32>
after:
    %a = memref.alloca() {alignment = 64 : i64} : memref<8xf32>
    memref.store %v, %a[%i] : memref<8xf32>

A buffer stays on the heap if it may live on beyond where it is freed, or if another thread could
allocate it at the same time. Of one function `MOVED_LIMIT_BYTES` go to the stack at most.

LLVM frees the stack when the function returns: a long loop with a buffer in it would overflow the
stack, which ends the process. `convert-vector-to-scf` leaves such buffers around vectors of several
dimensions.

before:
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.alloca() : memref<vector<4x8xf32>>
      memref.store %v, %a[] : memref<vector<4x8xf32>>
    }
after:
    %a = memref.alloca() : memref<vector<4x8xf32>>
    scf.for %i = %c0 to %n step %c1 {
      memref.store %v, %a[] : memref<vector<4x8xf32>>
    }

Of one function `HOISTED_LIMIT_BYTES` stay on the stack; buffers beyond it are on the heap until the
function returns.
"""

from __future__ import annotations

import mmap
from typing import Any

from linalg_ext.bindings import arith, func, ir, memref, scf
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.transforms.analysis.buffers import (
    MOST_BYTES,
    bytes_at_run_time,
    reaching,
    static_bytes,
)
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.module_functions import declare
from linalg_ext.transforms.ir_utils.walking import (
    functions,
    is_in_sequence,
    operations,
    rename_op,
    replace_op,
)

NAME = "linalg-ext-place-buffers"

LARGE_BYTES = 4 << 20
"""The smallest buffer that is advised: wherever it starts, it holds one huge page of 2 MiB."""

BUFFER_LIMIT_BYTES = 4 * 1024
"""The size of the largest buffer that goes to the stack."""

MOVED_LIMIT_BYTES = 32 * 1024
"""The most bytes of the stack that the buffers of one function take that were on the heap."""

HOISTED_LIMIT_BYTES = 256 * 1024
"""The most bytes of the stack that the buffers of one function take that were in loops."""

_PAGE = 4096
"""The alignment of the start in bytes; where base pages are larger the kernel refuses."""

_ADVICE: int = getattr(mmap, "MADV_HUGEPAGE", -1)
"""The number of the advice; -1 on a system without it."""

_FUNCTION = "madvise"
_DECLARATION = f"func.func private @{_FUNCTION}(i64, i64, i32) -> i32"
"""Addresses are passed as integers: both go the same way in every ABI of Linux."""

_ALLOC, _ALLOCA, _DEALLOC = "memref.alloc", "memref.alloca", "memref.dealloc"


@module_pass(NAME, on=(_ALLOC, _ALLOCA))
def place_buffers(module: ir.Operation) -> Report:
    """Advise huge pages for large allocations, move small ones to the stack, and out of loops.

    No page is advised on a system without such advice, or where `madvise` is a symbol of another
    type in the module.
    """
    report = Report(NAME)
    can_advise = _ADVICE >= 0
    for function in functions(module):
        moved = hoisted = 0
        for op in operations(function, {_ALLOC, _ALLOCA}):
            report.matched[op.name] += 1
            size = static_bytes(op.results[0].type)
            if can_advise and op.name == _ALLOC and _may_be_large(op.results[0].type):
                can_advise = declare(module, _DECLARATION)
                if can_advise:
                    report.changed[_ALLOC] += 1
                    _advise(op)
                    continue
                report.leave(_ALLOC, f"the module has a symbol `{_FUNCTION}` of its own")
            if op.name == _ALLOC:
                reason = _reason(op, size, MOVED_LIMIT_BYTES - moved)
                if reason is not None:
                    report.leave(_ALLOC, reason)
                    continue
                report.changed[_ALLOC] += 1
                moved += size
                op = _move_to_stack(op)
            if not len(op.operands) and op.parent.name != "func.func" and is_in_sequence(op):
                report.changed[_ALLOCA] += 1
                hoisted += size
                _hoist(op, function.regions[0].blocks[0], hoisted <= HOISTED_LIMIT_BYTES)
    return report


def _may_be_large(type_: Any) -> bool:
    smallest = LARGE_BYTES if type_.has_static_shape else 1
    return smallest <= static_bytes(type_) < MOST_BYTES


def _advise(allocation: Any) -> None:
    with allocation.location, ir.InsertionPoint.after(allocation):
        nbytes = bytes_at_run_time(allocation)
        if allocation.results[0].type.has_static_shape:
            _call(allocation.results[0], nbytes)
            return
        is_large = arith.cmpi(arith.CmpIPredicate.uge, nbytes, index(LARGE_BYTES))
        branch = scf.IfOp(is_large)
        with ir.InsertionPoint(branch.then_block):
            _call(allocation.results[0], nbytes)
            scf.YieldOp([])


def _call(buffer: ir.Value, nbytes: Any) -> None:
    i32, i64 = map(ir.IntegerType.get_signless, (32, 64))
    pointer = memref.extract_aligned_pointer_as_index(buffer)
    last = arith.addi(pointer, index(_PAGE - 1))
    start = arith.index_cast(i64, arith.andi(last, index(-_PAGE)))
    length = arith.index_cast(i64, arith.subi(nbytes, index(_PAGE)))
    func.CallOp([i32], _FUNCTION, [start, length, constant(i32, _ADVICE)])


def _reason(alloc: Any, size: int, room: int) -> str | None:
    """Return the reason for which an allocation stays on the heap; None if absent."""
    if size > room:
        return "the function has much on the stack"
    if len(alloc.operands) or size > BUFFER_LIMIT_BYTES:
        return "the buffer is large, or of open size"
    if not is_in_sequence(alloc):
        return "several threads may allocate the buffer"
    users = reaching(alloc.results[0], handed_over=True)
    frees = [op for op in users or [] if op.name == _DEALLOC]
    if len(frees) != 1 or frees[0].block != alloc.block:
        return "the buffer may outlive its block"
    return None


def _move_to_stack(alloc: Any) -> Any:
    for use in list(alloc.results[0].uses):
        if use.owner.operation.name == _DEALLOC:
            use.owner.operation.erase()
    return rename_op(alloc, _ALLOCA)


def _hoist(alloca: Any, block: Any, is_on_stack: bool) -> None:
    """Move an allocation to the start of its function, and to the heap if the stack is full."""
    alloca.move_before(block.operations[0])
    if is_on_stack:
        return
    with alloca.location, ir.InsertionPoint(alloca):
        buffer = memref.AllocOp(alloca.results[0].type, [], []).result
    with alloca.location, ir.InsertionPoint.at_block_terminator(block):
        memref.DeallocOp(buffer)
    replace_op(alloca, buffer)
