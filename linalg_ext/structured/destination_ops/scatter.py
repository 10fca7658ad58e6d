"""`linalg_ext.scatter`: windows written into a tensor, at the places that rows of indices name.

    for r = 0, 1, ..., n - 1:
        result[i0 + ..., i1 + ..., ...] = combined(updates[r, ...], result[i0 + ..., ...])

One row after another: where windows overlap, they are combined in their order. A window that does
not lie in the destination whole is left out whole. The region combines two elements, the new one
and the old one; where it is empty the new one takes the place of the old one.
"""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.structured.destination_ops.op_fields import (
    body_of,
    check_body,
    check_elements,
    check_results,
)
from linalg_ext.structured.destination_ops.windows import Windows, windows_of


@dataclass(frozen=True)
class Scatter:
    """The fields of a `linalg_ext.scatter`.

    Attributes:
        indices: n x k integers.
        updates: n windows.
        init: the destination, which keeps its elements where no window covers them.
        windows: the layout of the windows in the destination.
        combiner: a block of (new, old) that yields the value to write; None writes the new value.
    """

    indices: ir.Value
    updates: ir.Value
    init: ir.Value
    windows: Windows
    combiner: ir.Block | None

    @classmethod
    def of(cls, op: ir.Operation) -> Scatter:
        """Read an op.

        Raises:
            ArgumentError: it breaks a rule.
        """
        indices, updates, init = op.operands
        windows = windows_of(indices, init, updates, ("the destination", "updates"))
        check_elements(updates, "updates", init)
        combiner = body_of(op)
        if combiner is not None:
            element = ir.ShapedType(init.type).element_type
            check_body(combiner, [element] * 2, element, "the combiner")
        check_results(op, [init])
        return cls(indices, updates, init, windows, combiner)
