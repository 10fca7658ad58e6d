"""The ops of the dialect `gml_st`, as frozen views.

    tile = TileView.of(op)
    tile.superset, tile.offsets, tile.sizes, tile.strides

A view names what an op holds. It alone knows how the op lays its operands out: operands of several
types have a slot each, and `operandSegmentSizes` counts them. It lives as long as the op does. The
views of loops, and of what ends their bodies, are in `loops.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError
from linalg_ext.gml_st.asm import layout
from linalg_ext.structured.extension import integers
from linalg_ext.structured.mixed import (
    STATIC_OFFSETS,
    STATIC_SIZES,
    STATIC_STRIDES,
    Index,
    mixed,
    segments,
)

NAMESPACE = "gml_st."
QUERIES = ("gml_st.offset", "gml_st.size", "gml_st.stride")
COMBINATIONS = ("gml_st.intersection", "gml_st.convex_union", "gml_st.difference")
LOOPS = ("gml_st.loop", "gml_st.for", "gml_st.parallel")
YIELDS = ("gml_st.yield", "gml_st.set_yield")

INPUT_SLOTS, OUTPUT_SLOTS = layout.INPUT_SLOTS, layout.OUTPUT_SLOTS
"""The greatest number of inputs and of outputs of a loop."""

STATIC_INDICES = layout.STATIC_INDICES
REMAINING_DIMS, PERMUTATION = layout.REMAINING_DIMS, layout.PERMUTATION
ITERATOR_TYPES, DISTRIBUTION = layout.ITERATOR_TYPES, layout.DISTRIBUTION
ACCUMULATOR_FLAGS = layout.ACCUMULATOR_FLAGS
RESULT_SEGMENTS = layout.RESULT_SEGMENTS

PARALLEL, REDUCTION, SEQUENTIAL = "parallel", "reduction", "sequential"
ITERATORS = (PARALLEL, REDUCTION, SEQUENTIAL)
"""The types of iterators: `reduction` and `sequential` mean the same."""


def operand_of(op: ir.Operation, at: int) -> ir.Value:
    """An operand by its place.

    Raises:
        ArityError: the op has fewer operands.
    """
    operands = op.operands
    if at >= len(operands):
        raise ArityError(f"the op has {len(operands)} operand(s)", expected=f"{at + 1} or more")
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
            raise ArityError(f"the tile has {len(superset)} supersets", expected="one")
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
