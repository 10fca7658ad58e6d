"""Fold broadcasts into indexing maps.

An operand that is broadcast is read as it was, by fewer indices, and a filled one as the scalar
that fills it. The maps hold that as in `fold_transposes`. A `linalg.generic` that does nothing but
broadcast is a broadcast, one along dimensions of a single element too. The result of an
element-wise op that is used broadcast, and by no op that could read it as it is, is written so;
that of a reduction is left, which would be repeated.

before:
    %s = linalg.broadcast ins(%x : tensor<16xf32>) outs(%e : tensor<16x64xf32>) dimensions = [1]
    %r = linalg.add ins(%s, %y : tensor<16x64xf32>, tensor<16x64xf32>)
                    outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
after:
    %r = linalg.elementwise kind = #linalg.elementwise_kind<add>
           indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>,
                            affine_map<(d0, d1) -> (d0, d1)>]
           ins(%x, %y : tensor<16xf32>, tensor<16x64xf32>)
           outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite

from ._arrangements import ViewKind
from ._folding import fold
from ._structured import may_take_maps


@rewrite("linalg-ext-fold-broadcasts", on=may_take_maps)
def fold_broadcasts(
    op: ir.OpView, rewriter: Rewriter, *, results: bool = True
) -> bool | MatchFailure:
    """Fold broadcasts of operands, and with `results` of results, into indexing maps."""
    return fold(op.operation, {ViewKind.BROADCAST}, rewriter, results=results)
