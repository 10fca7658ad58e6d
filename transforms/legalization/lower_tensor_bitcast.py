"""Lower `tensor.bitcast`, which upstream cannot bufferize, to `arith.bitcast` on tensors.

before:
    %r = tensor.bitcast %a : tensor<4xf32> to tensor<4xi32>
after:
    %r = arith.bitcast %a : tensor<4xf32> to tensor<4xi32>
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.errors import LoweringError
from linalg_ext.transforms.ir_utils.walking import element_type, lowering_pass, place

NAME = "linalg-ext-lower-tensor-bitcast"


@lowering_pass(NAME, "tensor.bitcast")
def lower_tensor_bitcast(op: Any) -> Any:
    """Lower tensor.bitcast to arith.bitcast.

    Raises:
        LoweringError: an integer of it has a sign in its type, which arithmetic does not take.
    """
    source, target = op.operands[0], op.results[0].type
    for type_ in (source.type, target):
        element = element_type(type_)
        if isinstance(element, ir.IntegerType) and not element.is_signless:
            raise LoweringError(
                f"tensor.bitcast on {element} cannot be lowered",
                where=place(op),
                hint=f"write i{element.width}: integers have no sign in their type",
            )
    return arith.bitcast(target, source)
