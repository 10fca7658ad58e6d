"""Peel a loop around an op: whole tiles in one loop, the last, smaller one behind it.

Source: `transform.loop.peel`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import enclosing
from ._script import ANY, FOR, Script
from ._step import schedule_step


@schedule_step("linalg-ext-peel")
def peel(op: ir.Operation, *, loop: int = 0, front: bool = False) -> Script:
    """Give the last iteration of a loop a place of its own, so that all others are whole tiles.

    Args:
        op: an op inside `scf.for`, as `tile` leaves it.
        loop: which loop, counted outwards from 0.
        front: peel the first iteration, not the last.

    Raises:
        ScheduleError: there is no such loop, or it has whole tiles only.
    """
    enclosing(op, "peel", loop)
    first = " {peel_front = true}" if front else ""
    return Script(
        (
            f'%loop = transform.get_parent_op %target {{op_name = "scf.for", '
            f"nth_parent = {loop + 1}}} : ({ANY}) -> {FOR}",
            f"%main, %rest = transform.loop.peel %loop{first} : ({FOR}) -> ({ANY}, {ANY})",
        )
    )
