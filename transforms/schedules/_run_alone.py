"""One op in a function of its own: for passes, which would change its neighbours as well."""

from __future__ import annotations

from collections.abc import Callable

from linalg_ext.bindings import func, ir
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.transforms.grouping.inline_groups import inline_block
from linalg_ext.transforms.ir_utils.outlining import taken_from_outside
from linalg_ext.transforms.ir_utils.walking import copied_on, replace_operands

_NAME = "linalg_ext.apart"


def run_alone(
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
    captured = taken_from_outside(op) if len(op.regions) else []
    operands = [*op.operands, *captured]
    with op.context, op.location:
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            types = [value.type for value in operands]
            function = func.FuncOp(_NAME, (types, [result.type for result in op.results]))
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            clone = copied_on(op, list(block.arguments)[: len(op.operands)])
            arguments = list(block.arguments)[len(op.operands) :]
            replace_operands(clone, dict(zip(captured, arguments, strict=True)))
            func.ReturnOp(list(clone.results))
        if pipeline:
            pass_manager("builtin.module", module.context, pipeline).run(module.operation)
        if finish is not None:
            finish(module.operation)
        body = module.body.operations[0].operation.regions[0].blocks[0]
        return inline_block(body, op, operands)
