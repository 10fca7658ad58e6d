"""Fold transposes, broadcasts and dimensions of one element into indexing maps, all at once.

It does the work of `fold_transposes`, `fold_broadcasts` and `fold_unit_dims`, and, where they stand
behind one another, folds that none of them can do alone: a transpose of a broadcast of a reshape is
looked through as one. `unfold_maps` is the way back.

before:
    %s = linalg.broadcast ins(%x : tensor<16xf32>) outs(%e : tensor<16x64xf32>) dimensions = [1]
    %t = linalg.transpose ins(%s : tensor<16x64xf32>) outs(%c : tensor<64x16xf32>)
                          permutation = [1, 0]
    %r = linalg.add ins(%t, %y : tensor<64x16xf32>, tensor<64x16xf32>)
                    outs(%c : tensor<64x16xf32>) -> tensor<64x16xf32>
after:
    %r = linalg.elementwise kind = #linalg.elementwise_kind<add>
           indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>,
                            affine_map<(d0, d1) -> (d0, d1)>]
           ins(%x, %y : tensor<16xf32>, tensor<64x16xf32>)
           outs(%c : tensor<64x16xf32>) -> tensor<64x16xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite

from ._arrangements import ViewKind
from ._folding import fold_with_units
from ._structured import may_take_maps


@rewrite("linalg-ext-fold-into-maps", on=may_take_maps)
def fold_into_maps(
    op: ir.OpView, rewriter: Rewriter, *, results: bool = True
) -> bool | MatchFailure:
    """Fold transposes, broadcasts and dimensions of one element into indexing maps."""
    return fold_with_units(op.operation, frozenset(ViewKind), rewriter, results=results)
