"""Compose sets of sets: each becomes a set of the root, its numbers relative to that.

before:
    %s = "gml_st.tile"(%x) {static_offsets = array<i64: 2, 32>, static_sizes = array<i64: 16, 24>,
            static_strides = array<i64: 1, 2>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}
          : (tensor<64x96xf32>) -> !gml_st.subset<"16x24xf32">
    %t = "gml_st.tile"(%s, %i) {static_offsets = array<i64: -9223372036854775808, 8>,
            static_sizes = array<i64: 4, 4>, static_strides = array<i64: 3, 1>,
            operandSegmentSizes = array<i32: 1, 1, 0, 0>}
          : (!gml_st.subset<"16x24xf32">, index) -> !gml_st.subset<"4x4xf32">
    %r = "gml_st.materialize"(%x, %t)
          : (tensor<64x96xf32>, !gml_st.subset<"4x4xf32">) -> tensor<4x4xf32>
after:
    %o = affine.apply affine_map<(d0) -> (d0 + 2)>(%i)
    %t = "gml_st.tile"(%x, %o) {static_offsets = array<i64: -9223372036854775808, 48>,
            static_sizes = array<i64: 4, 4>, static_strides = array<i64: 3, 2>,
            operandSegmentSizes = array<i32: 1, 1, 0, 0>}
          : (tensor<64x96xf32>, index) -> !gml_st.subset<"4x4xf32">
    %r = "gml_st.materialize"(%x, %t)
          : (tensor<64x96xf32>, !gml_st.subset<"4x4xf32">) -> tensor<4x4xf32>

An offset is `o1 + s1*o2`, a stride `s1*s2`. Tiles, points, dropped and transposed dimensions go
through to the root, whatever their depth; what is known becomes a number. Where dimensions are
dropped or transposed, the root is a `gml_st.space` of those that are left. A box of two sets that
is known becomes a tile. The origin is `gml-compose-set-ops` of tensorflow/mlir-hlo.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, SubsetError
from linalg_ext.gml_st.ir.op_views import COMBINATIONS, PointView, TileView
from linalg_ext.gml_st.ir.sets_of_values import subset_of
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.indices import Emitter, IndexReader
from linalg_ext.symbolic.index_sets import Filter

from ._roots import is_known, is_root, set_at_root

NAME = "linalg-ext-compose-subsets"

_PARTS = ("gml_st.tile", "gml_st.point", "gml_st.drop_dims", "gml_st.transpose_dims")


@rewrite(NAME, on=(*_PARTS, *COMBINATIONS))
def compose_subsets(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Make a set of a set one of the root."""
    made = op.operation
    if _is_of_root(made):
        return False
    read, emitter = IndexReader(), Emitter()
    composed: list[ir.Value] = []
    try:
        subsets = [subset_of(result, read) for result in made.results]
        for result, subset in zip(made.results, subsets, strict=True):
            if isinstance(subset, Filter):
                return MatchFailure("a gml_st.filter is no rectangle")
            if made.name in COMBINATIONS and not is_known(subset):
                return False  # it is one of the root; its numbers are a matter of the lowering
            new = set_at_root(result, subset, read, emitter)
            if new is None:
                return MatchFailure("the set names elements that its root lacks")
            composed.append(new)
    except (ArgumentError, SubsetError) as error:
        return MatchFailure(error.what)
    rewriter.replace_op(op, composed)
    return True


def _is_of_root(op: ir.Operation) -> bool:
    if op.name == "gml_st.tile":
        return is_root(TileView.of(op).superset)
    return op.name == "gml_st.point" and is_root(PointView.of(op).superset)
