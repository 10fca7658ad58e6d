"""Positions in the body of a nest that are made of those of several loops.

The position in an array whose axes were taken as one is such: `i * columns + j`. Along loop `j` it
is the position in the row, and what the row begins with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.generics import loop_of
from linalg_ext.transforms.ir_utils.walking import operations, producer


def spell_out_positions(body: Any) -> None:
    """Write the sums and products of `affine.apply` in a body as `arith` does."""
    for apply in operations(body.owner, {"affine.apply"}):
        map_ = ir.AffineMapAttr(apply.attributes["map"]).value
        if not _is_of_sums(map_.results[0]):
            continue
        with ir.InsertionPoint(apply):
            value = _spelled(map_.results[0], map_.n_dims, list(apply.operands))
        apply.results[0].replace_all_uses_with(value)
        apply.erase()


def _is_of_sums(expression: Any) -> bool:
    if isinstance(expression, ir.AffineAddExpr | ir.AffineMulExpr):
        return _is_of_sums(expression.lhs) and _is_of_sums(expression.rhs)
    kinds = ir.AffineConstantExpr | ir.AffineDimExpr | ir.AffineSymbolExpr
    return isinstance(expression, kinds)


def _spelled(expression: Any, dims: int, operands: Sequence[Any]) -> Any:
    if isinstance(expression, ir.AffineConstantExpr):
        return index(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return operands[expression.position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return operands[dims + expression.position]
    left, right = (_spelled(each, dims, operands) for each in (expression.lhs, expression.rhs))
    combine = arith.addi if isinstance(expression, ir.AffineAddExpr) else arith.muli
    return combine(left, right)


def steps_of(value: Any, loop: int, body: Any) -> int | None:
    """By how much a position in a body grows with a loop: 0 or 1; None for all else."""
    op = producer(value)
    if op is not None and op.name == "linalg.index":
        return int(loop_of(op) == loop)
    if value.owner == body:
        return None
    if op is None or op.block != body or op.name == "arith.constant":
        return 0
    if op.name == "arith.index_cast":
        return steps_of(op.operands[0], loop, body)
    if op.name not in ("arith.addi", "arith.muli"):
        return None
    steps = [steps_of(each, loop, body) for each in op.operands]
    if steps == [0, 0]:
        return 0
    return 1 if op.name == "arith.addi" and steps in ([0, 1], [1, 0]) else None


def parts_of(value: Any, body: Any) -> list[Any]:
    """A position in a body and all that it is computed from there."""
    op = producer(value)
    if op is None or op.block != body:
        return []
    return [value, *(part for each in op.operands for part in parts_of(each, body))]


def at_start(value: Any, ivs: Sequence[Any], body: Any) -> Any:
    """A position for which `steps_of` is known, where the loops stand at `ivs`, others at 0."""
    op = producer(value)
    if op is None or op.block != body:
        return value
    if op.name == "linalg.index":
        loop = loop_of(op)
        return ivs[loop] if loop < len(ivs) else index(0)
    operands = [at_start(each, ivs, body) for each in op.operands]
    attributes = {name: op.attributes[name] for name in op.attributes}
    types = [each.type for each in op.results]
    made = ir.Operation.create(op.name, results=types, operands=operands, attributes=attributes)
    return made.results[0]
