"""Sizes of buffers, as numbers that name the buffer and not the op that asks for them."""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.structured.indices import IndexReader
from linalg_ext.structured.operands import producer
from linalg_ext.structured.sizes import size_of
from linalg_ext.symbolic.integers import Number


class SizeReader(IndexReader):
    """Reads index values; two ops that ask for one size give one number."""

    def _read(self, value: ir.Value) -> Number:
        op = producer(value)
        if op is not None and op.name == "memref.dim":
            buffer, axis = op.operands
            number, type_ = self(axis), buffer.type
            rank = type_.rank if isinstance(type_, ir.MemRefType) else 0
            if isinstance(number, int) and 0 <= number < rank:
                return size_of(buffer, number)
        return super()._read(value)
