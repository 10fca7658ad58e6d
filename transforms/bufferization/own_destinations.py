"""Give each op a destination of its own, and each result memory that holds no other.

Upstream's elimination of empty tensors puts a result's own memory in the place of the empty tensor
that it was made from. Its bufferization does not see that this memory is written once more when the
result is put there. Another result that shares the memory until then (an empty tensor, a fill or an
earlier state of it) is lost.

before:
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %x = linalg.matvec ins(%a, %v : tensor<4x4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
    %y = linalg.vecmat ins(%v, %a : tensor<4xf32>, tensor<4x4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
after:
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %x = linalg.matvec ins(%a, %v : tensor<4x4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
    %e2 = tensor.empty() : tensor<4xf32>
    %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<4xf32>) -> tensor<4xf32>
    %y = linalg.vecmat ins(%v, %a : tensor<4xf32>, tensor<4x4xf32>) outs(%f2 : tensor<4xf32>) -> tensor<4xf32>
"""  # noqa: E501  # an op of IR a line

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.maps import split_operands
from linalg_ext.structured.outputs import RuntimeSize, sizes_of
from linalg_ext.transforms.ir_utils.walking import functions, operations, select

NAME = "linalg-ext-own-destinations"

_VIEWS = frozenset(
    {"tensor.cast", "tensor.collapse_shape", "tensor.expand_shape", "tensor.extract_slice"}
)


@module_pass(NAME, on={"tensor.empty"})
def own_destinations(module: ir.Operation) -> Report:
    """Make shared fills and empty tensors several, and copy results that others are made from."""
    report = Report(NAME)
    for op in select(module, _is_made_new):
        _unshare(op, report)
    for op in operations(module, {"tensor.empty"}):
        _unshare_empty(op)
    for function in functions(module):
        _separate(function, report)
    return report


def _is_made_new(op: Any) -> bool:
    """A fill, or a generic that reads no tensor: it costs no more than the copy of its result."""
    if op.name not in ("linalg.fill", "linalg.generic") or len(op.results) != 1:
        return False
    if op.name == "linalg.fill":
        return True
    inputs, _ = split_operands(op.operation)
    arguments = list(op.regions[0].blocks[0].arguments)
    return not inputs and not any(True for argument in arguments for _ in argument.uses)


def _unshare(op: Any, report: Report) -> None:
    """A fill of its own for each op that writes over it."""
    writers = [use for use in op.results[0].uses if _is_written(use)]
    uses = sum(1 for _ in op.results[0].uses)
    report.matched[op.name] += uses > 1 and bool(writers)
    for use in writers[: len(writers) - (uses == len(writers))]:
        user, number = use.owner.operation, use.operand_number
        with ir.InsertionPoint(user), op.location:
            empty = _empty_like(op.results[0])
            new = op.operation.clone()
            new.operands[len(new.operands) - 1] = empty
        user.operands[number] = new.results[0]
        report.changed[op.name] += 1


def _unshare_empty(op: Any) -> None:
    for use in list(op.results[0].uses)[:-1]:
        user = use.owner.operation
        with ir.InsertionPoint(user):
            user.operands[use.operand_number] = op.operation.clone().results[0]


def _is_written(use: ir.OpOperand) -> bool:
    user, number = use.owner.operation, use.operand_number
    if user.name.startswith("linalg."):
        return bool(number >= len(split_operands(user)[0]))
    return (user.name == "tensor.insert_slice" and number == 1) or (
        user.name == "scf.for" and number > 2
    )


def _separate(function: Any, report: Report) -> None:
    """Copy a result that shares a state with another before either is put into its place."""
    found = operations(function, {"bufferization.materialize_in_destination"})
    # Those with a result copy one tensor to another, inside the function.
    stores = [store for store in found if not len(store.results)]
    taken: dict[ir.Value, ir.Value] = {}
    for store in stores:
        source = store.operands[0]
        states = _states(source)
        if any(taken.get(state, source) != source for state in states):
            with ir.InsertionPoint(stores[0]), store.location:
                store.operands[0] = linalg.copy(source, outs=[_empty_like(source)])
            report.matched[store.name] += 1
            report.changed[store.name] += 1
        else:
            taken.update(dict.fromkeys(states, source))


def _states(value: ir.Value) -> list[ir.Value]:
    """A value and those that its memory held before, back to an empty tensor; [] if to another."""
    states = []
    while True:
        states.append(value)
        owner = value.owner
        if isinstance(owner, ir.Block):
            return []
        op = owner.operation
        if op.name == "tensor.empty":
            return states
        if op.name.startswith("linalg."):
            value = split_operands(op)[1][ir.OpResult(value).result_number]
        elif op.name in _VIEWS:
            value = op.operands[0]
        elif op.name in ("tensor.insert_slice", "tensor.insert"):
            value = op.operands[1]
        elif op.name == "scf.for":
            value = op.operands[3 + ir.OpResult(value).result_number]
        else:
            return []


def _empty_like(value: ir.Value) -> ir.Value:
    sizes = [size.value if isinstance(size, RuntimeSize) else size for size in sizes_of(value)]
    made: ir.Value = tensor.EmptyOp(sizes, ir.ShapedType(value.type).element_type).result
    return made
