"""Split a reduction in two: a parallel loop over partial results, and one that combines them.

Source: `transform.structured.split_reduction`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_least, check_maps, check_tensors, refusal
from ._facts import DYNAMIC
from ._index_checks import check_ascending, check_linear, check_separable
from ._script import Script, line
from ._step import schedule_step


@schedule_step("linalg-ext-split-reduction")
def split_reduction(
    op: ir.Operation, *, factor: int, dimension: int = 0, inner_parallel: bool = False
) -> Script:
    """Make `factor` partial results side by side, then one of them all.

    Args:
        op: a structured op on tensors with one reduction, of a known size that `factor` divides.
        factor: into how many parts the reduction is split.
        dimension: of the partial results: where the new dimension stands.
        inner_parallel: neighbours go to different partial results, not to the same one.

    Raises:
        ScheduleError: the op has no such reduction.
    """
    loops = check_maps(op, "split_reduction")
    check_ascending(op, "split_reduction")
    check_tensors(op, "split_reduction")
    check_separable(op, "split_reduction")
    check_least(op, "factor", factor, 2)
    if len(op.results) != 1:
        raise refusal(
            op, f"split_reduction is for one result; this {op.name} has {len(op.results)}"
        )
    if len(loops.reductions) != 1:
        raise refusal(
            op,
            f"split_reduction is for one reduction; {op.name} has {len(loops.reductions)}",
            expected=f"one, among {loops}",
            cure="tile_reduction(...) takes more",
        )
    check_linear(op, "split_reduction", loops.reductions[0])
    size = loops.ranges[loops.reductions[0]]
    if size == DYNAMIC or size % factor:
        shown = "not known" if size == DYNAMIC else str(size)
        raise refusal(
            op,
            f"factor is {factor}, but the reduction is {shown} long",
            expected="a number that divides it",
            cure="pad(...) makes it a multiple; tile_reduction(...) needs none",
        )
    rank = ir.ShapedType(op.results[0].type).rank
    if not 0 <= dimension <= rank:
        raise refusal(op, f"dimension is {dimension}", expected=f"0 to {rank}")
    inner = ", inner_parallel" if inner_parallel else ""
    text = (
        f"structured.split_reduction %target {{split_factor = {factor}, "
        f"insert_split_dimension = {dimension}{inner}}}"
    )
    return Script((line("%init, %fill, %split, %combining", text, results=4),), "%split")
