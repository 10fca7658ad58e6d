"""Remove loops over subsets that never run, and iterators that run once.

before:
    %r = "gml_st.for"(%c0, %c0, %c8, %c8, %c8, %c2, %y) ({
    ^bb0(%i: index, %j: index, %y_: tensor<8x8xf32>):
      %t = "gml_st.tile"(%y_, %i, %j) {static_offsets = array<i64: -9223372036854775808,
              -9223372036854775808>, static_sizes = array<i64: 8, 2>,
              static_strides = array<i64: 1, 1>, operandSegmentSizes = array<i32: 1, 2, 0, 0>}
            : (tensor<8x8xf32>, index, index) -> !gml_st.subset<"8x2xf32">
      %a = "gml_st.materialize"(%x, %t)
            : (tensor<8x8xf32>, !gml_st.subset<"8x2xf32">) -> tensor<8x2xf32>
      "gml_st.set_yield"(%a, %y_, %t) ({}) {operandSegmentSizes = array<i32:
          1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>}
        : (tensor<8x2xf32>, tensor<8x8xf32>, !gml_st.subset<"8x2xf32">) -> ()
    }) {operandSegmentSizes = array<i32: 2, 2, 2, 1, 0, 0, 0, 0, 0, 0, 0>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (index, index, index, index, index, index, tensor<8x8xf32>) -> tensor<8x8xf32>
after:
    %r = "gml_st.for"(%c0, %c8, %c2, %y) ({
    ^bb0(%j: index, %y_: tensor<8x8xf32>):
      %t = "gml_st.tile"(%y_, %c0, %j) {static_offsets = array<i64: -9223372036854775808,
              -9223372036854775808>, static_sizes = array<i64: 8, 2>,
              static_strides = array<i64: 1, 1>, operandSegmentSizes = array<i32: 1, 2, 0, 0>}
            : (tensor<8x8xf32>, index, index) -> !gml_st.subset<"8x2xf32">
      %a = "gml_st.materialize"(%x, %t)
            : (tensor<8x8xf32>, !gml_st.subset<"8x2xf32">) -> tensor<8x2xf32>
      "gml_st.set_yield"(%a, %y_, %t) ({}) {operandSegmentSizes = array<i32:
          1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>}
        : (tensor<8x2xf32>, tensor<8x8xf32>, !gml_st.subset<"8x2xf32">) -> ()
    }) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (index, index, index, tensor<8x8xf32>) -> tensor<8x8xf32>

A loop that never runs gives its outputs as they were. Of a loop that runs once the body is left,
and the values it yields are put in place by slices. Bounds need not be numbers: from `n` to `n + 4`
by 4 is once.
"""

from __future__ import annotations

from dataclasses import replace

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.ir.op_views import LOOPS, LoopView
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.indices import IndexReader
from linalg_ext.symbolic.integers import is_le
from linalg_ext.transforms.ir_utils.walking import operations, replace_each

from ._loops import rebuilt
from ._nest import Nest, lower_in_order, rename

NAME = "linalg-ext-remove-trivial-subset-loops"


@module_pass(NAME, on=LOOPS)
def remove_trivial_subset_loops(module: ir.Operation) -> Report:
    """Remove loops that never run, and iterators that run once."""
    # From the inside out: a loop that is erased takes none with it that is still to be looked at.
    return replace_each(NAME, reversed(operations(module, LOOPS)), _simplified)


def _simplified(op: ir.Operation) -> list[ir.Value] | None:
    """Simplify a loop and return the new values of its results; None where nothing applies."""
    view = LoopView.of(op)
    counts = [_count(view, dim) for dim in range(view.rank)]
    if 0 in counts:
        return list(Nest.of(op).inits)
    once = [dim for dim, count in enumerate(counts) if count == 1]
    if not once:
        return None
    rename([view.ivs[dim] for dim in once], [view.lower[dim] for dim in once])
    if len(once) == view.rank:
        return lower_in_order(replace(Nest.of(op), bounds=(), ivs=()))
    more = [dim for dim in range(view.rank) if dim not in once]
    return list(rebuilt(view, iterators=more).results)


def _count(view: LoopView, dim: int) -> int | None:
    """Return the trip count of an iterator if it is known to be 0 or 1, else None."""
    read = IndexReader()
    lower, upper, step = map(read, view.bounds[dim])
    if is_le(upper, lower):
        return 0
    is_once = is_le(1, step) and is_le(lower + 1, upper) and is_le(upper, lower + step)
    return 1 if is_once else None
