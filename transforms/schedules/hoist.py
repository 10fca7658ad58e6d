"""Move what does not change out of the loops around an op.

Source: `transform.apply_licm`, `transform.loop.hoist_loop_invariant_subsets`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import enclosing
from ._script import ANY, FOR, Script
from ._step import schedule_step


@schedule_step("linalg-ext-hoist")
def hoist(op: ir.Operation, *, loop: int = 0) -> Script:
    """Hoist what is the same in every iteration of a loop, and slices that it carries, out of it.

    Args:
        op: an op inside `scf.for`.
        loop: which loop, counted outwards from 0.

    Raises:
        ScheduleError: there is no such loop around it.
    """
    enclosing(op, "hoist", loop)
    return Script(
        (
            f'%loop = transform.get_parent_op %target {{op_name = "scf.for", '
            f"nth_parent = {loop + 1}}} : ({ANY}) -> {FOR}",
            f"transform.apply_licm to %loop : {FOR}",
            f"transform.loop.hoist_loop_invariant_subsets %loop : {FOR}",
        )
    )
