"""Make the buffers of a module ready for upstream's ownership-based deallocation.

Allocations that the stack may not hold move to the heap, where they get their deallocations.
A thread's stack is small and an overflow kills the process. A buffer that stays on the stack is
static, of at most `STACK_LIMIT_BYTES`, and not in a loop (where each round would take more of it).

before:
    %a = memref.alloca(%n) : memref<?xf32>
after:
    %a = memref.alloc(%n) : memref<?xf32>

Deallocations of a module that frees its buffers itself are dropped, and its prefetches.

before:
    memref.dealloc %a : memref<4xf32>
after:
    // nothing

Upstream's ownership-based deallocation owns all buffers or none: it refuses a module that frees
some already. It puts a deallocation of its own behind the last use of every buffer. It
refuses prefetches too, which have no other effect than on time.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.analysis.buffers import static_bytes
from linalg_ext.transforms.ir_utils.walking import operations, rename_op

NAME = "linalg-ext-prepare-deallocation"

STACK_LIMIT_BYTES = 16 * 1024
"""The largest allocation that stays on the stack."""

_SCOPES = frozenset({"func.func", "memref.alloca_scope"})

_DROPPED = frozenset({"memref.dealloc", "memref.prefetch", "affine.prefetch"})


@module_pass(NAME, on=("memref.alloca", *_DROPPED))
def prepare_deallocation(module: ir.Operation) -> Report:
    """Move allocas that the stack may not hold to the heap; erase deallocations and prefetches."""
    report = Report(NAME)
    for op in operations(module, {"memref.alloca", *_DROPPED}):
        name = op.name
        report.matched[name] += 1
        if name == "memref.alloca" and _fits(op):
            continue
        report.changed[name] += 1
        if name == "memref.alloca":
            rename_op(op, "memref.alloc")
        else:
            op.erase()
    return report


def _fits(alloca: Any) -> bool:
    type_ = alloca.results[0].type
    if not type_.has_static_shape or alloca.parent.name not in _SCOPES:
        return False
    return static_bytes(type_) <= STACK_LIMIT_BYTES
