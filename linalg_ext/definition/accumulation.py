"""Assignments that accumulate: `C = f(C, x)`, as a front end without `+=` writes them."""

from __future__ import annotations

from linalg_ext.definition.functions import REDUCTIONS
from linalg_ext.definition.model import Reduction
from linalg_ext.definition.scalar import Access, Apply, ScalarExpr


def accumulation(target: Access, value: ScalarExpr, dims: tuple[str, ...]) -> Reduction | None:
    """Return the reduction that `target = value` performs over dimensions, or None.

    An assignment accumulates where the value reads the target once, and only under applications of
    one function that may reduce: `C + x`, `x + C`, `(C + x) + y`.

    Args:
        target: the element that is written.
        value: the value that is written.
        dims: the dimensions of the iteration space that the target lacks.
    """
    if not isinstance(value, Apply) or value.function not in REDUCTIONS:
        return None
    if sum(expr == target for expr in value.walk()) != 1:
        return None
    expr: ScalarExpr = value
    while expr != target:
        if not isinstance(expr, Apply):
            return None
        if (expr.function, expr.attribute) != (value.function, value.attribute):
            return None
        expr = next(arg for arg in expr.args if any(part == target for part in arg.walk()))
    return Reduction(value.function, dims, value.attribute)
