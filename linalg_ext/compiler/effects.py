"""The memory arguments that a function may write.

The analysis follows every use of an argument, through views of it and calls. A use that is not
known to read only counts as a write.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.transforms.analysis.buffers import may_write, uses_of
from linalg_ext.transforms.ir_utils.walking import callee_of, functions, name_of

_OF_CALLERS = frozenset(
    {
        "func.return",  # the result is a copy
        "memref.dealloc",  # the caller's memory is the caller's: deallocations are dropped
    }
)
"""Ops that would end the life of a buffer, or hand it on, were it not memory of a caller."""


def written_arguments(function: Any) -> frozenset[int]:
    """Return the indices of the memref arguments of a `func.func` that it may write."""
    return _written(function.operation, {})


def _written(function: ir.Operation, known: dict[str, frozenset[int]]) -> frozenset[int]:
    name = name_of(function)
    arguments = function.regions[0].blocks[0].arguments
    # A function that calls itself is taken to write everything; the entry below is the true one.
    known[name] = frozenset(range(len(arguments)))
    written = frozenset(
        index
        for index, argument in enumerate(arguments)
        if isinstance(argument.type, ir.MemRefType) and _is_written(argument, function, known)
    )
    known[name] = written
    return written


def _is_written(
    argument: ir.Value, function: ir.Operation, written: dict[str, frozenset[int]]
) -> bool:
    return any(_writes(use, function, written) for use in uses_of(argument))


def _writes(use: ir.OpOperand, function: ir.Operation, written: dict[str, frozenset[int]]) -> bool:
    op = use.owner.operation
    if op.name == "func.call":
        return use.operand_number in _written_by_callee(op, function, written)
    return op.name not in _OF_CALLERS and may_write(op, use.operand_number)


def _written_by_callee(
    call: ir.Operation, function: ir.Operation, written: dict[str, frozenset[int]]
) -> frozenset[int]:
    callee = callee_of(call)
    if callee not in written:
        for other in functions(function.parent):
            if name_of(other) == callee:
                return _written(other, written)
    return written.get(callee, frozenset(range(len(call.operands))))
