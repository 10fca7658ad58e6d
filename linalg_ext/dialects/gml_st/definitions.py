"""The types and ops of the dialect `gml_st`, as upstream's machinery for dialects wants them.

Importing this file adds the ops to the tables of `linalg_ext.structured`: destinations, sizes,
loop ranges.
"""

# No `from __future__ import annotations`: the bindings read the annotations of these classes.

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ext, ir
from linalg_ext.dialects.gml_st.ir.checks import check_op, check_terminator
from linalg_ext.dialects.linalg_ext.dialect import is_verified
from linalg_ext.structured import destinations as initial_values
from linalg_ext.structured.destinations import DestinationRule, add_destination_rule
from linalg_ext.structured.indices import add_loop_ranges, parallel_ranges
from linalg_ext.structured.operands import producer
from linalg_ext.structured.sizes import add_result_sizes, as_number, size_of
from linalg_ext.symbolic.integers import Number

from .ir.op_views import INPUT_SLOTS, LOOPS, OUTPUT_SLOTS, LoopView, TileView


class GmlSt(ext.Dialect, name="gml_st"):
    """Loops over subsets."""


class SubsetType(GmlSt.Type, name="subset"):
    """`!gml_st.subset<"4x?xf32">`: a part of a tensor, of a memref or of an index space."""

    text: ir.StringAttr


class ElementType(GmlSt.Type, name="element"):
    """`!gml_st.element`: a single element."""


class _Op(GmlSt.Operation):
    """An op that keeps the rules of `linalg_ext.dialects.gml_st.ir.checks`."""

    def verify_invariants(self) -> bool:
        return is_verified(self, check_op)


class _SetOp(_Op, traits=[ext.Pure]):
    """An op that computes a set, or something about sets."""


class _Terminator(_Op):
    """An op that ends a body; the region it accumulates with is verified before it is looked at."""

    def verify_region_invariants(self) -> bool:
        return is_verified(self, check_terminator)


_OPTIONAL: tuple[Any, ...] = (ext.Operand[Any] | None, ext.Result[Any] | None)


def _operands(name: str, count: int) -> dict[str, Any]:
    return dict.fromkeys((f"{name}{position}" for position in range(count)), _OPTIONAL[0])


def _results(count: int) -> dict[str, Any]:
    return dict.fromkeys((f"result{position}" for position in range(count)), _OPTIONAL[1])


def _defaults(fields: dict[str, Any]) -> dict[str, None]:
    """The optional ones among the fields of an op, each with the default of none."""
    return {name: None for name, kind in fields.items() if kind in _OPTIONAL}


_Truth: Any = ir.IntegerType[1]
_Indices = Sequence[ext.Operand[ir.IndexType]]
_BOUNDS = {"lower": _Indices, "upper": _Indices, "step": _Indices}


class SpaceOp(_SetOp, name="space"):
    """The root: an index space."""

    sizes: _Indices
    result: ext.Result[SubsetType]


class FullOp(_SetOp, name="full"):
    """All of a tensor or memref."""

    source: ext.Operand[Any]
    result: ext.Result[SubsetType]


class TileOp(_SetOp, name="tile"):
    """A rectangle of a tensor, a memref or a subset."""

    superset: ext.Operand[Any]
    offsets: _Indices
    sizes: _Indices
    strides: _Indices
    result: ext.Result[SubsetType]


class FilterOp(_SetOp, name="filter"):
    """The elements of a tensor or memref at some indices."""

    source: ext.Operand[Any]
    indices: ext.Operand[Any]
    result: ext.Result[SubsetType]


class PointOp(_SetOp, name="point"):
    """One element of a tensor, a memref or a subset."""

    superset: ext.Operand[Any]
    indices: _Indices
    result: ext.Result[ElementType]


class DropDimsOp(_SetOp, name="drop_dims"):
    """Some dimensions of a set."""

    set: ext.Operand[SubsetType | ElementType]
    result: ext.Result[SubsetType | ElementType]


class TransposeDimsOp(_SetOp, name="transpose_dims"):
    """A set with its dimensions in another order."""

    set: ext.Operand[SubsetType | ElementType]
    result: ext.Result[SubsetType | ElementType]


class _QueryOp(_SetOp):
    """A number of a set, relative to its root."""

    set: ext.Operand[SubsetType | ElementType]
    dim: ext.Operand[ir.IndexType]
    result: ext.Result[ir.IndexType]


class OffsetOp(_QueryOp, name="offset"):
    """The offset of a set along a dimension, relative to its root."""


class SizeOp(_QueryOp, name="size"):
    """The number of elements of a set along a dimension."""


