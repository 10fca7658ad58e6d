"""Each allocation gets its deallocation, by upstream's ownership-based deallocation.

before:
    func.func @f(%x: memref<4xf32>, %y: memref<4xf32>) {
      %a = memref.alloc() : memref<4xf32>
      linalg.exp ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
      linalg.exp ins(%a : memref<4xf32>) outs(%y : memref<4xf32>)
      return
    }
after:
    func.func @f(%x: memref<4xf32>, %y: memref<4xf32>) {
      %a = memref.alloc() : memref<4xf32>
      linalg.exp ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
      linalg.exp ins(%a : memref<4xf32>) outs(%y : memref<4xf32>)
      memref.dealloc %a : memref<4xf32>
      return
    }

It is upstream's `buffer-deallocation-pipeline`, with a step of ours in it. Upstream frees all
buffers of a block by one op, and its `buffer-deallocation-simplification` asks of each two of them
whether they may alias: 14 ms for 290 buffers. Different allocations never do. Where an op frees
nothing but allocations, and in any case, each gets a deallocation of its own here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir, memref
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.transforms.ir_utils.walking import operations, producer

NAME = "linalg-ext-deallocate-buffers"

_OWNERSHIP = (
    "expand-realloc{emit-deallocs=false},canonicalize,ownership-based-buffer-deallocation,"
    "canonicalize"
)
_LOWERING = "buffer-deallocation-simplification,bufferization-lower-deallocations"
_CLEANUP = "cse,canonicalize"

_DEALLOC = "bufferization.dealloc"


@module_pass(NAME)
def deallocate_buffers(module: ir.Operation) -> Report:
    """Put a deallocation behind the uses of each buffer that a module allocates."""
    report = Report(NAME)
    _run(module, _OWNERSHIP)
    deallocations = operations(module, {_DEALLOC})
    is_split = split_deallocations(deallocations) == len(deallocations)
    _run(module, _CLEANUP if is_split else f"{_LOWERING},{_CLEANUP}")
    report.changed["memref.alloc"] += len(deallocations)
    return report


def _run(module: ir.Operation, passes: str) -> None:
    manager = pass_manager(module.name, module.context, passes)
    manager.enable_verifier(False)  # the module is verified in the end
    manager.run(module)


def split_deallocations(deallocations: Sequence[Any]) -> int:
    """Free allocations by themselves where an op frees nothing else; return how often that was."""
    split = 0
    for dealloc in deallocations:
        if (buffers := _allocations(dealloc)) is None:
            continue
        with dealloc.location, ir.InsertionPoint(dealloc):
            for buffer in buffers:
                memref.DeallocOp(buffer)
        dealloc.erase()
        split += 1
    return split


def _allocations(dealloc: Any) -> list[Any] | None:
    """Return the buffers that an op frees; None if one is not an allocation or is retained.

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
