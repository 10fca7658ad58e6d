"""The ops of the dialect `gml_st`, as frozen views.

    tile = TileView.of(op)
    tile.superset, tile.offsets, tile.sizes, tile.strides

A view names what an op holds. It alone knows how the op lays its operands out: operands of several
types have a slot each, and `operandSegmentSizes` counts them. It lives as long as the op does. The
views of loops, and of what ends their bodies, are in `loops.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError
from linalg_ext.gml_st.asm import layout
from linalg_ext.structured.extension.attributes import integers

NAMESPACE = "gml_st."
QUERIES = ("gml_st.offset", "gml_st.size", "gml_st.stride")
COMBINATIONS = ("gml_st.intersection", "gml_st.convex_union", "gml_st.difference")
LOOPS = ("gml_st.loop", "gml_st.for", "gml_st.parallel")
YIELDS = ("gml_st.yield", "gml_st.set_yield")

INPUT_SLOTS, OUTPUT_SLOTS = layout.INPUT_SLOTS, layout.OUTPUT_SLOTS
"""How many inputs and how many outputs a loop may have at most."""

STATIC_OFFSETS, STATIC_SIZES = layout.STATIC_OFFSETS, layout.STATIC_SIZES
STATIC_STRIDES, STATIC_INDICES = layout.STATIC_STRIDES, layout.STATIC_INDICES
REMAINING_DIMS, PERMUTATION = layout.REMAINING_DIMS, layout.PERMUTATION
ITERATOR_TYPES, DISTRIBUTION = layout.ITERATOR_TYPES, layout.DISTRIBUTION
ACCUMULATOR_FLAGS = layout.ACCUMULATOR_FLAGS
OPERAND_SEGMENTS, RESULT_SEGMENTS = layout.OPERAND_SEGMENTS, layout.RESULT_SEGMENTS

PARALLEL, REDUCTION, SEQUENTIAL = "parallel", "reduction", "sequential"
ITERATORS = (PARALLEL, REDUCTION, SEQUENTIAL)
"""The types of iterators: `reduction` and `sequential` mean the same."""

Index: TypeAlias = int | ir.Value
"""An offset, a size, ...: a number, or an index that is known when the program runs."""


def segments(op: ir.Operation, count: int) -> list[list[ir.Value]]:
    """The operands of an op in its `count` groups.

    Raises:
        ArgumentError: what counts them is missing, or does not add up.
    """
    attribute = attribute_of(op, OPERAND_SEGMENTS)
    if attribute is None:
        raise ArgumentError(f"{OPERAND_SEGMENTS} is missing", expected=f"{count} numbers")
    sizes = None
    if isinstance(attribute, ir.DenseI32ArrayAttr):
        sizes = [attribute[at] for at in range(len(attribute))]
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
    ends = itertools.accumulate(sizes)
    return [operands[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def attribute_of(op: ir.Operation, name: str) -> ir.Attribute | None:
    """An attribute of an op, asked for once: verifiers read many of them."""
    try:
        attribute: ir.Attribute = op.attributes[name]
    except KeyError:
        return None
    return attribute


def mixed(op: ir.Operation, name: str, what: str, dynamic: Sequence[ir.Value]) -> tuple[Index, ...]:
    """Numbers and values in their order: those of an array attribute, and `dynamic` in its gaps.

    Raises:
        ArgumentError: the attribute is missing, or has more or fewer gaps than there are values.
    """
    attribute = attribute_of(op, name)
    if attribute is None:
        raise ArgumentError(f"{name} is missing", expected="array<i64: ...>")
    if not isinstance(attribute, ir.DenseI64ArrayAttr):
        raise ArgumentError(f"{name} = {attribute}", expected="array<i64: ...>")
    numbers = [attribute[at] for at in range(len(attribute))]
    gap = ir.ShapedType.get_dynamic_size()
    expected = numbers.count(gap)
    if expected != len(dynamic):
        raise ArityError(
            f"expected {expected} dynamic {what} values, got {len(dynamic)}",
            cure=f"each dynamic {what} in {name} is an operand",
        )
    values = iter(dynamic)
    return tuple(next(values) if number == gap else number for number in numbers)


def operand_of(op: ir.Operation, at: int) -> ir.Value:
    """An operand by its place.

    Raises:
        ArityError: there are not so many.
    """
    operands = op.operands
    if at >= len(operands):
        raise ArityError(f"it has {len(operands)} operand(s)", expected=f"{at + 1} or more")
    return operands[at]


def _list(op: ir.Operation, name: str) -> tuple[int, ...]:
    if name not in op.attributes:
        raise ArgumentError(f"{name} is missing", expected="array<i64: ...>")
    return integers(op.attributes[name], name)


def texts(op: ir.Operation, name: str) -> tuple[str, ...]:
    """The texts of an array attribute.

    Raises:
        ArgumentError: it is something else.
    """
    attribute = op.attributes[name]
    if isinstance(attribute, ir.ArrayAttr) and all(isinstance(a, ir.StringAttr) for a in attribute):
        return tuple(ir.StringAttr(each).value for each in attribute)
    raise ArgumentError(f"{name} = {attribute}", expected='texts, as in ["parallel"]')


@dataclass(frozen=True)
class _OperandsView:
    """An op of which each further field is the operand at its place."""

    op: ir.Operation

    @classmethod
    def of(cls, op: ir.Operation) -> Self:
        """The view of an op."""
        count = len(cls.__dataclass_fields__) - 1
        return cls(op, *(operand_of(op, at) for at in range(count)))


@dataclass(frozen=True)
class SpaceView:
    """`gml_st.space`: the root, an index space of its own."""

    op: ir.Operation
    sizes: tuple[Index, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> SpaceView:
        """The view of an op."""
        return cls(op, mixed(op, STATIC_SIZES, "size", list(op.operands)))


@dataclass(frozen=True)
class FullView(_OperandsView):
    """`gml_st.full`: all of a tensor or memref."""

    source: ir.Value


@dataclass(frozen=True)
class TileView:
    """`gml_st.tile`: a rectangle of a superset, its offsets relative to that."""

    op: ir.Operation
    superset: ir.Value
    offsets: tuple[Index, ...]
    sizes: tuple[Index, ...]
    strides: tuple[Index, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> TileView:
        """The view of an op."""
        superset, offsets, sizes, strides = segments(op, 4)
        if len(superset) != 1:
            raise ArityError(f"it is a tile of {len(superset)} supersets", expected="one")
        return cls(
            op,
            superset[0],
            mixed(op, STATIC_OFFSETS, "offset", offsets),
            mixed(op, STATIC_SIZES, "size", sizes),
            mixed(op, STATIC_STRIDES, "stride", strides),
        )


@dataclass(frozen=True)
class FilterView(_OperandsView):
    """`gml_st.filter`: the elements of a tensor at the rows of `indices`."""

    source: ir.Value
    indices: ir.Value


@dataclass(frozen=True)
class PointView:
    """`gml_st.point`: one element of a superset."""

    op: ir.Operation
    superset: ir.Value
    indices: tuple[Index, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> PointView:
        """The view of an op."""
        dynamic = list(op.operands)[1:]
        return cls(op, operand_of(op, 0), mixed(op, STATIC_INDICES, "index", dynamic))


@dataclass(frozen=True)
class DropDimsView:
    """`gml_st.drop_dims`: some dimensions of a set, in the space of those alone."""

    op: ir.Operation
    set: ir.Value
    remaining_dims: tuple[int, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> DropDimsView:
        """The view of an op."""
        return cls(op, operand_of(op, 0), _list(op, REMAINING_DIMS))


@dataclass(frozen=True)
class TransposeDimsView:
    """`gml_st.transpose_dims`: dimension i of the result is dimension `permutation[i]`."""

    op: ir.Operation
    set: ir.Value
    permutation: tuple[int, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> TransposeDimsView:
        """The view of an op."""
        return cls(op, operand_of(op, 0), _list(op, PERMUTATION))


@dataclass(frozen=True)
class QueryView(_OperandsView):
    """`gml_st.offset`, `size` or `stride` of a set along a dimension, relative to its root."""

    set: ir.Value
    dim: ir.Value


@dataclass(frozen=True)
class PairView(_OperandsView):
    """An op on two sets of one root: `intersection`, `convex_union`, `difference`, `contains`."""

    first: ir.Value
    second: ir.Value


@dataclass(frozen=True)
class IsEmptyView(_OperandsView):
    """`gml_st.is_empty`: whether a set has no element."""

    set: ir.Value


@dataclass(frozen=True)
class MaterializeView(_OperandsView):
    """`gml_st.materialize`: the elements of a tensor or memref that a set names."""

    source: ir.Value
    set: ir.Value
