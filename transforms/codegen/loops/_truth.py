"""Truth values: a byte each in memory, a bit each in a vector.

A vector of i1 would be loaded as packed bits. LLVM's memory of i1 is that of i8, and so are the
descriptors of both.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir


def is_truth(type_: Any) -> bool:
    """Whether a memref is of truth values."""
    return str(type_.element_type) == "i1"


def as_bytes(buffer: Any) -> Any:
    """A memref of i1 as one of i8; the cast is gone when both are LLVM's."""
    type_ = buffer.type
    byte = ir.IntegerType.get_signless(8)
    bytes_ = ir.MemRefType.get(type_.shape, byte, type_.layout, type_.memory_space)
    return ir.Operation.create(
        "builtin.unrealized_conversion_cast", results=[bytes_], operands=[buffer]
    ).results[0]
