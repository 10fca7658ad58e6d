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

from collections.abc import Callable

from linalg_ext.bindings import arith, ir
from linalg_ext.dialects.gml_st.ir.op_views import QUERIES, QueryView, operand_of
from linalg_ext.dialects.gml_st.ir.sets import pair_of, subset_of
from linalg_ext.dialects.gml_st.ir.types import static
from linalg_ext.errors import ArgumentError, LoweringError, SubsetError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.indices import Emitter, IndexReader
from linalg_ext.symbolic.index_sets import Filter, containment, emptiness
from linalg_ext.symbolic.integers import Number

NAME = "linalg-ext-fold-subset-questions"

QUESTIONS = frozenset((*QUERIES, "gml_st.contains", "gml_st.is_empty"))


@rewrite(NAME, on=QUESTIONS)
def fold_subset_questions(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Replace a question about a set by its answer."""
    try:
        value = answer(op.operation)
    except (ArgumentError, SubsetError, LoweringError) as error:
        return MatchFailure(error.what)
    rewriter.replace_op(op, value)
    return True


def answer(op: ir.Operation) -> ir.Value:
    """Compute the answer to a query at the insertion point."""
    return _ANSWERS[op.name](op)


def _query(op: ir.Operation) -> ir.Value:
    view = QueryView.of(op)
    subset = subset_of(view.set, IndexReader())
    if isinstance(subset, Filter):
        raise LoweringError(f"{op.name}: a gml_st.filter is not a rectangle")
    ask: Callable[[int], Number] = getattr(subset, op.name.rpartition(".")[2])
    dim, emitter = static(view.dim), Emitter()
    if dim is not None:
        return emitter.value(ask(dim))
    # The dimension is known at run time only: the answers of all are selected from.
    selected = emitter.value(ask(0)) if subset.rank else emitter.value(0)
    for number in range(1, subset.rank):
        is_this = arith.CmpIOp(arith.CmpIPredicate.eq, view.dim, emitter.value(number)).result
        selected = arith.SelectOp(is_this, emitter.value(ask(number)), selected).result
    return selected


def _contains(op: ir.Operation) -> ir.Value:
    return Emitter().truth(containment(*pair_of(op, IndexReader())))


def _is_empty(op: ir.Operation) -> ir.Value:
    return Emitter().truth(emptiness(subset_of(operand_of(op, 0), IndexReader())))


_ANSWERS: dict[str, Callable[[ir.Operation], ir.Value]] = {
    **dict.fromkeys(QUERIES, _query),
    "gml_st.contains": _contains,
    "gml_st.is_empty": _is_empty,
}
