"""Scalar expressions of elements of tensors and buffers, as the bodies of structured ops say them.

Loops are numbers; along an axis of one element there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from linalg_ext.bindings import ir

At: TypeAlias = "tuple[int | None, ...]"
"""The loop that runs along each axis; None for an axis of one element."""


@dataclass(frozen=True)
class Element:
    """An element of a tensor or a buffer."""

    value: Any
    at: At


@dataclass(frozen=True)
class Number:
    """A constant, as MLIR writes it: `0.125 : f32`."""

    text: str


@dataclass(frozen=True)
class Position:
    """The position of a loop, an index; None for a loop of one step."""

    loop: int | None


@dataclass(frozen=True)
class Applied:
    """An op of one result on scalars.

    Attributes:
        name: of the op.
        attributes: as MLIR writes them.
        operands: what it is applied to.
        type: of the result, as MLIR writes it.
    """

    name: str
    attributes: str
    operands: tuple[Expression, ...]
    type: str


Expression: TypeAlias = "Element | Number | Position | Applied"


def walk(expression: Expression) -> Iterator[Expression]:
    """An expression and all below it."""
    yield expression
    if isinstance(expression, Applied):
        for operand in expression.operands:
            yield from walk(operand)


def replaced(expression: Expression, old: Expression, new: Expression) -> Expression:
    """An expression with another in the place of a part."""
    if expression == old:
        return new
    if isinstance(expression, Applied):
        operands = tuple(replaced(each, old, new) for each in expression.operands)
        return Applied(expression.name, expression.attributes, operands, expression.type)
    return expression


def product(expression: Expression) -> list[Expression]:
    """Return the factors of a product, from left to right."""
    if isinstance(expression, Applied) and expression.name == "arith.mulf":
        return [factor for operand in expression.operands for factor in product(operand)]
    return [expression]


def is_constant(expression: Expression) -> bool:
    """Return whether an expression is a number, or a cast of one."""
    if isinstance(expression, Applied):
        return all(isinstance(each, Number) for each in expression.operands)
    return isinstance(expression, Number)


def number(expression: Expression) -> float | None:
    """The value of a constant."""
    if not isinstance(expression, Number):
        return None
    text, _, type_ = expression.text.rpartition(" : ")
    if not text:
        return {"true": 1.0, "false": 0.0}.get(expression.text)
    if not type_.startswith("f"):
        return float(int(text)) if text.lstrip("-").isdigit() else None
    if not text.startswith("0x"):
        return float(text)
    attribute = ir.FloatAttr(ir.Attribute.parse(expression.text))
    return float(attribute.value)
