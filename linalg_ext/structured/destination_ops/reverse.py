"""`linalg_ext.reverse`: a tensor with some dimensions backwards.

result[..., i, ...] = operand[..., size - 1 - i, ...]    in each of `dimensions`
"""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.structured.destination_ops.op_fields import (
    check_elements,
    check_results,
    check_same_shape,
    dimensions_of,
    ranked_tensor,
)


@dataclass(frozen=True)
class Reverse:
    """The fields of a `linalg_ext.reverse`.

    Attributes:
        operand: the tensor that is reversed.
        init: the destination, of the operand's shape.
        dimensions: the dimensions that run backwards.
    """

    operand: ir.Value
    init: ir.Value
    dimensions: tuple[int, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> Reverse:
        """Read an op.

        Raises:
            ArgumentError: it breaks a rule.
        """
        operand, init = op.operands
        rank = ranked_tensor(operand, "the operand").rank
        ranked_tensor(init, "the destination")
        check_same_shape(operand, "the operand", init, "the destination")
        check_elements(operand, "the operand", init)
        check_results(op, [init])
        return cls(operand, init, dimensions_of(op, "dimensions", rank))
