"""Steps from tensors to buffers: of a module, of the results of an op, of its operands."""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.transforms.ir_utils.walking import functions, operations, producer, select
from linalg_ext.transforms.legalization import decompose_structured_ops

from ._checks import (
    check_choice,
    check_least,
    check_maps,
    check_tensors,
    on_tensors,
    refusal,
    structured_loops,
)
from .step import ANY, VALUE, Doubt, Script, integers, line, schedule_step

_PASS = (
    "one-shot-bufferize{bufferize-function-boundaries=true "
    "function-boundary-type-conversion=identity-layout-map}"
)

_WITHOUT_BUFFERS = ("linalg_ext.", "gml_st.", "tm_tensor.")
"""Dialects whose ops are lowered on tensors."""

_WRITABLE = "bufferization.writable"


@schedule_step("linalg-ext-bufferize", whole=True)
def bufferize(module: ir.Operation, *, in_place: bool = False) -> str:
    """Replace every tensor by a buffer; an op writes in place where no other use can see it.

    before:
        func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
          %r = linalg.abs ins(%a : tensor<8xf32>) outs(%a : tensor<8xf32>) -> tensor<8xf32>
          return %r : tensor<8xf32>
        }
    after `bufferize()`:
        func.func @main(%a: memref<8xf32>) -> memref<8xf32> {
          %alloc = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
          linalg.abs ins(%a : memref<8xf32>) outs(%alloc : memref<8xf32>)
          return %alloc : memref<8xf32>
        }

    Source: "Progressive Buffer Allocation" of MLIR's linalg document, its last step;
    `one-shot-bufferize`, with functions and their calls.

    Args:
        module: the module; its functions take and return buffers afterwards.
        in_place: True where functions may write to their arguments. Otherwise a caller's arrays do
            not change, which costs a copy of each argument that an op would write to.

    Raises:
        ScheduleError: an op cannot be bufferized, such as ones of this library's dialects; or it
            has no way down from buffers, such as packs and softmax.
    """
    _check_ops(module)
    for function in functions(module):
        _mark_arguments(function, writable=in_place)
    return f"eliminate-empty-tensors,{_PASS},canonicalize,cse"


def _check_ops(module: ir.Operation) -> None:
    for op in operations(module, decompose_structured_ops.DECOMPOSED):
        raise refusal(
            op,
            f"bufferize would put this {op.name} on buffers, from where it cannot be lowered",
            hint=f'run("{decompose_structured_ops.NAME}") first makes other ops of it',
        )
    for op in select(module, lambda inner: inner.name.startswith(_WITHOUT_BUFFERS)):
        if any(isinstance(result.type, ir.RankedTensorType) for result in op.results):
            raise refusal(
                op,
                f"{op.name} has no form on buffers",
                hint='run("linalg-ext-stage-linalg") first lowers it to ops that have',
            )


def _mark_arguments(function: ir.Operation, *, writable: bool) -> None:
    arguments = function.regions[0].blocks[0].arguments
    notes: list[dict[str, ir.Attribute]] = [{} for _ in arguments]
    if "arg_attrs" in function.attributes:
        attributes = map(ir.DictAttr, ir.ArrayAttr(function.attributes["arg_attrs"]))
        named = [[entries[number] for number in range(len(entries))] for entries in attributes]
        notes = [{note.name: note.attr for note in entries} for entries in named]
    new = [
        ir.DictAttr.get({_WRITABLE: ir.BoolAttr.get(writable), **old})
        if isinstance(argument.type, ir.RankedTensorType)
        else ir.DictAttr.get(old)
        for argument, old in zip(arguments, notes, strict=True)
    ]
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(new)


_ALLOCATIONS = {"heap": "memref.alloc", "stack": "memref.alloca"}


