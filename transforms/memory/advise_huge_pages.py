"""Advise Linux to use huge pages for large allocations: the first write to a page is a fault.

A buffer of 64 MiB takes 16,384 faults in pages of 4 KiB, and 32 in huge pages. The former take
longer than most kernels need to fill the buffer. A buffer of dynamic size is tested at run time.

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

The advice is for the whole pages inside the buffer; what the call returns is ignored.
"""

from __future__ import annotations

import mmap
from typing import Any

from linalg_ext.bindings import arith, func, ir, memref, scf
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.analysis.buffers import MOST_BYTES, bytes_at_run_time, static_bytes
from linalg_ext.transforms.ir_utils.arithmetic import constant, index
from linalg_ext.transforms.ir_utils.module_functions import declare
from linalg_ext.transforms.ir_utils.walking import operations

NAME = "linalg-ext-advise-huge-pages"

LARGE_BYTES = 4 << 20
"""The smallest buffer that is advised: wherever it starts, it holds one huge page of 2 MiB."""

_PAGE = 4096
"""The alignment of the start in bytes; where base pages are larger the kernel refuses."""

_FUNCTION = "madvise"
_DECLARATION = f"func.func private @{_FUNCTION}(i64, i64, i32) -> i32"
"""Addresses are passed as integers: both go the same way in every ABI of Linux."""


@module_pass(NAME, on="memref.alloc")
def advise_huge_pages(module: ir.Operation) -> Report:
    """Call madvise on every memref.alloc that is large, or may be.

    Does nothing where the system knows no such advice, or where `madvise` is a symbol of another
    type in the module.
    """
    report = Report(NAME)
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if advice is None:
        return report
    allocations = operations(module, {"memref.alloc"})
    large = [op for op in allocations if _may_be_large(op.results[0].type)]
    report.matched["memref.alloc"] += len(allocations)
    if large and not declare(module, _DECLARATION):
        report.leave("memref.alloc", f"the module has a symbol `{_FUNCTION}` of its own")
        return report
    for allocation in large:
        report.changed[allocation.name] += 1
        with allocation.location, ir.InsertionPoint.after(allocation):
            _advise(allocation, advice)
    return report


def _may_be_large(type_: Any) -> bool:
    static = static_bytes(type_)
    smallest = LARGE_BYTES if type_.has_static_shape else 1
    return smallest <= static < MOST_BYTES


def _advise(allocation: Any, advice: int) -> None:
    nbytes = bytes_at_run_time(allocation)
    if allocation.results[0].type.has_static_shape:
        _call(allocation.results[0], nbytes, advice)
        return
    is_large = arith.cmpi(arith.CmpIPredicate.uge, nbytes, index(LARGE_BYTES))
    branch = scf.IfOp(is_large)
    with ir.InsertionPoint(branch.then_block):
        _call(allocation.results[0], nbytes, advice)
        scf.YieldOp([])


def _call(buffer: ir.Value, nbytes: Any, advice: int) -> None:
    i32, i64 = map(ir.IntegerType.get_signless, (32, 64))
    pointer = memref.extract_aligned_pointer_as_index(buffer)
    last = arith.addi(pointer, index(_PAGE - 1))
    start = arith.index_cast(i64, arith.andi(last, index(-_PAGE)))
    length = arith.index_cast(i64, arith.subi(nbytes, index(_PAGE)))
    func.CallOp([i32], _FUNCTION, [start, length, constant(i32, advice)])
