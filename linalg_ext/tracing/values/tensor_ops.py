"""Ops on tensors: `linalg.generic`, which reads each by its axes, and other shapes of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.runtime.dtypes import DType
from linalg_ext.structured.loops import whole_or_none
from linalg_ext.tracing.values.elements import Element, element_type
from linalg_ext.tracing.values.sizes import AnySize, Shape, Size, product_of, same
from linalg_ext.tracing.values.trace import Trace, at_users_line, running, static_sizes


def generic(
    trace: Trace,
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    maps: Sequence[ir.AffineMap],
    kinds: Sequence[str],
    body: Callable[[Sequence[ir.Value]], Sequence[Element]],
) -> list[ir.Value]:
    """`linalg.generic`, its body built by `body` of the block's arguments."""
    op = linalg.GenericOp(
        result_tensors=[output.type for output in outputs],
        inputs=list(inputs),
        outputs=list(outputs),
        indexing_maps=ir.ArrayAttr.get([ir.AffineMapAttr.get(map) for map in maps]),
        iterator_types=ir.ArrayAttr.get([trace.iterator(kind) for kind in kinds]),
    )
    elements = [ir.ShapedType(value.type).element_type for value in (*inputs, *outputs)]
    block = op.regions[0].blocks.append(*elements)
    with whole_or_none(op), ir.InsertionPoint(block):
        linalg.YieldOp([element.value for element in body(list(block.arguments))])
    return list(op.results)


def read_map(
    source: ir.Value, axes: Sequence[int | None], own: Shape, shape: Shape
) -> ir.AffineMap:
    """Return the map by which a space of a shape reads a tensor: broadcast, and by axes.

    Args:
        axes: for each axis of the value that it holds its dimension; None if absent.
        own: the shape of that value.
        shape: of the space, to which `own` broadcasts.
    """
    trace = running()
    offset = len(shape) - len(own)
    indices: list[ir.AffineExpr] = [ir.AffineConstantExpr.get(0)] * ir.ShapedType(source.type).rank
    for axis, dim in enumerate(axes):
        if dim is None:
            continue
        stretched = is_one(own[axis], trace) and not is_one(shape[offset + axis], trace)
        if not stretched:
            indices[dim] = ir.AffineDimExpr.get(offset + axis)
    return ir.AffineMap.get(len(shape), 0, indices)


def spread(
    trace: Trace,
    source: ir.Value,
    axes: Sequence[int | None],
    shape: Shape,
    dtype: DType,
    target: DType,
) -> ir.Value:
    """Build a tensor of a shape: another of a dtype, read by axes and cast to `target`."""
    with at_users_line():
        maps = [read_map(source, axes, shape, shape), identity_map(len(shape))]
        (value,) = generic(
            trace,
            [source],
            [empty(shape, target)],
            maps,
            ["parallel"] * len(shape),
            lambda arguments: [Element(arguments[0], dtype).to(target)],
        )
    return value


def identity_map(rank: int) -> ir.AffineMap:
    """Return the map of a space to a tensor of its own shape."""
    return ir.AffineMap.get_identity(rank)


def empty(shape: Shape, dtype: DType) -> ir.Value:
    """Return a tensor that is to be written."""
    return _empty(shape, element_type(dtype))


def _empty(shape: Shape, element: ir.Type) -> ir.Value:
    trace = running()
    sizes: list[Any] = []
    for size in shape:
        size = trace.resolved(size) if trace else size
        sizes.append(trace.value(size) if trace and isinstance(size, Size) else size)
    result: ir.Value = tensor.EmptyOp(sizes, element).result
    return result


def is_one(size: AnySize, trace: Trace | None) -> bool:
    """Return True where a size is known to be 1."""
    if not isinstance(size, Size):
        return size == 1
    resolved = trace.resolved(size) if trace else size
    return not isinstance(resolved, Size) and resolved == 1


