"""Tensors whose elements are all one number: constants, fills and the generics that fill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from linalg_ext.bindings import arith, ir, linalg, tensor

from .arithmetic import element_of_constant
from .generics import input_count, iterators
from .walking import element_type

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
    at = number.arg_number
    is_scalar = at < input_count(op) and not isinstance(op.operands[at].type, ir.ShapedType)
    return op.operands[at] if is_scalar else None


def element(number: Number) -> Any:
    """The number as a value, at the insertion point."""
    if not isinstance(number, ir.Attribute):
        return number
    constant: Any = arith.ConstantOp  # the stubs know of numbers only
    return constant(number.type, number).result


def filled(type_: Any, sizes: Sequence[Any], number: Number) -> Any:
    """Build a tensor that is full of a number."""
    value = element(number)
    identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(type_.rank))
    generic = linalg.GenericOp(
        [type_],
        [],
        [tensor.EmptyOp(list(sizes), type_.element_type).result],
        ir.ArrayAttr.get([identity]),
        iterators(["parallel"] * type_.rank),
    )
    with ir.InsertionPoint(generic.regions[0].blocks.append(type_.element_type)):
        linalg.YieldOp([value])
    return generic.results[0]
