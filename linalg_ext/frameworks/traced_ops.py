"""Ops of exporters' dialects as calls of functions that `jit` traces, which are linalg."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from linalg_ext.bindings import func, ir
from linalg_ext.errors import DTypeError
from linalg_ext.runtime.callbacks import Callback
from linalg_ext.runtime.dtypes import DType, by_mlir
from linalg_ext.tracing.jit_function import jit
from linalg_ext.tracing.values.sizes import Dim
from linalg_ext.tracing.values.specs import ShapeDtype
from linalg_ext.transforms.ir_utils.walking import operations, replace_op
from linalg_ext.transforms.rewrites.call_stubs import adopt


def write_traced(
    module: ir.Module,
    ops: AbstractSet[str],
    function_of: Callable[[ir.Operation], tuple[str, Callable[..., Any]] | None],
    own_type: Callable[[ir.Type], ir.RankedTensorType] = ir.RankedTensorType,
    converted: Callable[[ir.Type, ir.Value], ir.Value] = lambda _, value: value,
) -> list[Callback]:
    """Make ops that no pass lowers calls of traced functions.

    Args:
        function_of: returns a name and a function of arrays for an op; None for ops that stay. Ops
            of one name compute the same.
        own_type: returns MLIR's tensor type for one of the dialect.
        converted: returns a value as one of another type, MLIR's or the dialect's.

    Returns:
        The functions of Python that the traced ones call; the module's kernel keeps them alive.
    """
    known: dict[tuple[str, ir.FunctionType], str] = {}
    callbacks: list[Callback] = []
    for op in operations(module.operation, ops):
        if (traced := function_of(op)) is None:
            continue
        name, function = traced
        operands, results = list(op.operands), [result.type for result in op.results]
        with op.location, ir.InsertionPoint(op):
            type_ = ir.FunctionType.get([value.type for value in operands], results)
            key = name, type_
            if key not in known:
                known[key] = f"linalg_ext.traced.{len(known)}"
                specs = _specs(list(map(own_type, type_.inputs)))
                lowered = jit(function).lower(*specs)
                callbacks += lowered.callbacks
                written = ir.Module.parse(lowered.module.bytecode(), module.context)
                _write_function(module, known[key], written, type_, converted)
            replace_op(op, *func.CallOp(results, known[key], operands).results)
    return callbacks


def _write_function(
    module: ir.Module,
    symbol: str,
    written: ir.Module,
    type_: ir.FunctionType,
    converted: Callable[[ir.Type, ir.Value], ir.Value],
) -> None:
    """Add a function of an exporter's tensors that computes on MLIR's own.

    Args:
        written: the traced function, and those that it calls. It is used up.
        converted: as of `write_traced`.
    """
    traced = written.body.operations[0].operation.detach_from_parent()
    adopt(module.operation, written)
    with ir.InsertionPoint(module.body):
        outer = func.FuncOp(symbol, type_, visibility="private")
    block = outer.add_entry_block()
    body = traced.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        for inner, argument in zip(body.arguments, block.arguments, strict=True):
            inner.replace_all_uses_with(converted(inner.type, argument))
        end = func.ReturnOp([])
    *ops, returned = list(body.operations)
    for op in ops:
        op.operation.move_before(end.operation)
    with ir.InsertionPoint(end):
        results = zip(type_.results, returned.operands, strict=True)
        func.ReturnOp([converted(*pair) for pair in results])
    end.operation.erase()


def _specs(types: Sequence[ir.RankedTensorType]) -> list[ShapeDtype]:
    """Return the specs of the arguments of a traced function.

    Open sizes are those of recurrent layers: the number of steps in arguments of rank 3, and the
    batch size in all.
    """
    steps, batch = Dim("steps"), Dim("batch")
    names = {3: (steps, batch), 2: (batch,), 1: (batch,)}
    return [
        ShapeDtype(
            tuple(
                names[type_.rank][axis] if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
                for axis in range(type_.rank)
            ),
            dtype_of(type_),
        )
        for type_ in types
    ]


def dtype_of(type_: ir.RankedTensorType) -> DType:
    """Return the dtype of a tensor's elements, signed for a signless integer.

    Raises:
        DTypeError: arrays hold no such elements.
    """
    element = by_mlir(str(type_.element_type))
    if element is None:
        raise DTypeError(f"arrays cannot hold elements of {type_.element_type}")
    return element.dtype
