"""Take stack allocations out of loops, where each round would take more of the stack.

`convert-vector-to-scf` leaves a buffer in the loop around a vector of several dimensions. LLVM
frees it when the function returns, so that a long loop overflows the stack, which ends the process.

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

Of one function `FRAME_LIMIT_BYTES` stay on the stack; what is beyond is on the heap until the
function returns.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, memref
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.analysis.buffers import static_bytes
from linalg_ext.transforms.ir_utils.walking import functions, is_in_sequence, operations

NAME = "linalg-ext-hoist-allocas"

FRAME_LIMIT_BYTES = 256 * 1024
"""The most bytes of the stack for the hoisted buffers of one function."""


@module_pass(NAME, on="memref.alloca")
def hoist_allocas(module: ir.Operation) -> Report:
    """Move static stack allocations out of loops, and those too large for the stack to the heap."""
    report = Report(NAME)
    for function in functions(module):
        taken = 0
        for alloca in operations(function, {"memref.alloca"}):
            report.matched[alloca.name] += 1
            is_in_loop = alloca.parent.name != "func.func" and is_in_sequence(alloca)
            if len(alloca.operands) or not is_in_loop:
                continue
            report.changed[alloca.name] += 1
            taken += static_bytes(alloca.results[0].type)
            block = function.regions[0].blocks[0]
            alloca.move_before(block.operations[0])
            if taken > FRAME_LIMIT_BYTES:
                _move_to_heap(alloca, block)
    return report


def _move_to_heap(alloca: Any, block: Any) -> None:
    with alloca.location, ir.InsertionPoint(alloca):
        buffer = memref.AllocOp(alloca.results[0].type, [], []).result
    with alloca.location, ir.InsertionPoint.at_block_terminator(block):
        memref.DeallocOp(buffer)
    alloca.results[0].replace_all_uses_with(buffer)
    alloca.erase()
