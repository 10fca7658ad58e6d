"""Answer questions about sets: `gml_st.offset`, `size`, `stride`, `contains` and `is_empty`.

before:
    %s = "gml_st.tile"(%x, %i) {static_offsets = array<i64: -9223372036854775808, 32>,
            static_sizes = array<i64: 16, 24>, static_strides = array<i64: 1, 2>,
            operandSegmentSizes = array<i32: 1, 1, 0, 0>}
          : (tensor<64x96xf32>, index) -> !gml_st.subset<"16x24xf32">
    %t = "gml_st.tile"(%s, %i) {static_offsets = array<i64: -9223372036854775808, 8>,
            static_sizes = array<i64: 4, 4>, static_strides = array<i64: 1, 1>,
            operandSegmentSizes = array<i32: 1, 1, 0, 0>}
          : (!gml_st.subset<"16x24xf32">, index) -> !gml_st.subset<"4x4xf32">
    %a = "gml_st.offset"(%t, %c0) : (!gml_st.subset<"4x4xf32">, index) -> index
    %b = "gml_st.offset"(%t, %c1) : (!gml_st.subset<"4x4xf32">, index) -> index
    %r = arith.addi %a, %b : index
after:
    %a = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
    %b = arith.constant 48 : index
    %r = arith.addi %a, %b : index

Numbers are relative to the root, so sets of sets need not be composed before. A question about a
set that comes from somewhere else, as an argument of a function, is left.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, LoweringError, SubsetError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite

from ._set_queries import QUESTIONS, answer

NAME = "linalg-ext-fold-subset-questions"


@rewrite(NAME, on=QUESTIONS)
def fold_subset_questions(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Replace a question about a set by its answer."""
    try:
        value = answer(op.operation)
    except (ArgumentError, SubsetError, LoweringError) as error:
        return MatchFailure(error.what)
    rewriter.replace_op(op, value)
    return True
