"""One op in a function of its own: for passes, which would change its neighbours as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linalg_ext.bindings import func, ir
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.transforms.ir_utils.walking import select

_NAME = "linalg_ext.apart"


def run_apart(
    op: ir.Operation,
    pipeline: str,
    finish: Callable[[ir.Operation], object] | None = None,
) -> list[ir.Operation]:
    """Run passes on `op` alone; the ops that take its place, in order.

    Args:
        op: it is erased.
        pipeline: passes on a module; none where it is empty.
        finish: called with the function afterwards, to change it further.

    Raises:
        MLIRError: a pass failed; `op` is as it was.
    """
    captured = _captured(op)
    operands = [*op.operands, *captured]
    with op.context, op.location:
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            types = [value.type for value in operands]
            function = func.FuncOp(_NAME, (types, [result.type for result in op.results]))
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            clone = op.clone()
            for position, argument in enumerate(list(block.arguments)[: len(op.operands)]):
                clone.operands[position] = argument
            _rewire(clone, captured, list(block.arguments)[len(op.operands) :])
            func.ReturnOp(list(clone.results))
        if pipeline:
            pass_manager("builtin.module", module.context, pipeline).run(module.operation)
        if finish is not None:
            finish(module.operation)
        return _brought_back(op, module, operands)


def _brought_back(
    op: ir.Operation, module: ir.Module, operands: Sequence[ir.Value]
) -> list[ir.Operation]:
    block = module.body.operations[0].operation.regions[0].blocks[0]
    inner = [each.operation for each in block.operations]
    returned = list(inner[-1].operands)
    moved = inner[:-1]
    given: dict[ir.Value, ir.Value] = dict(zip(block.arguments, operands, strict=True))
    results = [given.get(value, value) for value in returned]
    for argument, value in given.items():
        argument.replace_all_uses_with(value)
    inner[-1].erase()
    for each in moved:
        each.move_before(op)
    for result, value in zip(list(op.results), results, strict=True):
        result.replace_all_uses_with(value)
    op.erase()
    return moved


def _captured(op: ir.Operation) -> list[ir.Value]:
    """Return the values from outside that the body of an op uses."""
    inside = select(op, lambda _: True)
    made = {result for each in inside for result in each.operation.results}
    for each in inside:
        for region in each.operation.regions:
            for block in region:
                made.update(block.arguments)
    found: dict[ir.Value, None] = {}
    for each in inside[1:]:
        found.update((value, None) for value in each.operation.operands if value not in made)
    return list(found)


def _rewire(op: ir.Operation, old: Sequence[ir.Value], new: Sequence[ir.Value]) -> None:
    for each in select(op, lambda _: True)[1:]:
        for position, value in enumerate(each.operation.operands):
            if value in old:
                each.operation.operands[position] = new[list(old).index(value)]
