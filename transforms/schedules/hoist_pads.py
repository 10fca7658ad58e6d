"""Move the padding of an op's operands out of loops: they are padded once and kept.

Source: `transform.structured.hoist_pad`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.transforms.lowering._walk import producer

from ._checks import check_least, enclosing, refusal
from ._script import ANY, Script, line
from ._step import schedule_step


@schedule_step("linalg-ext-hoist-pads")
def hoist_pads(op: ir.Operation, *, operand: int = 0, loops: int = 1) -> Script:
    """Pad all tiles of an operand before the loops, into one packed buffer.

    Args:
        op: an op inside `scf.for` whose operand is padded, as `tile` and `pad` leave it.
        operand: which operand, by number.
        loops: out of how many loops.

    Raises:
        ScheduleError: that operand is not padded, or there are not that many loops.
    """
    check_least(op, "loops", loops, 1)
    enclosing(op, "hoist_pads", loops - 1)
    made = producer(op.operands[operand]) if 0 <= operand < len(op.operands) else None
    if made is None or made.operation.name != "tensor.pad":
        raise refusal(op, f"operand {operand} is not padded", cure="pad(...) it first")
    return Script(
        (
            line("%pad", f"get_producer_of_operand %target[{operand}]"),
            f"%hoisted = transform.structured.hoist_pad %pad by {loops} loops : ({ANY}) -> {ANY}",
        )
    )
