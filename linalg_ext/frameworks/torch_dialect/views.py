"""Views with several open sizes, grouped by what the ops themselves tell.

torch-mlir takes all but one of the open sizes that it cannot tell apart for 1. Axes that stay as
they are, from the first on and from the last back, need not be told apart; what is between them has
as many elements before as after.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from linalg_ext.bindings import ir
from linalg_ext.frameworks.torch_dialect.own_tensors import own_type
from linalg_ext.frameworks.torch_dialect.reshaping import (
    LEFT_OUT,
    VIEWS,
    Group,
    constant_of,
    write_reshape,
)
from linalg_ext.structured.operands import producer
from linalg_ext.transforms.ir_utils.walking import operations

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
    """Groups of one axis each at both ends, and one of all that is between them.

    Args:
        before: what tells each size of a tensor from others: equal ones are equal sizes.
        after: the same of a view of it.

    Returns:
        The groups; None where one side has no axes at all.
    """
    first = 0
    shorter = min(len(before), len(after))
    while first < shorter and before[first] == after[first]:
        first += 1
    last = 0
    while last < shorter - first and before[-1 - last] == after[-1 - last]:
        last += 1
    if (first + last == len(before)) != (first + last == len(after)):
        # Axes of one element alone came or went: they go with a neighbour.
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
    """The sizes of a view; None where they are not listed one by one."""
    listed = producer(op.operands[1])
    if listed is None or listed.name != "torch.prim.ListConstruct":
        return None
    type_ = own_type(op.results[0].type)
    return [
        _asked(size) if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
        for axis, size in enumerate(listed.operands)
    ]


def _asked(size: ir.Value) -> Hashable:
    """The tensor and the axis that a size is asked of; else the value that it is."""
    op = producer(size)
    if op is not None and op.name == "torch.aten.size.int":
        axis = constant_of(op.operands[1])
        if axis is not None and axis >= 0:
            return (op.operands[0], axis)
    return LEFT_OUT if constant_of(size) == LEFT_OUT else size
