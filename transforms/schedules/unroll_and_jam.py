"""Unroll a loop around an op, and join the loops inside it again.

Source: `transform.loop.unroll_and_jam`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_factor, enclosing
from ._script import ANY, FOR, Script
from ._step import schedule_step


@schedule_step("linalg-ext-unroll-and-jam")
def unroll_and_jam(op: ir.Operation, *, factor: int, loop: int = 1) -> Script:
    """Repeat the innermost body for several iterations of an outer loop.

    Args:
        op: an op inside loops, such as `tile` and `bufferize` leave it: upstream joins only loops
            that carry no values.
        factor: how many iterations of the outer loop are joined, 2 or more.
        loop: which loop, counted outwards from 0; the loops inside it are joined.

    Raises:
        ScheduleError: there is no such loop, or upstream cannot join what is inside it.
    """
    check_factor(op, factor, enclosing(op, "unroll_and_jam", loop))
    return Script(
        (
            f'%loop = transform.get_parent_op %target {{op_name = "scf.for", '
            f"nth_parent = {loop + 1}}} : ({ANY}) -> {FOR}",
            f"transform.loop.unroll_and_jam %loop {{factor = {factor}}} : {FOR}",
        )
    )
