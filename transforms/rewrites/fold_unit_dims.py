"""Fold dimensions of one element out of indexing maps.

NumPy aligns shapes from the right and repeats dimensions of one element; exporters write that as
reshapes that add such dimensions, and as maps that read them at index 0. Here an operand that has
them is read without: the source of a `tensor.expand_shape` that only added them, else a
`tensor.collapse_shape`, which moves nothing. A result written at index 0 is written without that
dimension, and expanded behind the op for those that want it. A batched matrix product of a batch of
one, which exporters make of a plain one, becomes a plain one. Reshapes that split or join
dimensions of more elements are left as they are.

before:
    %s = tensor.expand_shape %x [[0, 1]] output_shape [16, 1] : tensor<16xf32> into tensor<16x1xf32>
    %r = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>,
                       affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%y, %s : tensor<16x64xf32>, tensor<16x1xf32>) outs(%c : tensor<16x64xf32>) {
    ^bb0(%l: f32, %m: f32, %o: f32):
      %d = arith.subf %l, %m : f32
      linalg.yield %d : f32
    } -> tensor<16x64xf32>
after:
    %r = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
                       affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%y, %x : tensor<16x64xf32>, tensor<16xf32>) outs(%c : tensor<16x64xf32>) {
    ^bb0(%l: f32, %m: f32, %o: f32):
      %d = arith.subf %l, %m : f32
      linalg.yield %d : f32
    } -> tensor<16x64xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite

from ._arrangements import ViewKind
from ._folding import fold_with_units
from ._structured import may_take_maps


@rewrite("linalg-ext-fold-unit-dims", on=may_take_maps)
def fold_unit_dims(
    op: ir.OpView, rewriter: Rewriter, *, results: bool = True
) -> bool | MatchFailure:
    """Fold dimensions of one element of operands, and with `results` of results, out of maps."""
    return fold_with_units(op.operation, {ViewKind.RESHAPE}, rewriter, results=results)
