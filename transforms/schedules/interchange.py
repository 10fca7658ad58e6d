"""Change the order of the loops of a structured op.

Source: `transform.structured.interchange`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_maps, check_permutation
from ._script import Script, integers, line
from ._step import schedule_step


@schedule_step("linalg-ext-interchange")
def interchange(op: ir.Operation, *, order: tuple[int, ...]) -> Script:
    """Reorder the iteration space; a named op becomes a `linalg.generic` first.

    Args:
        op: a structured op with indexing maps.
        order: position i gets the loop order[i].

    Raises:
        ScheduleError: `order` is no order of its loops.
    """
    loops = check_maps(op, "interchange")
    check_permutation(op, "order", order, loops.count)
    lines, source = [], "%target"
    if op.name != "linalg.generic":
        lines.append(line("%generic", "structured.generalize %target"))
        source = "%generic"
    text = f"structured.interchange {source} iterator_interchange = {integers(order)}"
    return Script((*lines, line("%ordered", text)), "%ordered")
