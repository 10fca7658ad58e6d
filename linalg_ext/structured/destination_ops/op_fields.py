"""Checks of operands, attributes and regions, shared by the views of several ops."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, ShapeError
from linalg_ext.structured.extension.attributes import SEGMENTS, integers
from linalg_ext.structured.utils.operands import grouped, static_sizes

YIELD = "linalg_ext.yield"


def segments_of(op: ir.Operation, slots: Sequence[int]) -> list[list[ir.Value]]:
    """The operands of an op by the groups of its slots: `(25, 1)` is 25 inputs and a destination.

    Raises:
        ArgumentError: the attribute that counts them is missing or wrong.
    """
    counts = op.attributes.get(SEGMENTS)
    if not isinstance(counts, ir.DenseI32ArrayAttr):
        raise ArgumentError(f"{SEGMENTS} is missing", expected=f"{sum(slots)} numbers, each 0 or 1")
    given = list(counts)
    if len(given) != sum(slots) or any(count not in (0, 1) for count in given):
        raise ArgumentError(
            f"{SEGMENTS} = {given}", expected=f"{sum(slots)} numbers, each of them 0 or 1"
        )
    if sum(given) != len(op.operands):
        raise ArityError(
            f"{SEGMENTS} counts {sum(given)} operands, but there are {len(op.operands)}"
        )
    counted = iter(given)
    return grouped(list(op.operands), [sum(itertools.islice(counted, slot)) for slot in slots])


def ranked_tensor(value: ir.Value, name: str) -> ir.RankedTensorType:
    """The type of an operand, which must be a ranked tensor."""
    if not isinstance(value.type, ir.RankedTensorType):
        raise ArgumentError(f"{name} is of type {value.type}", expected="a ranked tensor")
    return value.type


def check_results(op: ir.Operation, destinations: Sequence[ir.Value]) -> None:
    """Each result is of the type of its destination."""
    if len(op.results) != len(destinations):
        raise ArityError(
            f"{op.name} gives {len(op.results)} result(s) for {len(destinations)} destination(s)"
        )
    for result, destination in zip(op.results, destinations, strict=True):
        if result.type != destination.type:
            raise ArgumentError(
                f"{op.name} gives {result.type}",
                expected=f"the type of its destination: {destination.type}",
            )


def check_elements(value: ir.Value, name: str, destination: ir.Value) -> None:
    """An operand has the element type of the destination."""
    element, wanted = (ir.ShapedType(v.type).element_type for v in (value, destination))
    if element != wanted:
        raise DTypeError(
            f"{name} has elements of type {element}, the destination of type {wanted}",
            expected="the same element type",
        )


def differ(left: int | None, right: int | None) -> bool:
    """Return whether two sizes, None where they are dynamic, are known to differ."""
    return left is not None and right is not None and left != right


def check_same_shape(value: ir.Value, name: str, other: ir.Value, other_name: str) -> None:
    """Two operands have one shape, by their types."""
    sizes, wanted = static_sizes(value), static_sizes(other)
    if len(sizes) != len(wanted) or any(map(differ, sizes, wanted)):
        raise ShapeError(
            f"{name} is of type {value.type}, {other_name} of type {other.type}",
            expected="the same shape",
        )


def dimension_of(op: ir.Operation, rank: int) -> int:
    """The attribute `dimension`, from 0 to the rank."""
    attribute = op.attributes.get("dimension")
    if attribute is None:
        raise ArgumentError("dimension is missing", expected="dimension = 0 : i64, or another")
    if not isinstance(attribute, ir.IntegerAttr):
        raise ArgumentError(f"dimension = {attribute}", expected="an integer")
    dimension = attribute.value
    if not 0 <= dimension < rank:
        raise ShapeError(
            f"dimension = {dimension}", expected=f"a dimension of a tensor of rank {rank}"
        )
    return dimension


def dimensions_of(
    op: ir.Operation, name: str, rank: int, *, required: bool = True
) -> tuple[int, ...]:
    """A list of dimensions among the attributes: from 0 to the rank, none twice.

    Where it is missing and need not be there, it is empty.
    """
    if name not in op.attributes:
        if not required:
            return ()
        raise ArgumentError(f"{name} is missing", expected=f"{name} = array<i64: 0>, or others")
    found = integers(op.attributes[name], name)
    for dimension in found:
        if not 0 <= dimension < rank:
            raise ShapeError(
                f"{name} = {list(found)} names dimension {dimension}",
                expected=f"dimensions of a tensor of rank {rank}",
            )
    if len(set(found)) != len(found):
        raise ArgumentError(f"{name} = {list(found)} names a dimension twice")
    return found


def flag_of(op: ir.Operation, name: str, *, default: bool = False) -> bool:
    """A truth among the attributes: a boolean, or its bare name for true."""
    if name not in op.attributes:
        return default
    attribute = op.attributes[name]
    if isinstance(attribute, ir.UnitAttr):
        return True
    if not isinstance(attribute, ir.BoolAttr):
        raise ArgumentError(f"{name} = {attribute}", expected="true or false")
    return bool(attribute.value)


def body_of(op: ir.Operation) -> ir.Block | None:
    """The block of the one region of an op; None where the region is empty."""
    blocks: Sequence[Any] = list(op.regions[0].blocks)
    if len(blocks) > 1:
        raise ArgumentError(f"the region of {op.name} has {len(blocks)} blocks", expected="one")
    return blocks[0] if blocks else None


def check_body(block: ir.Block, arguments: Sequence[ir.Type], result: ir.Type, what: str) -> None:
    """A region of an op takes scalars of these types and yields one of that type.

    Args:
        block: the one of the region.
        arguments: the types of its arguments.
        result: the type of what it yields.
        what: what the region is called in errors, and what its arguments are.
    """
    given = [argument.type for argument in block.arguments]
    if given != list(arguments):
        raise ArgumentError(
            f"{what} takes ({_listed(given)})", expected=f"arguments ({_listed(arguments)})"
        )
    last = list(block.operations)[-1].operation if len(list(block.operations)) else None
    if last is None or last.name != YIELD:
        raise ArgumentError(f"{what} ends without {YIELD}", expected=f"{YIELD} of one {result}")
    yielded = [value.type for value in last.operands]
    if yielded != [result]:
        raise ArgumentError(f"{what} yields ({_listed(yielded)})", expected=f"one {result}")


def _listed(types: Sequence[ir.Type]) -> str:
    return ", ".join(map(str, types))
