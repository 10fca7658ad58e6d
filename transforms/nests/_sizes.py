"""Sizes of buffers by the ops that read them, as numbers that name the buffer."""

from __future__ import annotations

from linalg_ext.analysis.numbers import Operand
from linalg_ext.bindings import ir
from linalg_ext.structured.subsets.index_values import IndexReader
from linalg_ext.structured.subsets.rules.sizes import as_number, size_of
from linalg_ext.transforms.lowering._walk import operations

_DIM = "memref.dim"


def size_reader(op: ir.Operation) -> IndexReader:
    """A reader of the index values around an op, to which two ops that read one size are one."""
    function = op
    while function.parent is not None and function.name != "func.func":
        function = function.parent.operation
    known: dict[ir.Value, Operand] = {}
    for dim in operations(function, [_DIM]):
        buffer, axis = dim.operands
        number = as_number(axis)
        is_ranked = isinstance(buffer.type, ir.MemRefType)
        if is_ranked and isinstance(number, int) and 0 <= number < buffer.type.rank:
            known[dim.results[0]] = size_of(buffer, number)
    return IndexReader(known)
