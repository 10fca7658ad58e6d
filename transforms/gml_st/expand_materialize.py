"""Expand the part at a set of a set: materialize the outer set, then the inner one of that.

before:
    %s = "gml_st.tile"(%x, %i) {static_offsets = array<i64: -9223372036854775808, 0>,
            static_sizes = array<i64: 4, 128>, static_strides = array<i64: 1, 1>,
            operandSegmentSizes = array<i32: 1, 1, 0, 0>}
          : (tensor<64x256xf32>, index) -> !gml_st.subset<"4x128xf32">
    %t = "gml_st.tile"(%s) {static_offsets = array<i64: 1, 8>, static_sizes = array<i64: 2, 16>,
            static_strides = array<i64: 1, 2>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}
          : (!gml_st.subset<"4x128xf32">) -> !gml_st.subset<"2x16xf32">
    %r = "gml_st.materialize"(%x, %t)
          : (tensor<64x256xf32>, !gml_st.subset<"2x16xf32">) -> tensor<2x16xf32>
after:
    %s = "gml_st.tile"(%x, %i) {static_offsets = array<i64: -9223372036854775808, 0>,
            static_sizes = array<i64: 4, 128>, static_strides = array<i64: 1, 1>,
            operandSegmentSizes = array<i32: 1, 1, 0, 0>}
          : (tensor<64x256xf32>, index) -> !gml_st.subset<"4x128xf32">
    %a = "gml_st.materialize"(%x, %s)
          : (tensor<64x256xf32>, !gml_st.subset<"4x128xf32">) -> tensor<4x128xf32>
    %t = "gml_st.tile"(%a) {static_offsets = array<i64: 1, 8>, static_sizes = array<i64: 2, 16>,
            static_strides = array<i64: 1, 2>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}
          : (tensor<4x128xf32>) -> !gml_st.subset<"2x16xf32">
    %r = "gml_st.materialize"(%a, %t)
          : (tensor<4x128xf32>, !gml_st.subset<"2x16xf32">) -> tensor<2x16xf32>

However deep the sets are: each gets a part of its own, which fusion may then fill. The way back is
`linalg-ext-collapse-materialize`. The origin is `gml-collapse-materialize-ops{reverse=true}` of
tensorflow/mlir-hlo.
"""

from __future__ import annotations

from linalg_ext.bindings import ir, memref
from linalg_ext.dialects import gml_st
from linalg_ext.dialects.gml_st.ir.op_views import MaterializeView, PointView, TileView
from linalg_ext.dialects.gml_st.ir.types import is_view_of, is_whole
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.operands import producer

NAME = "linalg-ext-expand-materialize"


@rewrite(NAME, on="gml_st.materialize")
def expand_materialize(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Materialize a set of a set in two steps."""
    view = MaterializeView.of(op.operation)
    maker = producer(view.set)
    if maker is None or maker.name not in ("gml_st.tile", "gml_st.point"):
        return False
    part = TileView.of(maker) if maker.name == "gml_st.tile" else PointView.of(maker)
    if is_whole(part.superset):
        return False
    try:
        whole = gml_st.materialize(view.source, part.superset)
        if isinstance(part, PointView):
            inner = gml_st.point(whole, part.indices)
        else:
            inner = gml_st.tile(whole, part.offsets, part.sizes, part.strides)
        value = gml_st.materialize(whole, inner)
    except ArgumentError as error:
        return MatchFailure(error.what)
    type_ = op.operation.results[0].type
    if value.type != type_:
        if not is_view_of(type_, value.type):
            return MatchFailure("a view of a view would not know its strides")
        value = memref.CastOp(type_, value).result
    rewriter.replace_op(op, value)
    return True
