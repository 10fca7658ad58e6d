"""Lower `tensor.bitcast`, which upstream cannot bufferize, to `arith.bitcast` on tensors.

before:
    %r = tensor.bitcast %a : tensor<4xf32> to tensor<4xi32>
after:
    %r = arith.bitcast %a : tensor<4xf32> to tensor<4xi32>
"""

from __future__ import annotations

from linalg_ext.bindings import arith, ir
from linalg_ext.errors import LoweringError
from linalg_ext.rewriting import Report, module_pass

from ._walk import element_type, operations, place, replace_op

NAME = "linalg-ext-lower-tensor-bitcast"


@module_pass(NAME, on="tensor.bitcast")
def lower_tensor_bitcast(module: ir.Operation) -> Report:
    """Lower tensor.bitcast to arith.bitcast.

    Raises:
        LoweringError: an integer of it has a sign in its type, which arithmetic does not take.
    """
    report = Report(NAME)
    for op in operations(module, {"tensor.bitcast"}):
        source, target = op.operands[0], op.results[0].type
        for type_ in (source.type, target):
            element = element_type(type_)
            if isinstance(element, ir.IntegerType) and not element.is_signless:
                raise LoweringError(
                    f"tensor.bitcast on {element} cannot be lowered",
                    where=place(op),
                    cure=f"write i{element.width}: integers have no sign in their type",
                )
        report.matched[op.name] += 1
        report.changed[op.name] += 1
        with op.location, ir.InsertionPoint(op):
            result = arith.bitcast(target, source)
        replace_op(op, result)
    return report
