"""Lower contractions of any number of operands to upstream's ops, two operands at a time.

before:
    %r = "linalg_ext.contract"(%a, %b, %c, %o) {indexing_maps = [
           affine_map<(i, l, j, k) -> (i, j)>, affine_map<(i, l, j, k) -> (j, k)>,
           affine_map<(i, l, j, k) -> (k, l)>, affine_map<(i, l, j, k) -> (i, l)>],
           operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
           0, 0, 0, 0, 0, 0, 0, 1>}
         : (tensor<2x30xf32>, tensor<30x40xf32>, tensor<40x5xf32>, tensor<2x5xf32>)
         -> tensor<2x5xf32>
after:
    %e = tensor.empty() : tensor<2x40xf32>
    %z = arith.constant 0.0 : f32
    %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x40xf32>) -> tensor<2x40xf32>
    %t = linalg.matmul ins(%a, %b : tensor<2x30xf32>, tensor<30x40xf32>)
                       outs(%i : tensor<2x40xf32>) -> tensor<2x40xf32>
    %r = linalg.matmul ins(%t, %c : tensor<2x40xf32>, tensor<40x5xf32>)
                       outs(%o : tensor<2x5xf32>) -> tensor<2x5xf32>

Dimensions that one operand alone has are summed first, repeated ones are read as diagonals. Each
pair becomes the most specific op of upstream: `linalg.dot`, `matvec`, `matmul` with maps,
`batch_matmul`, ..., else `linalg.contract`, else `linalg.generic`. The last one adds to the
destination. Intermediate results are of the compute type, where one is said; the sum is then cast
once.

`explain_contraction` of `linalg_ext.structured` shows the order and its cost.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.notations.einsum.plan import FLOPS_PER_BYTE
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.contraction import ContractionBuilder, ContractionCall
from linalg_ext.structured.extension import COMPUTE_TYPE, CONTRACT, discardable_attributes


@rewrite("linalg-ext-lower-contract", on=CONTRACT, driver="walk")
def lower_contract(
    op: ir.OpView,
    rewriter: Rewriter,
    *,
    path: str = "auto",
    named: bool = True,
    flops_per_byte: float = FLOPS_PER_BYTE,
) -> bool | MatchFailure:
    """Lower `linalg_ext.contract` along a path (auto, optimal, greedy, naive, cost, ...)."""
    contract = op.operation
    call = ContractionCall.of(contract)
    builder = ContractionBuilder(call, call.plan(path, flops_per_byte), named)
    result = builder.build()
    for name, attribute in discardable_attributes(contract).items():
        if name != COMPUTE_TYPE:
            builder.built[-1].attributes[name] = attribute
    rewriter.replace_op(contract, result)
    return True
