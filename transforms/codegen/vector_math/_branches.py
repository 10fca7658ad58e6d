"""Work that few vectors need, under a branch that all lanes take together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linalg_ext.bindings import ir, scf, vector


def any_of(condition: Any) -> Any:
    """Return whether a condition holds in any lane, as an i1."""
    type_ = condition.type
    if type_.rank != 1:
        lanes = 1
        for size in type_.shape:
            lanes *= size
        condition = vector.shape_cast(ir.VectorType.get([lanes], type_.element_type), condition)
    return vector.reduction(ir.IntegerType.get_signless(1), vector.CombiningKind.OR, condition)


def chosen(
    condition: Any, type_: Any, then: Callable[[], Any], otherwise: Callable[[], Any]
) -> Any:
    """Build a branch: the result of `then` where an i1 holds, else that of `otherwise`.

    Both results are of `type_`. Each function is called once, inside its branch.
    """
    branch: Any = scf.IfOp(condition, [type_], has_else=True)
    for block, way in ((branch.then_block, then), (branch.else_block, otherwise)):
        with ir.InsertionPoint(block):
            scf.YieldOp([way()])
    return branch.results[0]