@schedule_step("linalg-ext-allocate")
def allocate(op: ir.Operation, *, memory: str = "heap", memory_space: int = 0) -> Script:
    """Allocate a buffer for the result of an op; the op itself stays on tensors.

    before:
        %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>)
            outs(%c : tensor<8x12xf32>) -> tensor<8x12xf32>
    after `match("matmul").allocate("stack").simplify()`:
        %alloca = memref.alloca() : memref<8x12xf32>
        bufferization.materialize_in_destination %c in writable %alloca
            : (tensor<8x12xf32>, memref<8x12xf32>) -> ()
        %0 = bufferization.to_tensor %alloca restrict writable
            : memref<8x12xf32> to tensor<8x12xf32>
        %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>)
            outs(%0 : tensor<8x12xf32>) -> tensor<8x12xf32>

    Source: "Progressive Buffer Allocation" of MLIR's linalg document;
    `transform.structured.bufferize_to_allocation`. The rest, at once: `bufferize`.

    Args:
        op: a structured op on tensors.
        memory: "heap" or "stack".
        memory_space: of the new buffer, a number that the target knows.

    Raises:
        ScheduleError: the op is on buffers already, or an argument is wrong.
    """
    structured_loops(op, "allocate")
    check_tensors(op, "allocate")
    if op.name == "tensor.pad" and not ir.ShapedType(op.results[0].type).has_static_shape:
        raise refusal(
            op,
            "allocate needs the size of a padded tensor, which only the running program knows",
            hint="take this step before the pad is tiled, or bufferize()",
        )
    check_choice(op, "memory", memory, tuple(_ALLOCATIONS))
    check_least(op, "memory_space", memory_space, 0)
    space = f"memory_space = {memory_space}, " if memory_space else ""
    return Script(
        "%buffer, %made = transform.structured.bufferize_to_allocation %target "
        f'{{{space}alloc_op = "{_ALLOCATIONS[memory]}", bufferize_destination_only}} : {ANY}',
        doubt=Doubt(
            f"upstream cannot put the {len(op.results)} results of this {op.name} into buffers of "
            "its own",
            "bufferize() puts the whole module on buffers",
        ),
    )


@schedule_step("linalg-ext-promote")
def promote(
    op: ir.Operation,
    *,
    operands: tuple[int, ...] = (),
    memory_space: int = 0,
    stack: bool = False,
) -> Script:
    """Copy operands of an op into buffers of their own, which the op then uses.

    before:
        %r = linalg.abs ins(%a : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
    after `match("abs").promote([0]).simplify()`:
        %0 = bufferization.alloc_tensor() : tensor<8xf32>
        %1 = bufferization.materialize_in_destination %a in %0
            : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
        %r = linalg.abs ins(%1 : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>

    Source: "Promotion to Temporary Buffer in Fast Memory" of MLIR's linalg document;
    `transform.structured.promote_tensor`, and `transform.structured.promote` on buffers.

    Args:
        op: a structured op; on buffers its operands are views, as a tiled op's are.
        operands: by number, inputs first; all that are tensors or buffers where none are said.
        memory_space: of the new buffers, on tensors.
        stack: put the new buffers on the stack, on buffers.

    Raises:
        ScheduleError: there is no such operand, or it is neither a tensor nor a view.
    """
    check_maps(op, "promote")
    check_least(op, "memory_space", memory_space, 0)
    shaped = [n for n, value in enumerate(op.operands) if isinstance(value.type, ir.ShapedType)]
    for operand in operands:
        if operand not in shaped:
            raise refusal(
                op, f"operands has {operand}", expected=f"some of {shaped}, which have elements"
            )
    numbers = operands or tuple(shaped)
    if on_tensors(op):
        return _on_tensors(op, numbers, memory_space)
    for operand in numbers:
        source = producer(op.operands[operand])
        if source is None or source.operation.name != "memref.subview":
            raise refusal(
                op,
                f"operand {operand} is not a view of a larger buffer",
                expected="memref.subview, as tile(...) makes them",
                hint="tile it first, or leave this operand out of operands",
            )
    on_stack = ", use_alloca" if stack else ""
    text = f"structured.promote %target {{operands_to_promote = {integers(numbers)}{on_stack}}}"
    return Script(line("%promoted", text), focus="%promoted")


def _on_tensors(op: ir.Operation, numbers: tuple[int, ...], memory_space: int) -> Script:
    inits = len(op.operands) - len(op.results)
    lines = []
    for operand in numbers:
        type_ = op.operands[operand].type
        if not isinstance(type_, ir.RankedTensorType):
            raise refusal(op, f"operand {operand} is {type_}", expected="a ranked tensor")
        if operand >= inits and memory_space:
            raise refusal(
                op,
                f"operand {operand} is the op's destination: it cannot go to another memory space",
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
    return Script(*lines, focus="%target")
