"""Specialize generics to upstream's named ops.

The computation of a generic decides, not its spelling: its iteration space may be in any order, its
inputs in another one, its strides and dilations are read off its maps. A generic is left as it is
where no named op means the same. Discardable attributes stay.

before:
    %r = linalg.generic {
      indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
                       affine_map<(d0, d1, d2) -> (d2, d1)>,
                       affine_map<(d0, d1, d2) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%a, %b : tensor<8x5xf32>, tensor<5x7xf32>) outs(%c : tensor<8x7xf32>) {
    ^bb0(%x: f32, %y: f32, %sum: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %sum, %p : f32
      linalg.yield %s : f32
    } -> tensor<8x7xf32>
after:
    %r = linalg.matmul ins(%a, %b : tensor<8x5xf32>, tensor<5x7xf32>)
                       outs(%c : tensor<8x7xf32>) -> tensor<8x7xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir, linalg
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.category_forms import build_matmul_of
from linalg_ext.structured.named_forms import (
    build_named_form,
    build_rearrangement,
    build_reduce,
    filling_value,
)

from ._structured import LIBRARY_CALL, put_in_place, read


@rewrite("linalg-ext-specialize", on="linalg.generic", driver="walk")
def specialize(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Replace `linalg.generic` by the most specific named op that means the same."""
    generic = op.operation
    if "library_call" in generic.attributes:
        return LIBRARY_CALL
    named = _named(generic)
    return named if isinstance(named, MatchFailure) else put_in_place(generic, named, rewriter)


def _named(generic: ir.Operation) -> ir.Operation | MatchFailure:
    value = filling_value(generic)
    if value is not None:
        results = [result.type for result in generic.results]
        fill = linalg.FillOp(results, [value], list(generic.operands)).operation
        linalg.fill_builtin_region(fill)
        return fill
    recognized = read(generic)
    if isinstance(recognized, MatchFailure):
        # A reduction may combine by a function that no definition knows.
        reduce = build_reduce(generic)
        return recognized if reduce is None else reduce
    named = build_named_form(recognized)
    if named is None:
        named = build_rearrangement(recognized) or build_reduce(generic)
    if named is None:
        named = build_matmul_of(recognized)
    return MatchFailure("the op has no named equivalent") if named is None else named
