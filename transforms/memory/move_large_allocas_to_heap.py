"""Move allocations that the stack may not hold from the stack to the heap.

A thread's stack is small and an overflow kills the process. What stays on the stack is static, at
most `STACK_LIMIT_BYTES`, and not in a loop (where each round would take more of it).

before:
    %a = memref.alloca(%n) : memref<?xf32>
after:
    %a = memref.alloc(%n) : memref<?xf32>

Runs before buffers are given their deallocations, so that the heap allocation is freed.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.analysis.buffers import static_bytes
from linalg_ext.transforms.ir_utils.walking import operations, replace_op

NAME = "linalg-ext-move-large-allocas-to-heap"

STACK_LIMIT_BYTES = 16 * 1024
"""The largest allocation that stays on the stack."""

_SCOPES = frozenset({"func.func", "memref.alloca_scope"})


@module_pass(NAME, on="memref.alloca")
def move_large_allocas_to_heap(module: ir.Operation) -> Report:
    """Move stack allocations that are large, dynamic or in a loop to the heap."""
    report = Report(NAME)
    for alloca in operations(module, {"memref.alloca"}):
        report.matched[alloca.name] += 1
        if _fits(alloca):
            continue
        report.changed[alloca.name] += 1
        attributes = {name: alloca.attributes[name] for name in alloca.attributes}
        with alloca.location, ir.InsertionPoint(alloca):
            alloc = ir.Operation.create(
                "memref.alloc",
                results=[alloca.results[0].type],
                operands=list(alloca.operands),
                attributes=attributes,
            )
        replace_op(alloca, alloc.results[0])
    return report


def _fits(alloca: Any) -> bool:
    type_ = alloca.results[0].type
    if not type_.has_static_shape or alloca.parent.name not in _SCOPES:
        return False
    return static_bytes(type_) <= STACK_LIMIT_BYTES
