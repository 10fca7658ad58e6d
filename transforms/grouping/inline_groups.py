"""Put the ops of groups in the place of the groups.

before:
    %r = "linalg_ext.group"(%x, %e) ({
      ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
        %s = linalg.exp ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
        "linalg_ext.group_yield"(%s) {operandSegmentSizes = array<i32: SLOTS_16>}
          : (tensor<4xf32>) -> ()
      }) {label = "exp", operandSegmentSizes = array<i32: SLOTS_64, SLOTS_16>,
          resultSegmentSizes = array<i32: SLOTS_16>}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
after:
    %r = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>

`SLOTS_16` stands for a 1 and fifteen times 0, one for each operand that a group could have.
Nothing is left of a group, not even a destination that was made for it alone.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.group import GROUPS, PRESERVE, Group

NAME = "linalg-ext-inline-groups"


@module_pass(NAME, on=GROUPS)
def inline_groups(module: ir.Operation, *, keep_preserved: bool = False) -> Report:
    """Put the ops of groups in their place.

    `keep_preserved` leaves those that say `preserve`, and what is in them.
    """
    report = Report(NAME)
    for op in _groups(module):
        report.matched[op.name] += 1
        if keep_preserved and _is_preserved(op):
            report.leave(op.name, "the group is marked preserve")
            continue
        report.changed[op.name] += 1
        inline_group(op)
    return report


def inline_group(op: Any) -> list[Any]:
    """Put the ops of one group in its place, and erase it; returns these ops."""
    group = Group.of(op)
    inits = list(group.inits)
    *inner, end = [each.operation for each in group.body.operations]
    for argument, value in zip(group.body.arguments, (*group.inputs, *inits), strict=True):
        argument.replace_all_uses_with(value)
    for result, value in zip(op.results, list(end.operands), strict=True):
        result.replace_all_uses_with(value)
    for each in inner:
        each.move_before(op)
    op.erase()
    for init in inits:
        _erase_if_unread(init)
    return inner


def _erase_if_unread(value: Any) -> None:
    """Erase the tensor.empty that a value is, where nothing reads it any more."""
    if isinstance(value.owner, ir.Block) or value.owner.name != "tensor.empty":
        return
    if not any(True for _ in value.uses):
        value.owner.operation.erase()


def _is_preserved(op: Any) -> bool:
    while op is not None:
        if op.name in GROUPS and PRESERVE in op.attributes:
            return True
        op = op.operation.parent
    return False


def _groups(root: Any) -> list[Any]:
    """All groups, those inside others first."""
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name in GROUPS:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.operation.walk(visit)
    return found
