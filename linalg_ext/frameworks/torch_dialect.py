"""Modules in torch-mlir's dialect: rewrites of pads and views that its passes get wrong.

A pad that cuts,

    torch.aten.constant_pad_nd %x, [-1, 1], %value

takes the first element away and adds one behind the last. In linalg that is a `tensor.pad` whose
result has the type of its source, which upstream folds away. So such a pad becomes a pad of slices.

In a view with several open sizes, torch-mlir takes all but one of those that it cannot identify
for 1. Unchanged axes, from the first on and from the last back, need no identification; the axes
between them have as many elements before as after. Such a view becomes MLIR's own reshapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, func, ir, tensor
from linalg_ext.frameworks import traced_ops
from linalg_ext.runtime.callbacks import Callback
from linalg_ext.structured.maps import collapsed_tensor
from linalg_ext.structured.operands import producer
from linalg_ext.transforms.ir_utils.walking import operations, replace_op


def converted(op: str, type_: ir.Type, value: ir.Value) -> ir.Value:
    """Return a value as one of another type, by an op such as `torch_c.to_builtin_tensor`."""
    return ir.Operation.create(op, [type_], [value]).results[0]


def write_traced(
    module: ir.Module, function_of: Callable[[ir.Operation], tuple[str, Callable[..., Any]] | None]
) -> list[Callback]:
    """Make ops that torch-mlir does not know calls of traced functions, which are linalg.

    Args:
        function_of: as of `traced_ops.write_traced`, for a `torch.operator`.

    Returns:
        The functions of Python that these call, as of `traced_ops.write_traced`.
    """
    return traced_ops.write_traced(module, {OPERATOR}, function_of, own_type, _across)


OPERATOR = "torch.operator"
"""The op that stands for each op of PyTorch's that the dialect does not have."""


def _across(type_: ir.Type, value: ir.Value) -> ir.Value:
    """Return a tensor of torch's as one of MLIR's own, or the other way round."""
    is_own = isinstance(type_, ir.RankedTensorType)
    return converted(f"torch_c.{'to' if is_own else 'from'}_builtin_tensor", type_, value)


def own_type(type_: ir.Type) -> ir.RankedTensorType:
    """Return MLIR's type for one of torch's, such as `!torch.vtensor<[5,?],f32>`."""
    text = str(type_).removeprefix("!torch.vtensor<[").removesuffix(">")
    sizes, _, element = text.partition("],")
    element = re.sub("^[su]i", "i", element)  # of integers torch's alone have a sign
    own = f"{sizes.replace(',', 'x')}x{element}" if sizes else element
    return ir.RankedTensorType(ir.Type.parse(f"tensor<{own}>"))


VIEWS = ("torch.aten.view", "torch.aten._unsafe_view", "torch.aten.reshape")
"""The ops that are views by a list of sizes."""

LEFT_OUT = -1
"""The size that follows from the others."""


@dataclass(frozen=True)
class Group:
    """Neighbouring axes, those before that become one, and those after that this one becomes."""

    before: tuple[int, ...]
    after: tuple[int, ...]


def write_reshape(
    module: ir.Module, op: ir.Operation, symbol: str, groups: Sequence[Group]
) -> None:
    """Replace a view by the call of a function that reshapes by groups.

    Args:
        op: the view: a tensor, and a list of sizes, one of which may be -1.
        groups: of axes, outermost first.
    """
    result = own_type(op.results[0].type)
    listed = producer(op.operands[1])
    sizes_of_axes = [] if listed is None else list(listed.operands)
    open_ = [
        axis
        for axis, size in enumerate(sizes_of_axes)
        if result.is_dynamic_dim(axis) and constant_of(size) != LEFT_OUT
    ]
    operands = [op.operands[0], *(sizes_of_axes[axis] for axis in open_)]
    type_ = ir.FunctionType.get([value.type for value in operands], [op.results[0].type])
    with ir.InsertionPoint(module.body):
        outer = func.FuncOp(symbol, type_, visibility="private")
    with ir.InsertionPoint(outer.add_entry_block()):
        source, *sizes = outer.arguments
        source = converted("torch_c.to_builtin_tensor", own_type(source.type), source)
        known = dict(zip(open_, map(_index, sizes), strict=True))
        reshaped = _reshaped(source, result, known, groups)
        func.ReturnOp([converted("torch_c.from_builtin_tensor", op.results[0].type, reshaped)])
    with ir.InsertionPoint(op):
        call = func.CallOp(list(type_.results), symbol, operands)
    replace_op(op, *call.results)


def constant_of(size: ir.Value) -> int | None:
    """Return the number that a constant of torch's is; None if the value is not one."""
    op = producer(size)
    if op is None or op.name != "torch.constant.int":
        return None
    return ir.IntegerAttr(op.attributes["value"]).value


def _index(size: ir.Value) -> ir.Value:
    number = converted("torch_c.to_i64", ir.IntegerType.get_signless(64), size)
    return arith.index_cast(ir.IndexType.get(), number)


