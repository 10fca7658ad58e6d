"""Fold transposes into indexing maps.

An operand that is transposed is read as it was, by transposed indices; a result that is used
transposed is written so. The matmul family, `linalg.contract`, `linalg.elementwise`, generics and
the ops of `linalg_ext` hold that in their maps; a named element-wise op becomes
`linalg.elementwise`, or `linalg_ext.elementwise` where it casts. A `linalg.generic` that does
nothing but transpose is a transpose. A transpose that an op's maps cannot hold is left as it is; so
are memrefs, where a transpose is a copy.

before:
    %t = linalg.transpose ins(%a : tensor<8x5xf32>) outs(%e : tensor<5x8xf32>) permutation = [1, 0]
    %r = linalg.matmul ins(%t, %b : tensor<5x8xf32>, tensor<8x7xf32>)
                       outs(%c : tensor<5x7xf32>) -> tensor<5x7xf32>
after:
    %r = linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>,
                                        affine_map<(d0, d1, d2) -> (d2, d1)>,
                                        affine_map<(d0, d1, d2) -> (d0, d1)>]
                       ins(%a, %b : tensor<8x5xf32>, tensor<8x7xf32>)
                       outs(%c : tensor<5x7xf32>) -> tensor<5x7xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite

from ._arrangements import ViewKind
from ._folding import fold
from ._structured import may_take_maps


@rewrite("linalg-ext-fold-transposes", on=may_take_maps)
def fold_transposes(
    op: ir.OpView, rewriter: Rewriter, *, results: bool = True
) -> bool | MatchFailure:
    """Fold transposes of operands, and with `results` of results, into indexing maps."""
    return fold(op.operation, {ViewKind.TRANSPOSE}, rewriter, results=results)
