"""Collapse a part of a part: materialize both at once, at a set of the set.

before:
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
after:
    %s = "gml_st.tile"(%x, %i) {static_offsets = array<i64: -9223372036854775808, 0>,
            static_sizes = array<i64: 4, 128>, static_strides = array<i64: 1, 1>,
            operandSegmentSizes = array<i32: 1, 1, 0, 0>}
          : (tensor<64x256xf32>, index) -> !gml_st.subset<"4x128xf32">
    %t = "gml_st.tile"(%s) {static_offsets = array<i64: 1, 8>, static_sizes = array<i64: 2, 16>,
            static_strides = array<i64: 1, 2>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}
          : (!gml_st.subset<"4x128xf32">) -> !gml_st.subset<"2x16xf32">
    %r = "gml_st.materialize"(%x, %t)
          : (tensor<64x256xf32>, !gml_st.subset<"2x16xf32">) -> tensor<2x16xf32>

`linalg-ext-expand-materialize` is the way back, `linalg-ext-compose-subsets` the next step. Filters
are left: they are not rectangles. The origin is `gml-collapse-materialize-ops` of
tensorflow/mlir-hlo.
"""

from __future__ import annotations

from linalg_ext.bindings import ir, memref
from linalg_ext.dialects import gml_st
from linalg_ext.dialects.gml_st.ir.op_views import MaterializeView
from linalg_ext.dialects.gml_st.ir.sets import is_filter, subset_of
from linalg_ext.dialects.gml_st.ir.types import is_view_of, is_whole
from linalg_ext.errors import ArgumentError, SubsetError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.indices import Emitter, IndexReader
from linalg_ext.structured.operands import producer
from linalg_ext.symbolic.index_sets import Filter

from ._set_elements import set_of

NAME = "linalg-ext-collapse-materialize"


@rewrite(NAME, on="gml_st.materialize")
def collapse_materialize(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Materialize a part of a part from the whole."""
    outer = MaterializeView.of(op.operation)
    maker = producer(outer.source)
    if maker is None or maker.name != "gml_st.materialize":
        return False
    inner = MaterializeView.of(maker)
    if is_filter(inner.set) or is_filter(outer.set):
        return MatchFailure("a gml_st.filter is not a rectangle")
    try:
        value = gml_st.materialize(inner.source, _within(outer.set, inner.set))
    except (ArgumentError, SubsetError) as error:
        return MatchFailure(error.what)
    type_ = op.operation.results[0].type
    if value.type != type_:
        if not is_view_of(type_, value.type):
            return MatchFailure("the view of a view has other strides than its type says")
        value = memref.CastOp(type_, value).result
    rewriter.replace_op(op, value)
    return True


def _within(set_: ir.Value, superset: ir.Value) -> ir.Value:
    """Return a set relative to a superset, as a set of the superset's own root."""
    if is_whole(set_):
        return superset
    subset = subset_of(set_, IndexReader())
    if isinstance(subset, Filter):
        raise ArgumentError("a gml_st.filter is not a rectangle")
    return set_of(superset, subset, set_.type, Emitter())
