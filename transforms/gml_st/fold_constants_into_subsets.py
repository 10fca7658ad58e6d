"""Fold constants into sets: known offsets, sizes, strides and indices become attributes.

before:
    %s = "gml_st.tile"(%x, %c4, %c8, %c2) {static_offsets = array<i64: -9223372036854775808>,
            static_sizes = array<i64: -9223372036854775808>,
            static_strides = array<i64: -9223372036854775808>,
            operandSegmentSizes = array<i32: 1, 1, 1, 1>}
          : (tensor<64xf32>, index, index, index) -> !gml_st.subset<"?xf32">
    %r = "gml_st.materialize"(%x, %s)
          : (tensor<64xf32>, !gml_st.subset<"?xf32">) -> tensor<?xf32>
after:
    %s = "gml_st.tile"(%x) {static_offsets = array<i64: 4>, static_sizes = array<i64: 8>,
            static_strides = array<i64: 2>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}
          : (tensor<64xf32>) -> !gml_st.subset<"8xf32">
    %a = "gml_st.materialize"(%x, %s)
          : (tensor<64xf32>, !gml_st.subset<"8xf32">) -> tensor<8xf32>
    %r = tensor.cast %a : tensor<8xf32> to tensor<?xf32>

A size that becomes known is part of the type as well: materialized parts, and values yielded to the
set, are cast. Sizes stay as they are where the set is used in another way, or accumulated to.
"""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.dialects import gml_st
from linalg_ext.dialects.gml_st.ir.op_views import (
    YIELDS,
    MaterializeView,
    PointView,
    SpaceView,
    TileView,
    YieldView,
)
from linalg_ext.dialects.gml_st.ir.types import materialized_type
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.mixed import Index

from ._loops import cast, with_constants

NAME = "linalg-ext-fold-constants-into-subsets"


@rewrite(NAME, on=("gml_st.tile", "gml_st.point", "gml_st.space"))
def fold_constants_into_subsets(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Fold constant operands of an op into its static attributes."""
    try:
        new = _folded(op.operation)
    except ArgumentError as error:
        return MatchFailure(error.what)
    if new is None:
        return False
    old = op.operation.results[0]
    if new.type == old.type:
        rewriter.replace_op(op, new)
        return True
    for use in list(old.uses):
        _adapt(use.owner.operation, use.operand_number, new, rewriter)
    rewriter.erase_op(op)
    return True


def _folded(op: ir.Operation) -> ir.Value | None:
    match op.name:
        case "gml_st.space":
            space = SpaceView.of(op)
            sizes = _known_sizes(op, space.sizes)
            return None if _same(sizes, space.sizes) else gml_st.space(sizes)
        case "gml_st.point":
            point = PointView.of(op)
            indices = with_constants(point.indices)
            return None if _same(indices, point.indices) else gml_st.point(point.superset, indices)
    tile = TileView.of(op)
    offsets, strides = with_constants(tile.offsets), with_constants(tile.strides)
    sizes = _known_sizes(op, tile.sizes)
    if _same((*offsets, *sizes, *strides), (*tile.offsets, *tile.sizes, *tile.strides)):
        return None
    return gml_st.tile(tile.superset, offsets, sizes, strides)


def _known_sizes(op: ir.Operation, sizes: Sequence[Index]) -> Sequence[Index]:
    """Return the sizes with constants, if every user of the set can take another type."""
    users = [(use.owner.operation, use.operand_number) for use in op.results[0].uses]
    return with_constants(sizes) if all(_takes(*user) for user in users) else sizes


def _same(numbers: Sequence[Index], old_numbers: Sequence[Index]) -> bool:
    return all(
        a is b or (isinstance(a, int) and a == b) for a, b in zip(numbers, old_numbers, strict=True)
    )


_WITHIN = ("gml_st.tile", "gml_st.point")


def _takes(user: ir.Operation, operand: int) -> bool:
    if user.name in ("gml_st.materialize", *_WITHIN):
        return True
    view = _yield_view(user)
    return view is not None and not view.accumulated[_position(view, operand)]


def _adapt(user: ir.Operation, operand: int, set_: ir.Value, rewriter: Rewriter) -> None:
    """Give a user the set of known sizes, and cast its value to them or from them."""
    if user.name == "gml_st.materialize":
        old = user.results[0]
        with ir.InsertionPoint(user), user.location:
            value = gml_st.materialize(MaterializeView.of(user).source, set_)
            rewriter.replace_op(user, cast(value, old.type))
        return
    view = _yield_view(user)
    if view is not None:
        position = _position(view, operand)
        value = view.sources[position]
        if isinstance(value.type, ir.RankedTensorType):
            with ir.InsertionPoint(user), user.location:
                user.operands[position] = cast(value, materialized_type(value.type, set_))
    user.operands[operand] = set_


def _yield_view(op: ir.Operation) -> YieldView | None:
    return YieldView.of(op) if op.name in YIELDS else None


def _position(view: YieldView, operand: int) -> int:
    """Return the position of the yielded value for a set operand: sets are the last operands."""
    return operand - (len(view.op.operands) - len(view.sets))
