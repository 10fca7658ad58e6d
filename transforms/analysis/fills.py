"""Values that are full of one number: on tensors, and fills of buffers.

A fill writes a constant to all of a buffer, which no later op has accessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.transforms.ir_utils.arithmetic import element_of_constant
from linalg_ext.transforms.ir_utils.generics import input_count, maps_of
from linalg_ext.transforms.ir_utils.module_functions import NESTS
from linalg_ext.transforms.ir_utils.tensor_loops import elementwise
from linalg_ext.transforms.ir_utils.walking import callee_of, element_type, producer

from .buffers import TOUCH_NOTHING, Buffer, buffer_of, global_of, is_memory, may_alias

Number: TypeAlias = Any
"""An attribute of a constant, or a value from outside the body that fills."""

_SCALARS = (ir.BoolAttr, ir.FloatAttr, ir.IntegerAttr)


def filled_with(op: Any) -> Number | None:
    """Return the number that all elements of an op's one result are; None where they may differ."""
    if op is None or len(op.results) != 1:
        return None
    if op.name == "arith.constant":
        if isinstance(element_type(op.results[0].type), ir.ComplexType):
            return None  # the bindings have no class for attributes of complex numbers
        number = element_of_constant(op.results[0])
        return number if isinstance(number, _SCALARS) else None
    if op.name != "linalg.generic" or len(op.regions[0].blocks[0].operations) > 1:
        return None
    block = op.regions[0].blocks[0]
    number = block.operations[0].operation.operands[0]
    if number.owner != block:
        return number
    position = number.arg_number
    is_scalar = position < input_count(op) and not isinstance(
        op.operands[position].type, ir.ShapedType
    )
    return op.operands[position] if is_scalar else None


def element(number: Number) -> Any:
    """Return the number as a value, at the insertion point."""
    if not isinstance(number, ir.Attribute):
        return number
    constant: Any = arith.ConstantOp  # the stubs know of numbers only
    return constant(number.type, number).result


def filled(type_: Any, sizes: Sequence[Any], number: Number) -> Any:
    """Build a tensor that is full of a number."""
    value = element(number)
    empty = tensor.EmptyOp(list(sizes), type_.element_type).result
    return elementwise([], [empty], lambda _: [value]).results[0]


def comes_of(value: Any, name: str) -> bool:
    """Return whether a value is a result of an op of that name."""
    op = producer(value)
    return op is not None and op.name == name


def preceding_zeros(op: Any) -> Any:
    """Return the op that wrote zeros to all of the output of `op`, if no op accessed it since.

    Args:
        op: a structured op on buffers with one output.

    Returns:
        A fill, a generic that fills, or a copy of a constant; None if absent.
    """
    fill = preceding_fill(op)
    return fill[0] if fill is not None and fill[1] in ZEROS else None


def preceding_fill(op: Any) -> tuple[Any, str] | None:
    """Return the op that wrote a constant to all of the output of `op`, and the constant.

    Args:
        op: a structured op on buffers with one output.

    Returns:
        The op, and the constant as MLIR writes it; None where there is no such op, or an op
        between the two may access the output.
    """
    output = op.operands[len(op.operands) - 1]
    siblings = [other.operation for other in op.block.operations]
    before = siblings[: siblings.index(op)]
    for other in reversed(before):
        constant = _filled_with(other, output)
        if constant is not None:
            return other, constant
        if not leaves_alone(other, output):
            return None
    return None


def leaves_alone(op: Any, output: Any) -> bool:
    """Return whether an op is known to neither read nor write a buffer."""
    if op.name in TOUCH_NOTHING or op.name.startswith("arith."):
        return True
    return _works_elsewhere(op, output)


def fills_fresh(op: Any) -> bool:
    """Return whether a linalg op writes a constant to all of its output, and that is allocated."""
    if not op.name.startswith("linalg.") or not len(op.operands):
        return False
    output = op.operands[len(op.operands) - 1]
    return buffer_of(output).is_fresh and _filled_with(op, output) is not None


def _works_elsewhere(op: Any, output: Any) -> bool:
    """Return whether an op accesses only its operands, and none of them aliases a fresh buffer."""
    buffer = buffer_of(output)
    if not buffer.is_fresh:
        return False
    if op.name != "memref.copy" and not op.name.startswith("linalg.") and not _calls_nest(op):
        return False
    buffers = [buffer_of(value) for value in op.operands if is_memory(value)]
    return all(_is_older(other, buffer) or not may_alias(other, buffer) for other in buffers)


def _is_older(buffer: Buffer, fresh: Buffer) -> bool:
    """Return whether a buffer existed before `fresh` was allocated, so that the two differ."""
    origin = buffer.value.owner
    is_given = isinstance(origin, ir.Block)
    op = fresh.value.owner.operation
    while op.parent is not None:
        if op.block == (origin if is_given else origin.operation.block):
            return is_given or origin.operation.is_before_in_block(op)
        op = op.parent.operation
    return False


def _calls_nest(op: Any) -> bool:
    """Return whether an op calls a nest made of a structured op; it accesses only its operands."""
    return op.name == "func.call" and callee_of(op).startswith(NESTS)


def _filled_with(op: Any, output: Any) -> str | None:
    """Return the constant that an op writes to all of a buffer; None where it does not."""
    if op.name == "memref.copy":
        return _constant_of_all(op.operands[0]) if op.operands[1] == output else None
    if not op.name.startswith("linalg.") or not len(op.operands) or len(op.results):
        return None
    if op.operands[len(op.operands) - 1] != output:
        return None
    if op.name == "linalg.fill":
        return _number(op.operands[0])
    if op.name != "linalg.generic" or len(op.operands) > 2:
        return None
    if not maps_of(op)[-1].is_permutation:  # some elements may stay
        return None
    body = op.regions[0].blocks[0]
    if len(body.operations) != 1:
        return None
    yielded = body.operations[0].operation.operands[0]
    # A fill that was made generic reads its number as an operand, or from outside.
    if len(op.operands) == 2 and yielded == body.arguments[0]:
        yielded = op.operands[0]
    return _number(yielded)


ZEROS = ("0.000000e+00", "0")
"""+0 as MLIR writes it."""


def _number(value: Any) -> str | None:
    """Return a scalar constant as MLIR writes it, without its type; None for any other value.

    Of a complex number it is the part, where both are the same.
    """
    if comes_of(value, "complex.constant"):
        parts = str(producer(value).attributes["value"]).strip("[]").split(", ")
        number, other = (part.partition(":")[0].strip() for part in parts)
        return number if number == other else None
    if not comes_of(value, "arith.constant"):
        return None
    return str(producer(value).attributes["value"]).partition(":")[0].strip()


def _constant_of_all(value: Any) -> str | None:
    """Return the element that fills a constant global; None where the elements may differ."""
    variable = global_of(buffer_of(value))
    if variable is None:
        return None
    attributes = variable.attributes
    if "constant" not in attributes or "initial_value" not in attributes:
        return None
    values = attributes["initial_value"]
    if not isinstance(values, ir.DenseElementsAttr) or not values.is_splat:
        return None
    return str(values).removeprefix("dense<").partition(">")[0]
