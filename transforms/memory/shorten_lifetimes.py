"""Allocate a buffer before its first use, and free it after its last.

The next buffer gets the memory that was freed last: a row of ops needs room for two of its
intermediates, not for all of them, and finds them in the caches. Bufferization allocates at the
first mention of a tensor; upstream's ownership-based deallocation frees everything at the end of a
block.

before:
    %a = memref.alloc() : memref<8xf32>
    %b = memref.alloc() : memref<2x4xf32>
    %flat = memref.collapse_shape %b [[0, 1]] : memref<2x4xf32> into memref<8xf32>
    linalg.exp ins(%x : memref<8xf32>) outs(%a : memref<8xf32>)
    linalg.exp ins(%a : memref<8xf32>) outs(%flat : memref<8xf32>)
    linalg.exp ins(%b : memref<2x4xf32>) outs(%y : memref<2x4xf32>)
    memref.dealloc %a : memref<8xf32>
    memref.dealloc %b : memref<2x4xf32>
after:
    %a = memref.alloc() : memref<8xf32>
    linalg.exp ins(%x : memref<8xf32>) outs(%a : memref<8xf32>)
    %b = memref.alloc() : memref<2x4xf32>
    %flat = memref.collapse_shape %b [[0, 1]] : memref<2x4xf32> into memref<8xf32>
    linalg.exp ins(%a : memref<8xf32>) outs(%flat : memref<8xf32>)
    memref.dealloc %a : memref<8xf32>
    linalg.exp ins(%b : memref<2x4xf32>) outs(%y : memref<2x4xf32>)
    memref.dealloc %b : memref<2x4xf32>

A buffer whose address is taken, or that a loop carries or a block hands on, stays until the end.
Upstream's `optimize-allocation-liveness` frees as early, but does not see addresses.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.analysis.buffers import PURE_VIEW_OPS, reaching
from linalg_ext.transforms.ir_utils.walking import ancestor_in, first_of, last_of, operations

NAME = "linalg-ext-shorten-lifetimes"


@module_pass(NAME, on="memref.alloc")
def shorten_lifetimes(module: ir.Operation) -> Report:
    """Move each memref.alloc down, and its memref.dealloc in the same block up."""
    report = Report(NAME)
    for allocation in operations(module, {"memref.alloc"}):
        report.matched[allocation.name] += 1
        users = reaching(allocation.results[0])
        frees = [op for op in users or () if op.name == "memref.dealloc"]
        if users is None or len(frees) != 1:
            continue
        block = allocation.block
        places = [place for user in users if (place := ancestor_in(block, user)) is not None]
        if len(places) < len(users) or frees[0].block != block:
            continue
        readers = [place for place in places if place != frees[0]]
        if readers:
            frees[0].move_after(_end_of(last_of(readers)))
        _sink(allocation)
        report.changed[allocation.name] += 1
    return report


def _end_of(reader: Any) -> Any:
    """Return the op after which memory that an op reads last may be freed.

    LLVM folds a masked load into the select that reads it, though memory is freed between the two.
    """
    if reader.name not in _LOADS:
        return reader
    users = (use.owner.operation for use in reader.results[0].uses)
    selects = (op for op in users if op.name == "arith.select" and op.block == reader.block)
    return last_of([reader, *selects])


_LOADS = frozenset({"vector.maskedload", "vector.load", "memref.load"})


def _sink(op: Any) -> None:
    """Move an op, and the views of its result, to before their first users."""
    users = []
    for use in [use for result in op.results for use in result.uses]:
        user = use.owner.operation
        if user.name in PURE_VIEW_OPS and user.block == op.block:
            _sink(user)
        users.append(ancestor_in(op.block, user))
    if users:
        op.move_before(first_of(users))
