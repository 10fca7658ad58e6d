"""Folding in a body that follows from known answers of its conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.walking import producer, replace_op

_LOGIC = ("arith.andi", "arith.ori")


def fold_known(answers: Mapping[Any, bool]) -> None:
    """Replace conditions by their answers, fold the selects on them, and erase ops without users.

    Args:
        answers: for comparisons of one block, True where they hold.
    """
    if not answers:
        return
    body = next(iter(answers)).block
    for op, holds in answers.items():
        _replace(op, holds)
    for op in [each.operation for each in body.operations]:
        if op.name == "arith.select" and (known := known_condition(op.operands[0])) is not None:
            replace_op(op, op.operands[1 if known else 2])
        elif op.name in _LOGIC and str(op.results[0].type) == "i1":
            _fold_logic(op)
    _erase_unused(body)


def _replace(op: Any, holds: bool) -> None:
    with op.location, ir.InsertionPoint(op):
        replace_op(op, constant(ir.IntegerType.get_signless(1), int(holds)))


def known_condition(value: Any) -> bool | None:
    """Return the value of a condition that is a constant; None for any other value."""
    op = producer(value)
    if op is None or op.name != "arith.constant" or str(value.type) != "i1":
        return None
    return bool(ir.IntegerAttr(op.attributes["value"]).value)


def _fold_logic(op: Any) -> None:
    """Replace the result of a logic op with a known operand by that operand or the other one."""
    deciding = op.name == "arith.ori"
    for value, other in (tuple(op.operands), tuple(op.operands)[::-1]):
        known = known_condition(value)
        if known is not None:
            replace_op(op, value if known == deciding else other)
            return


def _erase_unused(body: Any) -> None:
    for op in reversed([each.operation for each in body.operations]):
        is_pure = op.name.startswith(("arith.", "math.", "linalg.index"))
        if is_pure and not any(True for result in op.results for _ in result.uses):
            op.erase()