class StrideOp(_QueryOp, name="stride"):
    """The stride of a set along a dimension: the distance between its elements."""


class _BoxOp(_SetOp):
    """A box of two sets."""

    first: ext.Operand[SubsetType]
    second: ext.Operand[SubsetType]
    result: ext.Result[SubsetType]


class IntersectionOp(_BoxOp, name="intersection"):
    """The elements of both."""


class ConvexUnionOp(_BoxOp, name="convex_union"):
    """The smallest box around both."""


class DifferenceOp(_SetOp, name="difference"):
    """The elements of the first that are not of the second: disjoint boxes, two a dimension."""

    first: ext.Operand[SubsetType]
    second: ext.Operand[SubsetType]
    boxes: Sequence[ext.Result[SubsetType]]


class ContainsOp(_SetOp, name="contains"):
    """A test that the second is a part of the first."""

    first: ext.Operand[SubsetType]
    second: ext.Operand[SubsetType | ElementType]
    result: ext.Result[_Truth]


class IsEmptyOp(_SetOp, name="is_empty"):
    """A test that a set has no element."""

    set: ext.Operand[SubsetType]
    result: ext.Result[_Truth]


class _Reads(ir.MemoryEffectsOpInterface):
    """A materialize of memory reads it, and no write may pass it."""

    @staticmethod
    def get_effects(op: Any, effects: Any) -> None:
        if any(isinstance(value.type, ir.MemRefType) for value in op.operands):
            effects.append(ir.MemoryEffect.Read)


class MaterializeOp(_Op, name="materialize", traits=[_Reads]):
    """The elements of a set, as a tensor, as a view or as a scalar."""

    source: ext.Operand[Any]
    set: ext.Operand[SubsetType | ElementType]
    result: ext.Result[Any]


class LoopOp(_Op, name="loop"):
    """A nest over parallel and sequential iterators."""

    __annotations__ = {
        **_BOUNDS,
        **_operands("in", INPUT_SLOTS),
        **_operands("out", OUTPUT_SLOTS),
        **_results(OUTPUT_SLOTS),
        "body": ext.Region,
    }
    vars().update(_defaults(__annotations__))


class ForOp(_Op, name="for"):
    """A sequential nest."""

    __annotations__ = {
        **_BOUNDS,
        **_operands("out", OUTPUT_SLOTS),
        **_results(OUTPUT_SLOTS),
        "body": ext.Region,
    }
    vars().update(_defaults(__annotations__))


class ParallelOp(_Op, name="parallel"):
    """A nest in no order."""

    __annotations__ = {**_BOUNDS, **_results(OUTPUT_SLOTS), "body": ext.Region}
    vars().update(_defaults(__annotations__))


class YieldOp(_Terminator, name="yield", traits=[ir.IsTerminatorTrait]):
    """The terminator of an iteration of `gml_st.loop`, or of a region that accumulates."""

    __annotations__ = {
        **_operands("value", OUTPUT_SLOTS),
        **_operands("subset", OUTPUT_SLOTS),
        "accumulator": ext.Region,
    }
    vars().update(_defaults(__annotations__))


class SetYieldOp(_Terminator, name="set_yield", traits=[ir.IsTerminatorTrait]):
    """The terminator of an iteration of `gml_st.for` or `gml_st.parallel`."""

    __annotations__ = {
        **_operands("source", OUTPUT_SLOTS),
        **_operands("destination", OUTPUT_SLOTS),
        **_operands("set", OUTPUT_SLOTS),
        "accumulator": ext.Region,
    }
    vars().update(_defaults(__annotations__))


def _size_of_materialized(op: ir.Operation, result: ir.Value, axis: int) -> Number | None:
    tile = producer(op.operands[1])
    if tile is None or tile.name != "gml_st.tile":
        return None
    return as_number(TileView.of(tile).sizes[axis])


_LOOP = DestinationRule(
    lambda op: range(len(op.operands) - len(LoopView.of(op).outs), len(op.operands)),
    initial_values.always,
    carried=lambda op, position: ir.BlockArgument(
        LoopView.of(op).region_outs[position - len(op.operands)]
    ),
)

add_destination_rule("gml_st.loop", _LOOP)
add_destination_rule("gml_st.for", _LOOP)
add_result_sizes("gml_st.materialize", _size_of_materialized)
for _name in LOOPS:
    add_result_sizes(
        _name,
        lambda op, result, axis: size_of(
            LoopView.of(op).destinations[ir.OpResult(result).result_number], axis
        ),
    )
    add_loop_ranges(_name, parallel_ranges)
