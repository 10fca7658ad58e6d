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

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.group import GROUPS, PRESERVE, Group, in_preserved_group
from linalg_ext.structured.operands import ops_where
from linalg_ext.transforms.ir_utils.walking import ancestor_in, is_unused, producer, replace_op

NAME = "linalg-ext-inline-groups"


@module_pass(NAME, on=GROUPS)
def inline_groups(module: ir.Operation, *, keep_preserved: bool = False) -> Report:
    """Put the ops of groups in their place.

    `keep_preserved` leaves those that say `preserve`, and their ops.
    """
    report = Report(NAME)
    # Those inside others come first.
    for op in ops_where(module.operation, lambda op: op.name in GROUPS):
        report.matched[op.name] += 1
        if keep_preserved and (PRESERVE in op.attributes or in_preserved_group(op)):
            report.leave(op.name, "the group is marked preserve")
            continue
        report.changed[op.name] += 1
        inline_group(op)
    return report


def inline_group(op: Any) -> list[Any]:
    """Put the ops of one group in its place, and erase it; returns these ops."""
    group = Group.of(op)
    inits = list(group.inits)
    inner = inline_block(group.body, op, (*group.inputs, *inits))
    for init in inits:
        owner = producer(init)
        if owner is not None and owner.name == "tensor.empty" and is_unused(init):
            owner.operation.erase()
    return inner


def inline_block(block: Any, op: Any, values: Sequence[Any]) -> list[Any]:
    """Put the ops of a block in the place of an op, and erase that; returns these ops.

    Args:
        block: its terminator gives the results of `op`.
        op: the op that the block replaces.
        values: those of the arguments of the block.
    """
    *inner, end = [inner_op.operation for inner_op in block.operations]
    for argument, value in zip(block.arguments, values, strict=True):
        argument.replace_all_uses_with(value)
    results = list(end.operands)
    end.erase()
    for inner_op in inner:
        inner_op.move_before(op)
    replace_op(op, *results)
    return inner


def replace_uses(old: Any, new: Any, group: Any, *, inside: bool) -> None:
    """Have the ops that use a value, inside a group or outside it, use another."""
    body = group.regions[0].blocks[0]
    for use in list(old.uses):
        if (ancestor_in(body, use.owner.operation) is not None) == inside:
            use.owner.operands[use.operand_number] = new
