"""Take transposes and broadcasts out of indexing maps, as ops of their own.

Afterwards each operand is indexed as in the op's plain form. A matrix product has no maps, and an
element-wise op no maps and its own name. A contraction of two operands has its batch, row and
column dimensions in the order of the result. Any other op has the dimensions of each operand in the
order of the iteration space. An operand is transposed first, then broadcast; a scalar fills a
tensor. `fold_into_maps` is the way back. A generic that only moves elements becomes the transposes
and broadcasts that it is. Indices that are no plain dimensions stay, and so do ops on memrefs,
where a transpose is a copy.

before:
    %r = linalg.elementwise kind = #linalg.elementwise_kind<add>
           indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>,
                            affine_map<(d0, d1) -> (d0, d1)>]
           ins(%a, %x : tensor<64x16xf32>, tensor<16xf32>)
           outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
after:
    %d = tensor.empty() : tensor<16x64xf32>
    %t = linalg.transpose ins(%a : tensor<64x16xf32>) outs(%d : tensor<16x64xf32>)
                          permutation = [1, 0]
    %e = tensor.empty() : tensor<16x64xf32>
    %s = linalg.broadcast ins(%x : tensor<16xf32>) outs(%e : tensor<16x64xf32>) dimensions = [1]
    %r = linalg.add ins(%t, %s : tensor<16x64xf32>, tensor<16x64xf32>)
                    outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.maps import holds_maps

from ._structured import LIBRARY_CALL
from ._unfolding import unfolded


@rewrite("linalg-ext-unfold-maps", on=holds_maps)
def unfold_maps(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Take transposes and broadcasts out of an op's maps, as ops of their own."""
    if "library_call" in op.operation.attributes:
        return LIBRARY_CALL
    try:
        results = unfolded(op.operation)
    except ArgumentError as error:
        return MatchFailure(error.what)
    if results is None:
        return False
    if isinstance(results, MatchFailure):
        return results
    rewriter.replace_op(op, results)
    return True
