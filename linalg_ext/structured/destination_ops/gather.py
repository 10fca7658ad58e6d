"""`linalg_ext.gather`: windows of a tensor, at the places that rows of indices name.

    result[r, ...] = operand[p0 + ..., p1 + ..., ...]
    pd = clamp(indices[r, d], 0, size d of the operand - size d of a window)

The destination tells the sizes of the windows (`windows.py` tells how they stand in it). An index
out of range is moved to the nearest where the window lies inside: no read is ever out of bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.errors import ShapeError
from linalg_ext.structured.destination_ops.op_fields import check_elements, check_results
from linalg_ext.structured.destination_ops.windows import Windows, windows_of
from linalg_ext.structured.utils.operands import static_sizes


@dataclass(frozen=True)
class Gather:
    """The fields of a `linalg_ext.gather`.

    Attributes:
        operand: the tensor that is read.
        indices: n x k integers.
        init: the destination: n windows.
        windows: the layout of the windows in the operand.
    """

    operand: ir.Value
    indices: ir.Value
    init: ir.Value
    windows: Windows

    @classmethod
    def of(cls, op: ir.Operation) -> Gather:
        """Read an op.

        Raises:
            ArgumentError: it breaks a rule.
        """
        operand, indices, init = op.operands
        windows = windows_of(indices, operand, init, ("the operand", "the destination"))
        check_elements(operand, "the operand", init)
        check_results(op, [init])
        found = cls(operand, indices, init, windows)
        found._check_windows()
        return found

    def _check_windows(self) -> None:
        sizes, given = static_sizes(self.operand), static_sizes(self.init)
        if not given[0]:
            return  # there may be no window at all
        for dim, place in enumerate(self.windows.dims):
            window, size = 1 if place is None else given[place], sizes[dim]
            if window is not None and size is not None and window > size:
                raise ShapeError(
                    f"a window has size {window} in dimension {dim}, the operand has {size}",
                    expected="windows that are no larger",
                )
