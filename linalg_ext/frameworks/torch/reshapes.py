"""Views with several open sizes, written as MLIR's own reshapes before torch-mlir sees them.

torch-mlir takes all but one of the open sizes that it cannot tell apart for 1. PyTorch has told
them apart while it traced: which of them belong together follows from their symbols.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, func, ir, tensor
from linalg_ext.frameworks.torch import graphs
from linalg_ext.frameworks.torch.own_tensors import converted, own_type
from linalg_ext.structured.values import producer
from linalg_ext.transforms.lowering._walk import operations, replace_op

_VIEWS = ("torch.aten.view", "torch.aten._unsafe_view", "torch.aten.reshape")

_NAME = "linalg_ext.reshape"

Size = Any
"""An int, or a SymInt of PyTorch's."""


@dataclass(frozen=True)
class Group:
    """Neighbouring axes before and after, that have as many elements.

    Attributes:
        before: the axes that become one.
        after: the axes that this one becomes.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]


def write_reshapes(module: ir.Module, graph: Any) -> None:
    """Make each view in torch's dialect that has open sizes a call of a function in tensor.

    Args:
        module: the graph's, as it was imported: what its ops are called is in their locations.
        graph: that PyTorch has traced.
    """
    nodes = {node.name: node for node in graphs.calls(graph)}
    for number, op in enumerate(operations(module.operation, _VIEWS)):
        name = graphs.name_in(str(op.location), nodes)
        if name is None:
            continue
        before, after = (each.meta["val"].shape for each in (nodes[name].args[0], nodes[name]))
        groups = grouped(before, after) if _is_open(after) else None
        if groups is not None:
            with op.location:
                _write(module, op, f"{_NAME}.{number}", groups)


def _is_open(shape: Sequence[Size]) -> bool:
    return not all(isinstance(size, int) for size in shape)


def grouped(before: Sequence[Size], after: Sequence[Size]) -> list[Group] | None:
    """The smallest groups of axes, outermost first; None where a symbol is not known of.

    Args:
        before: the sizes of what is viewed.
        after: those of the view.
    """
    groups: list[Group] = []
    left, right = list(range(len(before))), list(range(len(after)))
    while left and right:
        found = _first(left, right, before, after)
        if found is None:
            return None
        groups.append(found)
        left, right = left[len(found.before) :], right[len(found.after) :]
    if not groups or not all(_is_one(before[axis]) for axis in left):
        return None
    if not all(_is_one(after[axis]) for axis in right):
        return None
    last = groups.pop()
    return [*groups, Group((*last.before, *left), (*last.after, *right))]


def _first(
    left: list[int], right: list[int], before: Sequence[Size], after: Sequence[Size]
) -> Group | None:
    """The smallest group that the first of some axes are in."""
    counts = [(i, j) for i in range(1, len(left) + 1) for j in range(1, len(right) + 1)]
    for i, j in sorted(counts, key=sum):
        group = Group(tuple(left[:i]), tuple(right[:j]))
        if _is_same(
            _product(before[axis] for axis in group.before),
            _product(after[axis] for axis in group.after),
        ):
            return group
    return None


def _product(sizes: Any) -> Any:
    """The product of sizes, as a number or an expression of SymPy's."""
    return math.prod(size if isinstance(size, int) else size.node.expr for size in sizes)


def _is_same(one: Any, other: Any) -> bool:
    difference = one - other
    return bool((difference if isinstance(difference, int) else difference.expand()) == 0)


def _is_one(size: Size) -> bool:
    return isinstance(size, int) and size == 1


def _write(module: ir.Module, op: ir.Operation, symbol: str, groups: Sequence[Group]) -> None:
    """Put in the place of a view the call of a function that reshapes by groups."""
    result = own_type(op.results[0].type)
    listed = producer(op.operands[1])
    given = [] if listed is None else list(listed.operands)
    open_ = [
        axis
        for axis, size in enumerate(given)
        if result.is_dynamic_dim(axis) and not _is_left_out(size)
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


def _is_left_out(size: ir.Value) -> bool:
    """Whether a size is the -1 that stands for what the others leave."""
    op = producer(size)
    return (
        op is not None
        and op.name == "torch.constant.int"
        and ir.IntegerAttr(op.attributes["value"]).value == -1
    )


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
    element, before = result.element_type, [group.before for group in groups]
    if any(len(axes) > 1 for axes in before):
        sizes = [_static(source.type, axes) for axes in before]
        type_ = ir.RankedTensorType.get(sizes, element)
        source = tensor.CollapseShapeOp(type_, source, before).result
    after = [group.after for group in groups]
    if all(len(axes) == 1 for axes in after):
        return _cast(source, result)
    source = _cast(source, ir.RankedTensorType.get([_static(result, a) for a in after], element))
    open_ = [
        _size(source, place, axis, axes, result, known)
        for place, axes in enumerate(after)
        for axis in axes
        if result.is_dynamic_dim(axis)
    ]
    return tensor.ExpandShapeOp(result, source, after, open_, list(result.shape)).result


def _cast(value: Any, type_: ir.RankedTensorType) -> Any:
    return value if value.type == type_ else tensor.cast(type_, value)


def _static(type_: ir.RankedTensorType, axes: Sequence[int]) -> int:
    """How many elements some axes have together, as a type says it."""
    if any(type_.is_dynamic_dim(axis) for axis in axes):
        return ir.ShapedType.get_dynamic_size()
    return math.prod(type_.get_dim_size(axis) for axis in axes)


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
