"""Name categories: `linalg.elementwise` and `linalg.contract` become upstream's named ops.

An op whose operands are transposed or broadcast has a name only where it is a product of matrices:
`linalg.matmul` and its batched forms take maps. An op without a name is left as it is. Discardable
attributes stay.

before:
    %r = linalg.elementwise kind = #linalg.elementwise_kind<add>
           ins(%a, %b : tensor<8x5xf32>, tensor<8x5xf32>)
           outs(%c : tensor<8x5xf32>) -> tensor<8x5xf32>
after:
    %r = linalg.add ins(%a, %b : tensor<8x5xf32>, tensor<8x5xf32>)
                    outs(%c : tensor<8x5xf32>) -> tensor<8x5xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.category_forms import build_matmul_of
from linalg_ext.structured.named_forms import build_named_form

from ._structured import put_in_place, read


@rewrite("linalg-ext-name-categories", on=("linalg.elementwise", "linalg.contract"), driver="walk")
def name_categories(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Replace a category op by the named op that means the same."""
    category = op.operation
    recognized = read(category)
    if isinstance(recognized, MatchFailure):
        return recognized
    named = build_named_form(recognized)
    if named is None:
        named = build_matmul_of(recognized)
    if named is None:
        return MatchFailure("the op has no named equivalent")
    return put_in_place(category, named, rewriter)
