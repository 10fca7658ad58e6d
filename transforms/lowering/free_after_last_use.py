"""Free a buffer after the op that reaches it last, and not at the end of its block.

Memory that is free again is what the next buffer gets: a row of ops needs room for two of its
intermediates, not for all of them, and finds them in the caches. Upstream's ownership-based
deallocation frees everything at the end of a block.

before:
    %a = memref.alloc() : memref<8xf32>
    linalg.exp ins(%x : memref<8xf32>) outs(%a : memref<8xf32>)
    %b = memref.alloc() : memref<8xf32>
    linalg.exp ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
    linalg.exp ins(%b : memref<8xf32>) outs(%y : memref<8xf32>)
    memref.dealloc %a : memref<8xf32>
    memref.dealloc %b : memref<8xf32>
after:
    %a = memref.alloc() : memref<8xf32>
    linalg.exp ins(%x : memref<8xf32>) outs(%a : memref<8xf32>)
    %b = memref.alloc() : memref<8xf32>
    linalg.exp ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
    memref.dealloc %a : memref<8xf32>
    linalg.exp ins(%b : memref<8xf32>) outs(%y : memref<8xf32>)
    memref.dealloc %b : memref<8xf32>

A buffer whose address is taken, or that a loop carries or a block hands on, stays until the end.
Upstream's `optimize-allocation-liveness` does the same, but does not see addresses.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass

from ._allocations import reaching
from ._walk import operations

NAME = "linalg-ext-free-after-last-use"


@module_pass(NAME, on="memref.dealloc")
def free_after_last_use(module: ir.Operation) -> Report:
    """Move each memref.dealloc of a memref.alloc in its block up to where it may stand."""
    report = Report(NAME)
    for allocation in operations(module, {"memref.alloc"}):
        users = reaching(allocation.results[0])
        frees = [op for op in users or () if op.name == "memref.dealloc"]
        if users is None or len(frees) != 1 or frees[0].block != allocation.block:
            continue
        report.matched["memref.dealloc"] += 1
        last = _last_of(allocation.block, [op for op in users if op != frees[0]])
        if last is not None:
            frees[0].move_after(last)
            report.changed["memref.dealloc"] += 1
    return report


def _last_of(block: Any, users: list[Any]) -> Any | None:
    """The last op of a block that is one of some, or has one of them in its regions."""
    last: Any | None = None
    for user in users:
        here = user
        while here.block != block:
            here = here.parent.operation
            if here.name == "func.func":
                return None
        if last is None or last.is_before_in_block(here):
            last = here
    return last