def _reshaped(
    source: Any, result: ir.RankedTensorType, known: Mapping[int, ir.Value], groups: Sequence[Group]
) -> Any:
    """Return a tensor, its axes first collapsed to one for each group, and then expanded.

    Args:
        known: the listed open sizes of the result, by their axes.
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
        _size(source, position, axis, axes, result, known)
        for position, axes in enumerate(after)
        for axis in axes
        if result.is_dynamic_dim(axis)
    ]
    return tensor.ExpandShapeOp(result, source, after, open_, list(result.shape)).result


def _cast(value: Any, type_: ir.RankedTensorType) -> Any:
    return value if value.type == type_ else tensor.cast(type_, value)


def _size(
    source: Any,
    position: int,
    axis: int,
    axes: Sequence[int],
    result: ir.RankedTensorType,
    known: Mapping[int, ir.Value],
) -> ir.Value:
    """Return an open size of the result; the size -1 follows from those of its group."""
    if axis in known:
        return known[axis]
    size: ir.Value = tensor.dim(source, _constant(position))
    for other in axes:
        if other != axis:
            divisor = known.get(other) or _constant(result.get_dim_size(other))
            size = arith.divsi(size, divisor)
    return size


def _constant(number: int) -> Any:
    return arith.constant(ir.IndexType.get(), number)


_NAME = "linalg_ext.view"


def write_views(module: ir.Module) -> None:
    """Make views with several open sizes calls of functions in tensor.

    Args:
        module: in torch's dialect, its sizes numbers, or asked of tensors.
    """
    count = 0
    for op in operations(module.operation, VIEWS):
        with op.location:
            after = _after(op)
            if after is None or not _has_several_open(op):
                continue
            groups = between(_before(op), after)
            if groups is not None:
                write_reshape(module, op, f"{_NAME}.{count}", groups)
                count += 1


def between(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[Group] | None:
    """Return groups of one axis each at both ends, and one of all axes between them.

    Args:
        before: the identity of each size of a tensor: equal ones are equal sizes.
        after: the same of a view of it.

    Returns:
        The groups; None if one side has no axes at all.
    """
    first = 0
    shorter = min(len(before), len(after))
    while first < shorter and before[first] == after[first]:
        first += 1
    last = 0
    while last < shorter - first and before[-1 - last] == after[-1 - last]:
        last += 1
    if (first + last == len(before)) != (first + last == len(after)):
        # Only axes of one element came or went, which join the group of a neighbour.
        if first + last == 0:
            return None
        first, last = (first - 1, last) if first else (first, last - 1)
    left = tuple(range(first, len(before) - last))
    right = tuple(range(first, len(after) - last))
    middle = [Group(left, right)] if left else []
    ends = zip(
        range(len(before) - last, len(before)), range(len(after) - last, len(after)), strict=True
    )
    return [
        *(Group((axis,), (axis,)) for axis in range(first)),
        *middle,
        *(Group((old,), (new,)) for old, new in ends),
    ]


def _has_several_open(op: ir.Operation) -> bool:
    """Return whether several sizes are open before a view, or after it."""
    counts = [
        sum(type_.is_dynamic_dim(axis) for axis in range(type_.rank))
        for type_ in (own_type(op.operands[0].type), own_type(op.results[0].type))
    ]
    return max(counts) > 1


def _before(op: ir.Operation) -> list[Hashable]:
    type_ = own_type(op.operands[0].type)
    return [
        (op.operands[0], axis) if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
        for axis in range(type_.rank)
    ]


def _after(op: ir.Operation) -> list[Hashable] | None:
    """Return the sizes of a view; None if they are not listed one by one."""
    listed = producer(op.operands[1])
    if listed is None or listed.name != "torch.prim.ListConstruct":
        return None
    type_ = own_type(op.results[0].type)
    return [
        _size_key(size) if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
        for axis, size in enumerate(listed.operands)
    ]


def _size_key(size: ir.Value) -> Hashable:
    """Return the tensor and the axis that a size is read from, or else its value."""
    op = producer(size)
    if op is not None and op.name == "torch.aten.size.int":
        axis = constant_of(op.operands[1])
        if axis is not None and axis >= 0:
            return (op.operands[0], axis)
    return LEFT_OUT if constant_of(size) == LEFT_OUT else size


_PAD = "torch.aten.constant_pad_nd"
_LAST = (1 << 63) - 1


def write_cutting_pads(module: ir.Module) -> None:
    """Make each pad by known amounts, some of them negative, a pad of slices."""
    for op in operations(module.operation, {_PAD}):
        listed = producer(op.operands[1])
        amounts = [] if listed is None else [constant_of(value) for value in listed.operands]
        known = [amount for amount in amounts if amount is not None]
        if len(known) == len(amounts) and any(amount < 0 for amount in known):
            with op.location, ir.InsertionPoint(op):
                _write_pad(op, known)


def _write_pad(op: Any, amounts: list[int]) -> None:
    """Slice the operand of a pad by its negative amounts, and pad the slice by the others."""
    value = op.operands[0]
    sizes = list(own_type(value.type).shape)
    for back, (before, after) in enumerate(zip(amounts[::2], amounts[1::2], strict=True), 1):
        first, last = max(-before, 0), max(-after, 0)
        if not first and not last:
            continue
        axis = len(sizes) - back
        if sizes[axis] >= 0:
            sizes[axis] -= first + last
        bounds = axis, first, -last if last else _LAST, 1
        type_ = _with_sizes(value.type, sizes)
        operands = [value, *map(_torch_constant, bounds)]
        value = ir.Operation.create("torch.aten.slice.Tensor", [type_], operands).results[0]
    left = [_torch_constant(max(amount, 0)) for amount in amounts]
    type_ = ir.Type.parse("!torch.list<int>")
    op.operands[1] = ir.Operation.create("torch.prim.ListConstruct", [type_], left).results[0]
    op.operands[0] = value


def _torch_constant(number: int) -> ir.Value:
    attributes: dict[str, ir.Attribute] = {
        "value": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
    }
    type_ = ir.Type.parse("!torch.int")
    return ir.Operation.create("torch.constant.int", [type_], attributes=attributes).results[0]


def _with_sizes(type_: ir.Type, sizes: list[int]) -> ir.Type:
    """Return a type of torch's tensors with other sizes; negative ones are open."""
    _, _, element = str(type_).partition("],")
    shown = ",".join("?" if size < 0 else str(size) for size in sizes)
    return ir.Type.parse(f"!torch.vtensor<[{shown}],{element}")
