"""Offsets, sizes and strides as ops hold them: numbers in an attribute, values as operands.

An op counts its groups of operands in `operandSegmentSizes`. A number that is known only when the
program runs is a gap in the attribute and an operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError
from linalg_ext.structured.operands import grouped

OPERAND_SEGMENTS = "operandSegmentSizes"
STATIC_OFFSETS, STATIC_SIZES = "static_offsets", "static_sizes"
STATIC_STRIDES = "static_strides"

Index: TypeAlias = int | ir.Value
"""An offset, a size, ...: a number, or an index that is known when the program runs."""

Size: TypeAlias = int | None
"""A size in a type; None where it is dynamic."""


def type_shape(sizes: Sequence[object]) -> list[int]:
    """Sizes as types hold them, with upstream's mark for each that is a value."""
    gap = ir.ShapedType.get_dynamic_size()
    return [size if isinstance(size, int) else gap for size in sizes]


def segments(op: ir.Operation, count: int) -> list[list[ir.Value]]:
    """The operands of an op in its `count` groups.

    Raises:
        ArgumentError: the attribute that counts them is missing, or does not add up.
    """
    attribute = attribute_of(op, OPERAND_SEGMENTS)
    if attribute is None:
        raise ArgumentError(f"{OPERAND_SEGMENTS} is missing", expected=f"{count} numbers")
    sizes = list(attribute) if isinstance(attribute, ir.DenseI32ArrayAttr) else None
    operands = list(op.operands)
    if (
        sizes is None
        or len(sizes) != count
        or min(sizes, default=0) < 0
        or sum(sizes) != len(operands)
    ):
        raise ArgumentError(
            f"{OPERAND_SEGMENTS} = {attribute} does not count the {len(operands)} operands",
            expected=f"array<i32: ...> of {count} numbers that add up to {len(operands)}",
        )
    return grouped(operands, sizes)


def attribute_of(op: ir.Operation, name: str) -> ir.Attribute | None:
    """An attribute of an op, asked for once: verifiers read many of them."""
    try:
        attribute: ir.Attribute = op.attributes[name]
    except KeyError:
        return None
    except TypeError:
        # The bindings have no class for some attributes, such as `array<ui8: 4>`.
        raise ArgumentError(
            f"{name} is an attribute without a class in the bindings", expected="array<i64: ...>"
        ) from None
    return attribute


def mixed(
    op: ir.Operation, name: str, subject: str, dynamic: Sequence[ir.Value]
) -> tuple[Index, ...]:
    """Numbers and values in their order: those of an array attribute, and `dynamic` in its gaps.

    Raises:
        ArgumentError: the attribute is missing, or has more or fewer gaps than there are values.
    """
    attribute = attribute_of(op, name)
    if attribute is None:
        raise ArgumentError(f"{name} is missing", expected="array<i64: ...>")
    if not isinstance(attribute, ir.DenseI64ArrayAttr):
        raise ArgumentError(f"{name} = {attribute}", expected="array<i64: ...>")
    numbers, gap = list(attribute), ir.ShapedType.get_dynamic_size()
    expected = numbers.count(gap)
    if expected != len(dynamic):
        raise ArityError(
            f"expected {expected} dynamic {subject} values, got {len(dynamic)}",
            hint=f"each dynamic {subject} in {name} is an operand",
        )
    values = iter(dynamic)
    return tuple(next(values) if number == gap else number for number in numbers)


def mixed_operands(*groups: Sequence[Index]) -> tuple[Any, ...]:
    """Groups as builders of ops take them: the values of each, then the attribute of each."""
    dynamic = [[index for index in group if not isinstance(index, int)] for group in groups]
    return (*dynamic, *map(mixed_attribute, groups))


def mixed_attribute(numbers: Sequence[Index]) -> ir.DenseI64ArrayAttr:
    """The static part of numbers that ops hold half as an attribute, half as operands."""
    return ir.DenseI64ArrayAttr.get(type_shape(numbers))
