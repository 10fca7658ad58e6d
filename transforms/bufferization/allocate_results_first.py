"""Allocate the memory of a result first, so that the result is computed in it.

before:
    func.func @f(%x: memref<?xf32>) -> memref<?xf32> {
      %c0 = arith.constant 0 : index
      %t = bufferization.to_tensor %x restrict : memref<?xf32> to tensor<?xf32>
      %n = memref.dim %x, %c0 : memref<?xf32>
      %e = tensor.empty(%n) : tensor<?xf32>
      %r = linalg.exp ins(%t : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
      %m = memref.alloc(%n) : memref<?xf32>
      bufferization.materialize_in_destination %r in restrict writable %m
        : (tensor<?xf32>, memref<?xf32>) -> ()
      return %m : memref<?xf32>
    }
after:
    func.func @f(%x: memref<?xf32>) -> memref<?xf32> {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      %m = memref.alloc(%n) : memref<?xf32>
      %t = bufferization.to_tensor %x restrict : memref<?xf32> to tensor<?xf32>
      %e = tensor.empty(%n) : tensor<?xf32>
      %r = linalg.exp ins(%t : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
      bufferization.materialize_in_destination %r in restrict writable %m
        : (tensor<?xf32>, memref<?xf32>) -> ()
      return %m : memref<?xf32>
    }

Upstream's elimination of empty tensors gives an op the memory of the result if it is known before
the op; else the result is computed in memory of its own, and copied. What follows from sizes by
arithmetic moves along; a division, which may have to stand behind its check, does not.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import operations, producer

NAME = "linalg-ext-allocate-results-first"

_STORE = "bufferization.materialize_in_destination"
_SIZES = frozenset(
    [
        "affine.apply",
        "arith.addi",
        "arith.constant",
        "arith.index_cast",
        "arith.maxsi",
        "arith.minsi",
        "arith.muli",
        "arith.subi",
        "memref.dim",
        "tensor.dim",
    ]
)
"""Operations that may be done early: they fail nowhere, and read nothing that is written."""


@module_pass(NAME, on=_STORE)
def allocate_results_first(module: ir.Operation) -> Report:
    """Move the allocations that results are put into up to where their sizes are known."""
    report = Report(NAME)
    for store in operations(module, {_STORE}):
        value, memory = (producer(operand) for operand in store.operands)
        if memory is None or memory.name != "memref.alloc" or value is None:
            continue
        is_late = memory.block == value.block and value.is_before_in_block(memory)
        report.matched[_STORE] += is_late
        if is_late:
            _move_up(memory)
            report.changed[_STORE] += memory.is_before_in_block(value)
    return report


def _move_up(op: Any) -> None:
    """Move an operation behind the last that it needs, those that compute sizes moved before."""
    last = None
    for operand in op.operands:
        needed = producer(operand)
        if needed is None or needed.block != op.block:
            continue
        if needed.name in _SIZES:
            _move_up(needed)
        if last is None or last.is_before_in_block(needed):
            last = needed
    if last is None:
        op.move_before(op.block.operations[0])
    else:
        op.move_after(last)
