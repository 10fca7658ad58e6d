"""Deallocations of several allocations at once become one for each, before upstream's pass does it.

before:
    %true = arith.constant true
    %a = memref.alloc() : memref<4xf32>
    %b = memref.alloc() : memref<8xf32>
    bufferization.dealloc (%a, %b : memref<4xf32>, memref<8xf32>) if (%true, %true)
after:
    %true = arith.constant true
    %a = memref.alloc() : memref<4xf32>
    %b = memref.alloc() : memref<8xf32>
    memref.dealloc %a : memref<4xf32>
    memref.dealloc %b : memref<8xf32>

Upstream's ownership-based deallocation frees all buffers of a block by one op, and its
`buffer-deallocation-simplification` asks of each two of them whether they may alias: 14 ms for 290
buffers. Different allocations never do. An op with other operands, or with conditions, is left.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, memref
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import operations, producer

NAME = "linalg-ext-split-deallocations"

_DEALLOC = "bufferization.dealloc"


@module_pass(NAME, on=_DEALLOC)
def split_deallocations(module: ir.Operation) -> Report:
    """Free each allocation by itself where several are freed whatever happens."""
    report = Report(NAME)
    for dealloc in operations(module, {_DEALLOC}):
        report.matched[_DEALLOC] += 1
        if (buffers := _allocations(dealloc)) is None:
            continue
        with dealloc.location, ir.InsertionPoint(dealloc):
            for buffer in buffers:
                memref.DeallocOp(buffer)
        dealloc.erase()
        report.changed[_DEALLOC] += 1
    return report


def _allocations(dealloc: Any) -> list[Any] | None:
    """Return the buffers that an op frees; None if one is no allocation, or is kept by a condition.

    The operands are buffers, a condition for each, and buffers that are retained: none here.
    """
    count = len(dealloc.operands) // 2
    buffers, conditions = list(dealloc.operands[:count]), list(dealloc.operands[count:])
    if len(dealloc.results) or len(conditions) != count:
        return None
    if not all(map(_is_true, dict.fromkeys(conditions))):
        return None
    is_plain = len(set(buffers)) == count and all(map(_is_allocation, buffers))
    return buffers if is_plain else None


def _is_allocation(value: Any) -> bool:
    op = producer(value)
    return op is not None and op.name == "memref.alloc"


def _is_true(value: Any) -> bool:
    op = producer(value)
    is_constant = op is not None and op.name == "arith.constant"
    return is_constant and op.attributes["value"] == ir.BoolAttr.get(True)
