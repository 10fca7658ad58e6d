"""Arguments of queries about an op: the op itself, an operand, a result, an init."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, TypeVar

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArgumentTypeError
from linalg_ext.structured.maps import place_of

T = TypeVar("T")

OperandLike: TypeAlias = "int | ir.OpOperand | ir.Value | ir.OpView"
"""An operand of an op: its position, counted from 0, upstream's OpOperand, or the value itself."""


def operation_of(op: ir.Operation | ir.OpView) -> ir.Operation:
    """The operation that a caller asks about; an ArgumentTypeError where it is not one."""
    if isinstance(op, ir.OpView | ir.Operation):
        return op.operation
    raise ArgumentTypeError(
        f"{type(op).__name__} is not an op",
        expected="an ir.Operation or ir.OpView",
        hint="take one of a module's: module.ir.body.operations[0].regions[0].blocks[0]"
        ".operations[0]",
    )


def position_of(op: ir.Operation, operand: OperandLike) -> int:
    """The position of an operand among those of its op.

    Raises:
        ArgumentError: the op has no such operand, or has the value twice.
    """
    if isinstance(operand, ir.OpOperand):
        if operand.owner.operation == op:
            return operand.operand_number
        raise ArgumentError(f"the operand belongs to another op than {op.name}", where=place_of(op))
    if isinstance(operand, ir.Value | ir.OpView):
        return _position_of_value(op, as_value(operand))
    if type(operand) is not int:
        raise ArgumentTypeError(
            f"{operand!r} is not an operand of {op.name}",
            where=place_of(op),
            expected="a position, an ir.OpOperand or an ir.Value",
        )
    if not 0 <= operand < len(op.operands):
        raise ArgumentError(
            f"{op.name} has no operand {operand}",
            where=place_of(op),
            expected=f"a position from 0 to {len(op.operands) - 1}"
            if len(op.operands)
            else "another op: it has no operands",
        )
    return operand


def listed(name: str, several: Iterable[T]) -> list[T]:
    """Several things of a caller as a list; an ArgumentTypeError for one thing, or a text."""
    if isinstance(several, Iterable) and not isinstance(several, str):
        return list(several)
    raise ArgumentTypeError(f"{name} = {several!r}", expected="a list, of one if need be")


def as_value(value: ir.Value | ir.OpView) -> ir.Value:
    """The value that is given by itself, or by the op that it is the one result of.

    Raises:
        ArgumentError: it is neither.
    """
    if isinstance(value, ir.OpView | ir.Operation):
        if len(value.operation.results) == 1:
            result: ir.Value = value.operation.results[0]
            return result
        raise ArgumentError(
            f"{value.operation.name} has {len(value.operation.results)} results",
            expected="one value",
            hint="give one of its .results",
        )
    if isinstance(value, ir.Value):
        return value
    raise ArgumentTypeError(f"{value!r} is not a value", expected="an ir.Value")


def _position_of_value(op: ir.Operation, value: ir.Value) -> int:
    positions = [position for position, operand in enumerate(op.operands) if operand == value]
    if len(positions) == 1:
        return positions[0]
    if positions:
        raise ArgumentError(
            f"the value is operand {' and '.join(map(str, positions))} of {op.name}",
            where=place_of(op),
            hint="say which one by its position",
        )
    raise ArgumentError(
        f"a value of type {value.type} is not an operand of {op.name}", where=place_of(op)
    )
