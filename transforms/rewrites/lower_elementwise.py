"""Lower `linalg_ext.elementwise` to upstream's ops.

before:
    %r = "linalg_ext.elementwise"(%x, %y, %e) {kind = #linalg.elementwise_kind<add>,
           broadcast_a = [1], operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
           0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1>}
           : (tensor<16xf32>, tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
after:
    %r = linalg.elementwise kind=#linalg.elementwise_kind<add>
           indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>,
                            affine_map<(d0, d1) -> (d0, d1)>]
           ins(%x, %y : tensor<16xf32>, tensor<16x64xf32>)
           outs(%e : tensor<16x64xf32>) -> tensor<16x64xf32>

An op that upstream's cannot express (casts, more than three operands, repeated dimensions) becomes
`linalg.generic`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.category_forms import build_elementwise
from linalg_ext.structured.extension import (
    COMPUTE_TYPE,
    ELEMENTWISE,
    elementwise_function,
    extension_definition,
    indexing_maps,
    own_attributes,
)
from linalg_ext.structured.operands import bind
from linalg_ext.structured.payload import build_generic


@rewrite("linalg-ext-lower-elementwise", on=ELEMENTWISE)
def lower_elementwise(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Lower `linalg_ext.elementwise` to `linalg.elementwise`, else to `linalg.generic`."""
    operation = op.operation
    *inputs, output = operation.operands
    function = elementwise_function(operation)
    new = build_elementwise(function, inputs, output, indexing_maps(operation))
    if new is None and COMPUTE_TYPE in operation.attributes:
        return MatchFailure(
            "the op casts, and has a compute type: run linalg-ext-materialize-compute-type"
        )
    if new is None:
        bound = bind(extension_definition(operation), inputs, [output], CallAttributes())
        new = build_generic(bound)
    own = own_attributes(operation)
    for name, attribute in operation.attributes.items():
        if name not in own:
            new.attributes[name] = attribute
    rewriter.replace_op(op, new)
    return True
