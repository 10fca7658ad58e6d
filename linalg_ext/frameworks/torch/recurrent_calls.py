"""Recurrent layers in a graph's module: calls of functions that are linalg before all else is."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from linalg_ext.bindings import func, ir
from linalg_ext.frameworks.torch.cells import CELLS
from linalg_ext.frameworks.torch.recurrent_ops import BACKWARD, GRADIENT, NAMESPACE
from linalg_ext.frameworks.torch_dialect.own_tensors import converted, own_type
from linalg_ext.tracing.jit_function import jit
from linalg_ext.tracing.sizes import Dim, Size
from linalg_ext.tracing.specs import ShapeDtype
from linalg_ext.transforms.ir_utils.walking import operations, replace_op

_PREFIX = f"torch.{NAMESPACE}."


def write_recurrent_layers(module: ir.Module) -> None:
    """Make each op of a recurrent layer, in torch's dialect, a call of a function in linalg."""
    known: dict[tuple[str, ir.FunctionType], str] = {}
    for op in _operators(module):
        name = ir.StringAttr(op.attributes["name"]).value.removeprefix(_PREFIX)
        operands, results = list(op.operands), [result.type for result in op.results]
        with op.location, ir.InsertionPoint(op):
            type_ = ir.FunctionType.get([value.type for value in operands], results)
            key = name, type_
            if key not in known:
                known[key] = f"{NAMESPACE}.{name}.{len(known)}"
                _write(module, known[key], name, type_)
            replace_op(op, *func.CallOp(results, known[key], operands).results)


def _operators(module: ir.Module) -> list[ir.Operation]:
    names = {
        f"{_PREFIX}{name}{middle}{ending}"
        for name in CELLS
        for middle in ("", GRADIENT)
        for ending in ("", BACKWARD)
    }
    found = operations(module.operation, {"torch.operator"})
    return [op for op in found if ir.StringAttr(op.attributes["name"]).value in names]


def _write(module: ir.Module, symbol: str, name: str, type_: ir.FunctionType) -> None:
    """Add a function that takes and gives tensors of torch's, and computes on MLIR's own."""
    base = name.removesuffix(BACKWARD)
    cell = CELLS[base.removesuffix(GRADIENT)]
    way = cell.gradient_over_rows if base.endswith(GRADIENT) else cell.over_rows
    over_rows = functools.partial(way, name.endswith(BACKWARD))
    lowered = jit(over_rows).lower(*_specs([own_type(each) for each in type_.inputs]))
    written = ir.Module.parse(lowered.module.bytecode(), module.context)
    (function,) = written.body.operations
    with ir.InsertionPoint(module.body):
        outer = func.FuncOp(symbol, type_, visibility="private")
    block = outer.add_entry_block()
    body = function.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        for argument, given in zip(body.arguments, block.arguments, strict=True):
            argument.replace_all_uses_with(
                converted("torch_c.to_builtin_tensor", argument.type, given)
            )
        end = func.ReturnOp([])
    *ops, given_back = list(body.operations)
    for op in ops:
        op.operation.move_before(end.operation)
    with ir.InsertionPoint(end):
        results = zip(type_.results, given_back.operands, strict=True)
        func.ReturnOp([converted("torch_c.from_builtin_tensor", *each) for each in results])
    end.operation.erase()


def _specs(types: Sequence[ir.RankedTensorType]) -> list[ShapeDtype]:
    """Return the specs of a cell's arguments.

    The number of steps may be open in arguments of rank 3, the batch size in those of rank 2 and 3.
    """
    steps, batch = Dim("steps"), Dim("batch")
    names = {3: (steps, batch), 2: (batch,), 1: ()}
    return [_spec(each, *names[each.rank]) for each in types]


def _spec(type_: ir.RankedTensorType, *names: Size) -> ShapeDtype:
    sizes = tuple(
        names[axis] if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
        for axis in range(type_.rank)
    )
    return ShapeDtype(sizes, str(type_.element_type))
