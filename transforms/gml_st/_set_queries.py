"""The queries of `gml_st` about sets, as arithmetic: offsets, containment, emptiness."""

from __future__ import annotations

from collections.abc import Callable

from linalg_ext.bindings import arith, ir
from linalg_ext.errors import LoweringError
from linalg_ext.gml_st.ir.inference import static
from linalg_ext.gml_st.ir.op_views import IsEmptyView, QueryView
from linalg_ext.gml_st.ir.sets_of_values import pair_of, subset_of
from linalg_ext.structured.indices import Emitter, IndexReader
from linalg_ext.symbolic.index_sets import Filter, containment, emptiness
from linalg_ext.symbolic.integers import Number


def answer(op: ir.Operation) -> ir.Value:
    """Compute the answer to a query at the insertion point."""
    return _ANSWERS[op.name](op)


def _query(op: ir.Operation) -> ir.Value:
    view = QueryView.of(op)
    subset = subset_of(view.set, IndexReader())
    if isinstance(subset, Filter):
        raise LoweringError(f"{op.name}: a gml_st.filter is no rectangle")
    ask: Callable[[int], Number] = getattr(subset, op.name.rpartition(".")[2])
    dim, emitter = static(view.dim), Emitter()
    if dim is not None:
        return emitter.value(ask(dim))
    # Which dimension is meant is known at run time: all are there to choose from.
    found = emitter.value(ask(0)) if subset.rank else emitter.value(0)
    for at in range(1, subset.rank):
        is_it = arith.CmpIOp(arith.CmpIPredicate.eq, view.dim, emitter.value(at)).result
        found = arith.SelectOp(is_it, emitter.value(ask(at)), found).result
    return found


def _contains(op: ir.Operation) -> ir.Value:
    return Emitter().truth(containment(*pair_of(op, IndexReader())))


def _is_empty(op: ir.Operation) -> ir.Value:
    return Emitter().truth(emptiness(subset_of(IsEmptyView.of(op).set, IndexReader())))


_ANSWERS: dict[str, Callable[[ir.Operation], ir.Value]] = {
    "gml_st.offset": _query,
    "gml_st.size": _query,
    "gml_st.stride": _query,
    "gml_st.contains": _contains,
    "gml_st.is_empty": _is_empty,
}

QUESTIONS = frozenset(_ANSWERS)
