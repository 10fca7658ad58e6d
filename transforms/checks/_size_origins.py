"""Origins of the sizes of tensors and memrefs: two sizes of one origin are equal."""

from __future__ import annotations

from typing import Any, TypeAlias

from linalg_ext.bindings import ir, linalg
from linalg_ext.transforms.ir_utils.arithmetic import element_of_constant
from linalg_ext.transforms.ir_utils.generics import loop_of
from linalg_ext.transforms.ir_utils.walking import producer

Origin: TypeAlias = "int | tuple[Any, int] | Any"
"""A number; a tensor or a memref with one of its dimensions; or a value of any kind."""

_DIMS = ("tensor.dim", "memref.dim")
_LOOPS = ("scf.for", "affine.for")
_LOOP = "scf.for"
_SAME_SHAPE = {
    **dict.fromkeys(("tensor.insert", "tensor.insert_slice"), 1),
    **dict.fromkeys(("linalg.pack", "linalg.softmax", "linalg.unpack"), 1),
    **dict.fromkeys(("tensor.cast", "memref.cast"), 0),
}
"""The number of the operand that has the shape of the result."""
_SIZES = {
    **dict.fromkeys(("tensor.empty", "tensor.generate", "memref.alloc", "memref.alloca"), 0),
    "tensor.splat": 1,
}
"""The number of the operand at which the dynamic sizes of the result begin."""

Shapes: TypeAlias = dict[Any, Any]
"""Values, and for each the first one of its shape: what was found is not looked for again."""


def origin_of_number(value: Any, known: Shapes | None = None) -> Origin:
    """Return the origin of a number of type `index`."""
    element = element_of_constant(value)
    if element is not None:
        return int(ir.IntegerAttr(element).value)
    op = producer(value)
    if op is None or op.name not in _DIMS:
        return value
    axis = element_of_constant(op.operands[1])
    if axis is None:
        return value
    return origin_of_size(op.operands[0], ir.IntegerAttr(axis).value, known)


def origin_of_size(value: Any, axis: int, known: Shapes | None = None) -> Origin:
    """Return the origin of a size of a tensor or a memref."""
    type_ = value.type
    if not isinstance(type_, ir.RankedTensorType | ir.MemRefType) or axis not in range(type_.rank):
        return value, axis
    if not type_.is_dynamic_dim(axis):
        return int(type_.get_dim_size(axis))
    first = _first_of_shape(value, {} if known is None else known)
    if first != value and not first.type.is_dynamic_dim(axis):
        return int(first.type.get_dim_size(axis))
    op = producer(first)
    if op is not None and op.name in _SIZES:
        before = sum(first.type.is_dynamic_dim(each) for each in range(axis))
        return origin_of_number(op.operands[_SIZES[op.name] + before], known)
    return first, axis


def is_position(value: Any) -> bool:
    """Return whether a value is the position of a loop."""
    op = producer(value)
    if op is not None:
        return bool(op.name == "linalg.index")
    loop = value.owner.owner
    return loop is not None and loop.operation.name in _LOOPS and value.arg_number == 0


def ends_of(position: Any) -> list[Origin]:
    """The numbers that the position of a loop stays below."""
    index = producer(position)
    if index is not None:
        op, dim = index.block.owner.operation, ir.AffineDimExpr.get(loop_of(index))
        maps: Any = linalg.get_indexing_maps(op)
        return [
            origin_of_size(value, axis)
            for value, map_ in zip(op.operands, maps, strict=True)
            for axis, result in enumerate(ir.AffineMapAttr(map_).value.results)
            if result == dim
        ]
    loop = position.owner.owner.operation
    return _least(loop.operands[1]) if loop.name == _LOOP else []


def _least(number: Any) -> list[Origin]:
    """Return the origin of a number; for a minimum, the origins of its operands."""
    op = producer(number)
    if op is None or op.name != "arith.minsi":
        return [origin_of_number(number)]
    return [found for operand in op.operands for found in _least(operand)]


def _first_of_shape(value: Any, known: Shapes) -> Any:
    """The value that the shape of another comes from, found once for all on the way there."""
    passed = []
    while value not in known:
        shape = _of_equal_shape(value)
        if shape is None or not _is_ranked_as(shape, value):
            known[value] = value
            break
        passed.append(value)
        value = shape
    first = known[value]
    known.update(dict.fromkeys(passed, first))
    return first


def _is_ranked_as(value: Any, other: Any) -> bool:
    kinds = ir.RankedTensorType | ir.MemRefType
    return isinstance(value.type, kinds) and value.type.rank == other.type.rank


def _of_equal_shape(value: Any) -> Any | None:
    """Another value whose shape is that of one, closer to where it comes from."""
    op = producer(value)
    if op is None:
        loop = value.owner.owner
        is_loop = loop is not None and loop.operation.name == _LOOP
        return _carried(loop.operation, value.arg_number - 1) if is_loop else None
    if op.name in _SAME_SHAPE:
        return op.operands[_SAME_SHAPE[op.name]]
    if op.name == _LOOP:
        return _carried(op, value.result_number)
    if op.name.startswith("linalg.") and "operandSegmentSizes" in op.attributes:
        # The destinations are the last operands, one for each result.
        return op.operands[len(op.operands) - len(op.results) + value.result_number]
    if op.name.startswith(("arith.", "math.")):
        # Of whole tensors: all of them are of one shape.
        return next(
            (each for each in op.operands if isinstance(each.type, ir.RankedTensorType)), None
        )
    return None


def _carried(loop: Any, number: int) -> Any | None:
    """Return the initial value of a loop that keeps the shape in each iteration; else None."""
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
