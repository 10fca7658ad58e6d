"""Buffers of complex numbers as buffers of other elements: the same memory, read otherwise."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, memref
from linalg_ext.structured.mixed import mixed_operands, type_shape

from .arithmetic import layout_of, size_of, times


def part_of(type_: Any) -> ir.Type:
    """Return the type of the parts of a complex type."""
    return ir.ComplexType(type_).element_type


def with_elements(value: Any, element: ir.Type) -> Any:
    """Return a buffer as one of elements of another type, shape and strides as they are.

    The descriptors of both are one: the cast is gone when both are LLVM's.
    """
    type_ = value.type
    other = ir.MemRefType.get(type_.shape, element, type_.layout, type_.memory_space)
    return ir.Operation.create(
        "builtin.unrealized_conversion_cast", results=[other], operands=[value]
    ).results[0]


def pairs_of(value: Any) -> Any:
    """Return a buffer of complex numbers as one of pairs of floats: the last axis is new."""
    type_ = value.type
    part = part_of(type_.element_type)
    strides, offset = layout_of(value)
    sizes = [*(size_of(value, axis) for axis in range(type_.rank)), 2]
    start, steps = times(offset, 2), [*(times(stride, 2) for stride in strides), 1]
    gap, *gaps = type_shape([start, *steps])
    layout = ir.StridedLayoutAttr.get(gap, gaps)
    pairs = ir.MemRefType.get(type_shape(sizes), part, layout, type_.memory_space)
    parts = with_elements(value, part)
    return memref.ReinterpretCastOp(pairs, parts, *mixed_operands([start], sizes, steps)).result
