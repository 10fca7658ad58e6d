"""Numbers that an entry computes of the sizes of its buffers, written at the insertion point."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir, memref

from .arithmetic import constant, index


def number(value: float) -> Any:
    """A constant f64."""
    return constant(ir.F64Type.get(), value)


def as_number(value: Any) -> Any:
    """An index as an f64."""
    as_integer = arith.index_cast(ir.IntegerType.get_signless(64), value)
    return arith.uitofp(ir.F64Type.get(), as_integer)


def times(value: Any, factor: int) -> Any:
    """Return an index, or a number, times `factor`."""
    if isinstance(value, int) or factor == 1:
        return value * factor if isinstance(value, int) else value
    return arith.muli(value, index(factor))


def dim(value: Any, axis: int) -> Any:
    """The size of a buffer along an axis, as an index."""
    if not value.type.is_dynamic_dim(axis):
        return index(value.type.get_dim_size(axis))
    if not isinstance(value.owner, ir.Block) and value.owner.name == "memref.alloc":
        return value.owner.operands[sum(map(value.type.is_dynamic_dim, range(axis)))]
    return memref.dim(value, index(axis))


def strides_of(type_: Any) -> list[int] | None:
    """Return the strides of a memref in elements; None of a layout without strides."""
    try:
        strides, _ = type_.get_strides_and_offset()
    except (ir.MLIRError, ValueError, RuntimeError):
        return None
    return list(strides)
