"""A view in torch's dialect as MLIR's own reshapes, by groups of its axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, func, ir, tensor
from linalg_ext.frameworks.torch_dialect.own_tensors import converted, own_type
from linalg_ext.structured.maps import collapsed_tensor
from linalg_ext.structured.operands import producer
from linalg_ext.transforms.ir_utils.walking import replace_op

VIEWS = ("torch.aten.view", "torch.aten._unsafe_view", "torch.aten.reshape")
"""The ops that are views by a list of sizes."""

LEFT_OUT = -1
"""The size that stands for what the others leave."""


@dataclass(frozen=True)
class Group:
    """Neighbouring axes before and after, that have as many elements.

    Attributes:
        before: the axes that become one.
        after: the axes that this one becomes.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]


def write_reshape(
    module: ir.Module, op: ir.Operation, symbol: str, groups: Sequence[Group]
) -> None:
    """Put in the place of a view the call of a function that reshapes by groups.

    Args:
        module: that the view is in.
        op: the view: a tensor, and a list of sizes, one of which may be -1.
        symbol: the name of the function.
        groups: of axes, outermost first.
    """
    result = own_type(op.results[0].type)
    listed = producer(op.operands[1])
    given = [] if listed is None else list(listed.operands)
    open_ = [
        axis
        for axis, size in enumerate(given)
        if result.is_dynamic_dim(axis) and constant_of(size) != LEFT_OUT
    ]
    operands = [op.operands[0], *(given[axis] for axis in open_)]
    type_ = ir.FunctionType.get([value.type for value in operands], [op.results[0].type])
    with ir.InsertionPoint(module.body):
        outer = func.FuncOp(symbol, type_, visibility="private")
    with ir.InsertionPoint(outer.add_entry_block()):
        source, *sizes = outer.arguments
        source = converted("torch_c.to_builtin_tensor", own_type(source.type), source)
        known = dict(zip(open_, map(_index, sizes), strict=True))
        made = _reshaped(source, result, known, groups)
        func.ReturnOp([converted("torch_c.from_builtin_tensor", op.results[0].type, made)])
    with ir.InsertionPoint(op):
        call = func.CallOp(list(type_.results), symbol, operands)
    replace_op(op, *call.results)


def constant_of(size: ir.Value) -> int | None:
    """The number that a constant of torch's is; None if the value is not one."""
    op = producer(size)
    if op is None or op.name != "torch.constant.int":
        return None
    return ir.IntegerAttr(op.attributes["value"]).value


def _index(size: ir.Value) -> ir.Value:
    """A number of torch's as an index."""
    number = converted("torch_c.to_i64", ir.IntegerType.get_signless(64), size)
    return arith.index_cast(ir.IndexType.get(), number)


def _reshaped(
    source: Any,
    result: ir.RankedTensorType,
    known: Mapping[int, ir.Value],
    groups: Sequence[Group],
) -> Any:
    """A tensor, its axes first collapsed to one for each group, and then expanded.

    Args:
        source: the tensor.
        result: what it becomes.
        known: the open sizes of that which are given, by their axes.
        groups: of axes.
    """
    before = [group.before for group in groups]
    if any(len(axes) > 1 for axes in before):
        type_ = collapsed_tensor(source.type, before)
        source = tensor.CollapseShapeOp(type_, source, before).result
    after = [group.after for group in groups]
    if all(len(axes) == 1 for axes in after):
        return _cast(source, result)
    source = _cast(source, collapsed_tensor(result, after))
    open_ = [
        _size(source, place, axis, axes, result, known)
        for place, axes in enumerate(after)
        for axis in axes
        if result.is_dynamic_dim(axis)
    ]
    return tensor.ExpandShapeOp(result, source, after, open_, list(result.shape)).result


def _cast(value: Any, type_: ir.RankedTensorType) -> Any:
    return value if value.type == type_ else tensor.cast(type_, value)


def _size(
    source: Any,
    place: int,
    axis: int,
    axes: Sequence[int],
    result: ir.RankedTensorType,
    known: Mapping[int, ir.Value],
) -> ir.Value:
    """An open size of the result: of an axis that is left out, what the others leave of it."""
    if axis in known:
        return known[axis]
    size: ir.Value = tensor.dim(source, _constant(place))
    for other in axes:
        if other != axis:
            divisor = known.get(other) or _constant(result.get_dim_size(other))
            size = arith.divsi(size, divisor)
    return size


def _constant(number: int) -> Any:
    return arith.constant(ir.IndexType.get(), number)