Groups = list[tuple[list[int], list[int]]]


def reshaped_tensor(value: ir.Value, shape: Shape, target: Shape) -> ir.Value:
    """Return a tensor of one shape as one of the target shape, which has as many elements."""
    if any(same(size, 0) for size in (*shape, *target)):
        # Open sizes beside it say nothing of each other: there are no elements to be kept.
        with at_users_line():
            return _empty(target, ir.ShapedType(value.type).element_type)
    groups = matched(shape, target)
    middle = tuple(product_of(shape[axis] for axis in own) for own, _ in groups)
    with at_users_line():
        if len(middle) < len(shape):
            collapsed = [own for own, _ in groups]
            value = as_type(value, _type(value, shape))
            value = tensor.CollapseShapeOp(_type(value, middle), value, collapsed).result
        if len(middle) < len(target):
            expanded = [new for _, new in groups]
            value = _expand(value, expanded, target)
        return value


def _expand(value: ir.Value, groups: Sequence[Sequence[int]], target: Shape) -> ir.Value:
    sizes = static_sizes(target)
    trace = running()
    open_sizes = [
        trace.value(size)
        for size in target
        if trace is not None and isinstance(trace.resolved(size), Size)
    ]
    # An axis that is expanded has a known size where all of its parts have, and no other.
    source = ir.RankedTensorType.get(
        [_static_product(sizes, group) for group in groups], ir.ShapedType(value.type).element_type
    )
    result: ir.Value = tensor.ExpandShapeOp(
        _type(value, target), as_type(value, source), groups, open_sizes, sizes
    ).result
    return result


def as_type(value: ir.Value, target: ir.Type) -> ir.Value:
    """Cast a tensor to a type that says more of its sizes, or less, at the insertion point."""
    result: ir.Value = value if value.type == target else tensor.CastOp(target, value).result
    return result


def _static_product(sizes: Sequence[int], group: Sequence[int]) -> int:
    own = [sizes[axis] for axis in group]
    dynamic = ir.ShapedType.get_dynamic_size()
    return dynamic if dynamic in own else math.prod(own)


def _type(value: ir.Value, shape: Shape) -> ir.Type:
    return ir.RankedTensorType.get(static_sizes(shape), ir.ShapedType(value.type).element_type)


def matched(shape: Shape, target: Shape) -> Groups:
    """Return the finest pairs of groups of axes, one of each shape, that have as many elements.

    Axes of size 1 belong to a group beside them; without such a group, all go to no group.
    """
    if not shape or not target:
        return []
    groups: Groups = []
    left = right = 0
    while left < len(shape) or right < len(target):
        own, new = [left], [right]
        if left == len(shape) or right == len(target):
            # Only ones are left on one side: they go with the last group.
            groups[-1][0].extend(range(left, len(shape)))
            groups[-1][1].extend(range(right, len(target)))
            break
        x, y = shape[left], target[right]
        left, right = left + 1, right + 1
        while same(x, y) is not True:
            step = _next(x, y, left < len(shape), right < len(target))
            if step == "left":
                own.append(left)
                x, left = x * shape[left], left + 1
            elif step == "right":
                new.append(right)
                y, right = y * target[right], right + 1
            else:
                return [(list(range(len(shape))), list(range(len(target))))]
        groups.append((own, new))
    return groups


def _next(x: AnySize, y: AnySize, more_left: bool, more_right: bool) -> str:
    """Return the side that lacks a factor, `left` or `right`.

    The result is empty where the sizes do not decide it, or where that side has no axis left.
    """
    if isinstance(x, int) and isinstance(y, int):
        is_left = x < y
    elif isinstance(x, int) or (not isinstance(y, int) and same(y % x, 0)):
        is_left = True
    elif isinstance(y, int) or same(x % y, 0):
        is_left = False
    else:
        return ""
    return ("left" if more_left else "") if is_left else ("right" if more_right else "")
