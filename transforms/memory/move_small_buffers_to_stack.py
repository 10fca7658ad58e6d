"""Move small buffers from the heap to the stack, where an allocation takes longer than their use.

A buffer for a few sums costs as much as some hundred of them. On the stack it costs nothing, and
LLVM knows that nothing else names its memory.

before:
    %a = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
    memref.store %v, %a[%i] : memref<8xf32>
    memref.dealloc %a : memref<8xf32>
after:
    %a = memref.alloca() {alignment = 64 : i64} : memref<8xf32>
    memref.store %v, %a[%i] : memref<8xf32>

A buffer stays on the heap if it may live on beyond where it is freed, or if another thread could
allocate it at the same time. Of one function `FRAME_LIMIT_BYTES` go to the stack at most.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.analysis.buffers import reaching, static_bytes
from linalg_ext.transforms.ir_utils.walking import functions, is_in_sequence, operations, replace_op

NAME = "linalg-ext-move-small-buffers-to-stack"

BUFFER_LIMIT_BYTES = 4 * 1024
"""The size of the largest buffer that goes to the stack."""

FRAME_LIMIT_BYTES = 32 * 1024
"""The most bytes of the stack that the moved buffers of one function take."""

_ALLOC, _DEALLOC = "memref.alloc", "memref.dealloc"


@module_pass(NAME, on=_ALLOC)
def move_small_buffers_to_stack(module: ir.Operation) -> Report:
    """Make small, static allocations that are freed where they are made ones on the stack."""
    report = Report(NAME)
    for function in functions(module):
        left = FRAME_LIMIT_BYTES
        for alloc in operations(function, {_ALLOC}):
            report.matched[alloc.name] += 1
            size = static_bytes(alloc.results[0].type)
            reason = "the function has much on the stack" if size > left else _reason(alloc, size)
            if reason is not None:
                report.leave(alloc.name, reason)
                continue
            report.changed[alloc.name] += 1
            left -= size
            _move(alloc)
    return report


def _reason(alloc: Any, size: int) -> str | None:
    """Return the reason for which an allocation stays on the heap; None if absent."""
    if len(alloc.operands) or size > BUFFER_LIMIT_BYTES:
        return "the buffer is large, or of open size"
    if not is_in_sequence(alloc):
        return "several threads may allocate the buffer"
    reached = reaching(alloc.results[0], handed_over=True)
    freed = [op for op in reached or [] if op.name == _DEALLOC]
    if len(freed) != 1 or freed[0].block != alloc.block:
        return "the buffer may outlive its block"
    return None


def _move(alloc: Any) -> None:
    buffer = alloc.results[0]
    for use in list(buffer.uses):
        if use.owner.operation.name == _DEALLOC:
            use.owner.operation.erase()
    with alloc.location, ir.InsertionPoint(alloc):
        alloca = ir.Operation.create(
            "memref.alloca",
            results=[buffer.type],
            operands=[],
            attributes={name: alloc.attributes[name] for name in alloc.attributes},
        )
    replace_op(alloc, alloca.results[0])
