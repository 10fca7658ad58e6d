"""`linalg_ext.sort`: the elements of tensors put in order along a dimension, all by one comparator.

The region takes two elements of each input, (a0, b0, a1, b1, ...), and tells whether a comes before
b. All inputs are moved alike: keys with what belongs to them. The sort is stable, whether or not
`is_stable` asks for it: what the comparator puts neither way keeps its order.

The comparator must be a strict weak order: never true of equal ones. One that is not leaves the
elements in some order: none is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError
from linalg_ext.structured.destination_ops.op_fields import (
    body_of,
    check_body,
    check_elements,
    check_results,
    check_same_shape,
    dimension_of,
    flag_of,
    ranked_tensor,
    segments_of,
)

MOST_INPUTS = 8


@dataclass(frozen=True)
class Sort:
    """The fields of a `linalg_ext.sort`.

    Attributes:
        inputs: tensors of one shape, `MOST_INPUTS` at most.
        inits: a destination for each input.
        dimension: the dimension along which they are sorted.
        comparator: a block of (a0, b0, a1, b1, ...) that yields an i1: a before b.
        is_stable: True where equal elements must keep their order.
    """

    inputs: tuple[ir.Value, ...]
    inits: tuple[ir.Value, ...]
    dimension: int
    comparator: ir.Block
    is_stable: bool

    @classmethod
    def of(cls, op: ir.Operation) -> Sort:
        """Read an op.

        Raises:
            ArgumentError: it breaks a rule.
        """
        inputs, inits = segments_of(op, (MOST_INPUTS, MOST_INPUTS))
        if not inputs or len(inputs) != len(inits):
            raise ArityError(
                f"sort has {len(inputs)} input(s) and {len(inits)} destination(s)",
                expected="one destination for each input",
            )
        rank = ranked_tensor(inputs[0], "input 0").rank
        for number, (value, init) in enumerate(zip(inputs, inits, strict=True)):
            ranked_tensor(value, f"input {number}")
            ranked_tensor(init, f"destination {number}")
            check_same_shape(value, f"input {number}", inputs[0], "input 0")
            check_same_shape(init, f"destination {number}", inputs[0], "input 0")
            check_elements(value, f"input {number}", init)
        dimension = dimension_of(op, rank)
        comparator = body_of(op)
        if comparator is None:
            raise ArgumentError(
                "sort has no comparator", expected="a region of two elements of each input"
            )
        elements = [ir.ShapedType(value.type).element_type for value in inputs for _ in range(2)]
        check_body(
            comparator, elements, ir.IntegerType.get_signless(1, op.context), "the comparator"
        )
        check_results(op, inits)
        return cls(tuple(inputs), tuple(inits), dimension, comparator, flag_of(op, "is_stable"))
