"""Unroll a loop around an op.

Source: `transform.loop.unroll`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_factor, enclosing
from ._script import ANY, FOR, Script
from ._step import schedule_step


@schedule_step("linalg-ext-unroll")
def unroll(op: ir.Operation, *, factor: int, loop: int = 0) -> Script:
    """Repeat the body of a loop; what remains has a loop of its own.

    Args:
        op: an op inside `scf.for`, as `tile` leaves it.
        factor: how often the body is repeated, 2 or more.
        loop: which loop, counted outwards from 0.

    Raises:
        ScheduleError: there is no such loop around it.
    """
    check_factor(op, factor, enclosing(op, "unroll", loop))
    return Script(
        (
            f'%loop = transform.get_parent_op %target {{op_name = "scf.for", '
            f"nth_parent = {loop + 1}}} : ({ANY}) -> {FOR}",
            f"transform.loop.unroll %loop {{factor = {factor}}} : {FOR}",
        )
    )
