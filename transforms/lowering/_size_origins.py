"""Where the sizes of tensors and memrefs come from: two of one origin are equal."""

from __future__ import annotations

from typing import Any, TypeAlias

from linalg_ext.bindings import ir

from ._elementwise import element_of_constant
from ._walk import producer

Origin: TypeAlias = "int | tuple[Any, int] | Any"
"""A number; a tensor or a memref with one of its dimensions; or a value of any kind."""

_DIMS = ("tensor.dim", "memref.dim")
_LOOP = "scf.for"
_DESTINATION = {"tensor.insert": 1, "tensor.insert_slice": 1}
"""Which operand has the shape of the result."""


def origin_of_number(value: Any) -> Origin:
    """Where a number of type `index` comes from."""
    known = element_of_constant(value)
    if known is not None:
        return int(ir.IntegerAttr(known).value)
    op = producer(value)
    if op is None or op.name not in _DIMS:
        return value
    axis = element_of_constant(op.operands[1])
    return value if axis is None else origin_of_size(op.operands[0], ir.IntegerAttr(axis).value)


def origin_of_size(value: Any, axis: int) -> Origin:
    """Where a size of a tensor or a memref comes from."""
    while (shape := _of_equal_shape(value)) is not None:
        value = shape
    type_ = value.type
    if not isinstance(type_, ir.RankedTensorType | ir.MemRefType) or axis not in range(type_.rank):
        return value, axis
    if not type_.is_dynamic_dim(axis):
        return int(type_.get_dim_size(axis))
    op = producer(value)
    if op is not None and op.name == "tensor.empty":
        before = sum(type_.is_dynamic_dim(each) for each in range(axis))
        return origin_of_number(op.operands[before])
    return value, axis


def _of_equal_shape(value: Any) -> Any | None:
    """Another value whose shape is that of one, closer to where it comes from."""
    op = producer(value)
    if op is None:
        loop = value.owner.owner
        is_loop = loop is not None and loop.operation.name == _LOOP
        return _carried(loop.operation, value.arg_number - 1) if is_loop else None
    if op.name in _DESTINATION:
        return op.operands[_DESTINATION[op.name]]
    if op.name == _LOOP:
        return _carried(op, value.result_number)
    if op.name.startswith("linalg.") and "operandSegmentSizes" in op.attributes:
        # The destinations are the last operands, one for each result.
        return op.operands[len(op.operands) - len(op.results) + value.result_number]
    return None


def _carried(loop: Any, number: int) -> Any | None:
    """What a loop begins with, where each round hands on a value of the same shape."""
    if number < 0:
        return None
    block = loop.regions[0].blocks[0]
    argument = block.arguments[number + 1]
    value = block.operations[len(block.operations) - 1].operands[number]
    while value != argument:
        shape = None if producer(value) is None else _of_equal_shape(value)
        if shape is None:
            return None
        value = shape
    return loop.operands[number + 3]
