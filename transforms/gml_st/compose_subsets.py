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
through to the root, whatever their depth; known sizes become numbers. Where dimensions are dropped
or transposed, the root is a `gml_st.space` of those that are left. A box of two sets that is known
becomes a tile. The origin is `gml-compose-set-ops` of tensorflow/mlir-hlo.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.dialects import gml_st
from linalg_ext.dialects.gml_st.ir.op_views import COMBINATIONS, DIMS_OPS, DimsView, operand_of
from linalg_ext.dialects.gml_st.ir.sets import ToNumber, called, root_of, subset_of
from linalg_ext.dialects.gml_st.ir.types import is_container
from linalg_ext.errors import ArgumentError, SubsetError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.indices import Emitter, IndexReader
from linalg_ext.structured.operands import producer
from linalg_ext.symbolic.index_sets import Filter, Point, Tile, as_tile, full
from linalg_ext.symbolic.integers import Number

from ._set_elements import set_of

NAME = "linalg-ext-compose-subsets"


@rewrite(NAME, on=("gml_st.tile", "gml_st.point", *DIMS_OPS, *COMBINATIONS))
def compose_subsets(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Make a set of a set one of the root."""
    set_op = op.operation
    if _is_of_root(set_op):
        return False
    read, emitter = IndexReader(), Emitter()
    composed: list[ir.Value] = []
    try:
        subsets = [subset_of(result, read) for result in set_op.results]
        for result, subset in zip(set_op.results, subsets, strict=True):
            if isinstance(subset, Filter):
                return MatchFailure("a gml_st.filter is not a rectangle")
            if set_op.name in COMBINATIONS and not is_known(subset):
                return False  # it is one of the root; its numbers are a matter of the lowering
            new = _set_at_root(result, subset, read, emitter)
            if new is None:
                return MatchFailure("the set names elements that its root lacks")
            composed.append(new)
    except (ArgumentError, SubsetError) as error:
        return MatchFailure(error.what)
    rewriter.replace_op(op, composed)
    return True


def _is_of_root(op: ir.Operation) -> bool:
    """Return whether the superset of a tile or point is a tensor, a memref, a `gml_st.space`."""
    superset = operand_of(op, 0)
    maker = producer(superset)
    is_root = is_container(superset.type) or (maker is not None and maker.name == "gml_st.space")
    return is_root and op.name in ("gml_st.tile", "gml_st.point")


def _set_at_root(
    set_: ir.Value, subset: Tile | Point, read: ToNumber, emitter: Emitter
) -> ir.Value | None:
    """Return a set as one op on its root, at the insertion point; None where types would not agree.

    Where no value stands for the root, as after `gml_st.drop_dims`, it becomes a `gml_st.space`.
    """
    root = root_of(set_)
    if root is None:
        sizes = _root_sizes(set_, read)
        root = gml_st.space(emitter.mixed(sizes))
        if subset == full(sizes) and root.type == set_.type:
            return root
    composed = set_of(root, subset, set_.type, emitter)
    return composed if composed.type == set_.type else None


def _root_sizes(set_: ir.Value, read: ToNumber) -> list[Number]:
    root = root_of(set_)
    if root is not None:
        return list(as_tile(subset_of(root, read)).sizes)
    op = producer(set_)
    if op is None:
        raise ArgumentError(f"a set is {called(set_)}", expected="the result of an op of gml_st")
    # The first operand of all of them is the set that they are made of.
    sizes = _root_sizes(operand_of(op, 0), read)
    return [sizes[dim] for dim in DimsView.of(op).dims] if op.name in DIMS_OPS else sizes


def is_known(subset: Tile | Point) -> bool:
    """Return whether all numbers of a subset are known."""
    tile = as_tile(subset)
    return all(isinstance(n, int) for n in (*tile.offsets, *tile.sizes, *tile.strides))
