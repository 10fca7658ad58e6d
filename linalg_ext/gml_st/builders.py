"""Helpers shared by the builders of `gml_st`: arguments as values, and checks of new ops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from linalg_ext.bindings import arith, ir
from linalg_ext.errors import ArgumentError, ArgumentTypeError, LinalgExtError
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.structured.indices.mixed import Index
from linalg_ext.structured.utils.values import as_values

from .ir.checks import check_op

Given: TypeAlias = ir.Value | ir.OpView
"""A value, or an op that has one result."""

Number: TypeAlias = int | Given
"""A number, or an index that is known when the program runs."""


def value_of(op: str, given: Given) -> ir.Value:
    """A value, or the one result of an op; its context has the dialect then.

    Raises:
        DTypeError: it is neither.
    """
    (value,) = as_values(op, [given])
    ensure_dialects(value.context)
    return value


def numbers_of(op: str, given: Sequence[Number]) -> list[Index]:
    """Numbers, and values of type index.

    Raises:
        ArgumentTypeError: it is no list, or one is something else; `op` is what it is given to.
        ArgumentError: a number is none of 64 bits.
    """
    if not isinstance(given, Iterable):
        raise ArgumentTypeError(
            f"{op}: {given} is no list of numbers", expected="a list, as in [0, i]"
        )
    numbers: list[Index] = []
    for at, each in enumerate(given):
        if isinstance(each, ir.Value | ir.OpView):
            value = value_of(op, each)
            if not isinstance(value.type, ir.IndexType):
                raise ArgumentTypeError(
                    f"{op}: number {at} is of type {value.type}", expected="an int, or an index"
                )
            numbers.append(value)
        elif hasattr(each, "__index__"):
            numbers.append(_within_64_bits(op, at, int(each)))
        else:
            raise ArgumentTypeError(
                f"{op}: number {at} is {each!r}", expected="an int, or an index of MLIR"
            )
    return numbers


def _within_64_bits(op: str, at: int, number: int) -> int:
    if -(1 << 63) < number < 1 << 63:
        return number
    raise ArgumentError(f"{op}: number {at} is {number}", expected="a number of 64 bits")


def index_values(op: str, given: Sequence[Number]) -> list[ir.Value]:
    """The same as values: numbers as constants at the current insertion point."""
    index = ir.IndexType.get()
    return [
        arith.ConstantOp(index, number).result if isinstance(number, int) else number
        for number in numbers_of(op, given)
    ]


def built(op: ir.OpView, attributes: Mapping[str, ir.Attribute] | None = None) -> ir.Value:
    """The one result of a new op once it has its attributes and keeps its rules.

    Raises:
        ArgumentError: it does not; then it is gone again.
    """
    for name, attribute in (attributes or {}).items():
        op.operation.attributes[name] = attribute
    checked(op)
    result: ir.Value = op.operation.results[0]
    return result


def checked(op: ir.OpView) -> None:
    """Check a new op, and erase it where it breaks a rule.

    Raises:
        ArgumentError: it does; names it.
    """
    try:
        check_op(op.operation)
    except LinalgExtError as error:
        name = op.operation.name
        op.operation.erase()
        error.what = f"{name}: {error.what}"
        raise
