"""Promote operands to temporary buffers, such as ones in fast memory.

before:
    %r = linalg.abs ins(%a : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
after `match("abs").promote([0]).simplify()`:
    %0 = bufferization.alloc_tensor() : tensor<8xf32>
    %1 = bufferization.materialize_in_destination %a in %0
        : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %r = linalg.abs ins(%1 : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>

Source: "Promotion to Temporary Buffer in Fast Memory" of MLIR's linalg document;
`transform.structured.promote_tensor`, and `transform.structured.promote` on buffers.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.transforms.ir_utils.walking import producer

from ._checks import check_least, check_maps, refusal
from ._facts import on_tensors
from ._script import ANY, VALUE, Script, integers, line
from .step import schedule_step


@schedule_step("linalg-ext-promote")
def promote(
    op: ir.Operation,
    *,
    operands: tuple[int, ...] = (),
    memory_space: int = 0,
    stack: bool = False,
) -> Script:
    """Copy operands of an op into buffers of their own, which the op then uses.

    Args:
        op: a structured op; on buffers its operands are views, as a tiled op's are.
        operands: by number, inputs first; all that are tensors or buffers where none are said.
        memory_space: of the new buffers, on tensors.
        stack: put the new buffers on the stack, on buffers.

    Raises:
        ScheduleError: there is no such operand, or it is no tensor and no view.
    """
    check_maps(op, "promote")
    check_least(op, "memory_space", memory_space, 0)
    shaped = [n for n, each in enumerate(op.operands) if isinstance(each.type, ir.ShapedType)]
    for operand in operands:
        if operand not in shaped:
            raise refusal(
                op, f"operands has {operand}", expected=f"some of {shaped}, which have elements"
            )
    wanted = operands or tuple(shaped)
    if on_tensors(op):
        return _on_tensors(op, wanted, memory_space)
    for operand in wanted:
        made = producer(op.operands[operand])
        if made is None or made.operation.name != "memref.subview":
            raise refusal(
                op,
                f"operand {operand} is no view of a larger buffer",
                expected="memref.subview, as tile(...) makes them",
                hint="tile it first, or leave this operand out of operands",
            )
    on_stack = ", use_alloca" if stack else ""
    text = f"structured.promote %target {{operands_to_promote = {integers(wanted)}{on_stack}}}"
    return Script((line("%promoted", text),), "%promoted")


def _on_tensors(op: ir.Operation, wanted: tuple[int, ...], memory_space: int) -> Script:
    inits = len(op.operands) - len(op.results)
    lines = []
    for operand in wanted:
        type_ = op.operands[operand].type
        if not isinstance(type_, ir.RankedTensorType):
            raise refusal(op, f"operand {operand} is {type_}", expected="a ranked tensor")
        if operand >= inits and memory_space:
            raise refusal(
                op,
                f"operand {operand} is what the op writes to: it cannot go to another memory space",
                expected=f"operands below {inits}",
            )
        space = f"to {memory_space} " if memory_space else ""
        lines.append(
            f"%operand{operand} = transform.get_operand %target[{operand}] : ({ANY}) -> {VALUE}"
        )
        lines.append(
            f"%promoted{operand} = transform.structured.promote_tensor {space}%operand{operand}"
            f" : {VALUE}"
        )
    return Script(tuple(lines), "%target")
