"""Which memory arguments a function may write.

Found by following every use of an argument, through views of it and calls. What is not known to
read only counts as a write.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.structured.views.view_ops import VIEW_OPS

_VIEWS = frozenset(
    {
        "memref.assume_alignment",
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.extract_strided_metadata",
        "memref.memory_space_cast",
        "memref.reinterpret_cast",
        "memref.reshape",
        "memref.subview",
        "memref.transpose",
        "memref.view",
        "arith.select",
        *VIEW_OPS,
    }
)
"""Ops whose results are other names for their first memref operand."""

_READS = frozenset(
    {
        "affine.load",
        "affine.vector_load",
        "func.return",  # what is returned is a copy
        "memref.dealloc",  # the caller's memory is the caller's: deallocations are dropped
        "memref.dim",
        "memref.load",
        "memref.prefetch",
        "memref.rank",
        "vector.gather",
        "vector.load",
        "vector.maskedload",
        "vector.transfer_read",
    }
)

_FIRST_OPERAND_READ = frozenset({"memref.copy", "linalg.broadcast", "linalg.transpose"})


def written_arguments(function: Any) -> frozenset[int]:
    """The indices of the memref arguments of a `func.func` that it may write."""
    return _written(function.operation, {})


def _written(function: ir.Operation, known: dict[str, frozenset[int]]) -> frozenset[int]:
    name = ir.StringAttr(function.attributes["sym_name"]).value
    arguments = function.regions[0].blocks[0].arguments
    # A function that calls itself is taken to write everything; the entry below is the true one.
    known[name] = frozenset(range(len(arguments)))
    found = frozenset(
        index
        for index, argument in enumerate(arguments)
        if isinstance(argument.type, ir.MemRefType) and _is_written(argument, function, known)
    )
    known[name] = found
    return found


def _is_written(
    argument: ir.Value, function: ir.Operation, known: dict[str, frozenset[int]]
) -> bool:
    names: list[ir.Value] = [argument]
    while names:
        for use in names.pop().uses:
            op = use.owner.operation
            if op.name in _VIEWS:
                names.extend(r for r in op.results if isinstance(r.type, ir.MemRefType))
            elif not _reads_only(op, use.operand_number, function, known):
                return True
    return False


def _reads_only(
    op: ir.Operation, operand: int, function: ir.Operation, known: dict[str, frozenset[int]]
) -> bool:
    if op.name in _READS:
        return True
    if op.name in _FIRST_OPERAND_READ:
        return operand == 0
    if op.name == "bufferization.to_tensor":
        return "writable" not in op.attributes
    if op.name == "func.call":
        return operand not in _written_by_callee(op, function, known)
    if op.name.startswith("linalg."):
        return operand < _input_count(op)
    return False


def _written_by_callee(
    call: ir.Operation, function: ir.Operation, known: dict[str, frozenset[int]]
) -> frozenset[int]:
    callee = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
    if callee not in known:
        module: Any = function.parent
        for op in module.regions[0].blocks[0].operations:
            attributes = op.operation.attributes
            if (
                op.operation.name == "func.func"
                and ir.StringAttr(attributes["sym_name"]).value == callee
                and len(op.operation.regions[0].blocks)
            ):
                return _written(op.operation, known)
    return known.get(callee, frozenset(range(len(call.operands))))


def _input_count(op: ir.Operation) -> int:
    """How many of a structured op's operands, from the first, are inputs."""
    if "operandSegmentSizes" in op.attributes:
        return int(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0])
    if op.name == "linalg.map":
        return len(op.operands) - 1
    if op.name == "linalg.reduce":
        return len(op.operands) // 2
    return 0
