"""Raise every spelling of a matrix product to one op with maps.

A product of matrices whose operands are transposed or broadcast may be a generic, a `contract` of
linalg or of linalg_ext, or a matrix product already. Its operands may be in either order: a
transposed product is the product of the transposed operands in the other order. All of them become
`linalg.matmul`, `linalg.batch_matmul` or `linalg.batch_reduce_matmul`, so that one pattern on these
three meets every one. The computation decides, not the name. Casts keep their sign, and discardable
attributes stay. `linalg-ext-specialize-matmul` is the way back.

before:
    %r = linalg.contract
           indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
                            affine_map<(d0, d1, d2) -> (d1, d2)>,
                            affine_map<(d0, d1, d2) -> (d0, d1)>]
           ins(%a, %b : tensor<8x5xf32>, tensor<7x5xf32>)
           outs(%c : tensor<8x7xf32>) -> tensor<8x7xf32>
after:
    %r = linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
                                        affine_map<(d0, d1, d2) -> (d1, d2)>,
                                        affine_map<(d0, d1, d2) -> (d0, d1)>]
           ins(%a, %b : tensor<8x5xf32>, tensor<7x5xf32>)
           outs(%c : tensor<8x7xf32>) -> tensor<8x7xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.category_forms import build_matmul, matmul_form

from ._structured import put_in_place, read_product

_SPELLINGS = frozenset(
    (
        *("linalg.generic", "linalg.contract", "linalg_ext.contract"),
        *("linalg.matmul", "linalg.batch_matmul", "linalg.batch_reduce_matmul"),
    )
)


@rewrite("linalg-ext-raise-matmul-variants", on=_SPELLINGS.__contains__, driver="walk")
def raise_matmul_variants(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Replace any spelling of a (batched) matrix product by one op with maps."""
    product = op.operation
    match = read_product(product)
    if isinstance(match, MatchFailure):
        return match
    recognized, contraction = match
    form = matmul_form(contraction)
    if form is None:
        return MatchFailure("the dimensions are those of no matrix product upstream")
    if product.name == form.op_name and form.order == (0, 1):
        return False  # the op has this form already
    matmul = build_matmul(form, recognized)
    if matmul is None:
        return MatchFailure(
            "upstream's product casts or multiplies these element types in another way"
        )
    return put_in_place(product, matmul, rewriter)
