"""What loops hand on unchanged is what they begin with: they need not carry it."""

from __future__ import annotations

from linalg_ext.bindings import ir, scf
from linalg_ext.transforms.ir_utils.walking import operations

from ._bands import FOR


def carry_what_changes(root: ir.Operation) -> None:
    """Have no loop below an op carry what is the same in each of its iterations."""
    # From inside outwards: what a loop inside hands on the one around it does, too.
    for loop in reversed(operations(root, [FOR])):
        if len(loop.results):
            _carry(loop)


def _carry(loop: ir.Operation) -> None:
    lower, upper, step, *inits = loop.operands
    body = loop.regions[0].blocks[0]
    *ops, yielding = [each.operation for each in body.operations]
    iv, *arguments = body.arguments
    changing: list[int] = []
    for number, argument in enumerate(arguments):
        if yielding.operands[number] in (argument, inits[number]):
            argument.replace_all_uses_with(inits[number])
            loop.results[number].replace_all_uses_with(inits[number])
        else:
            changing.append(number)
    if len(changing) == len(inits):
        return
    with loop.location, ir.InsertionPoint(loop):
        made = scf.ForOp(lower, upper, step, [inits[number] for number in changing])
        with ir.InsertionPoint(made.body):
            end = scf.YieldOp([yielding.operands[number] for number in changing]).operation
    for name in set(loop.attributes) - set(made.operation.attributes):
        made.operation.attributes[name] = loop.attributes[name]
    for op in ops:
        op.move_before(end)
    iv.replace_all_uses_with(made.induction_variable)
    for place, number in enumerate(changing):
        arguments[number].replace_all_uses_with(made.inner_iter_args[place])
        loop.results[number].replace_all_uses_with(made.operation.results[place])
    loop.erase()
