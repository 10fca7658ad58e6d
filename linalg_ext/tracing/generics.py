"""`linalg.generic` over tensors, of which each is read by its axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing.elements import Element, element_type
from linalg_ext.tracing.sizes import AnySize, Shape, Size
from linalg_ext.tracing.trace import Trace, at_users_line, running


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
    try:
        with ir.InsertionPoint(block):
            linalg.YieldOp([element.value for element in body(list(block.arguments))])
    except BaseException:
        # Half an op must not stay behind: a caller may catch the error, and go on.
        op.operation.erase()
        raise
    return list(op.results)


def read_map(
    source: ir.Value, axes: Sequence[int | None], own: Shape, shape: Shape
) -> ir.AffineMap:
    """Return the map by which a space of a shape reads a tensor: broadcast, and by axes.

    Args:
        source: the tensor.
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
    wanted: DType,
) -> ir.Value:
    """Build a tensor of a shape: another of a dtype, read by axes and cast to `wanted`."""
    with at_users_line():
        maps = [read_map(source, axes, shape, shape), identity_map(len(shape))]
        (value,) = generic(
            trace,
            [source],
            [empty(shape, wanted)],
            maps,
            ["parallel"] * len(shape),
            lambda arguments: [Element(arguments[0], dtype).to(wanted)],
        )
    return value


def identity_map(rank: int) -> ir.AffineMap:
    """The map of a space to a tensor of its own shape."""
    return ir.AffineMap.get_identity(rank)


def empty(shape: Shape, dtype: DType) -> ir.Value:
    """A tensor that is to be written."""
    trace = running()
    sizes: list[Any] = []
    for size in shape:
        size = trace.resolved(size) if trace else size
        sizes.append(trace.value(size) if trace and isinstance(size, Size) else size)
    result: ir.Value = tensor.EmptyOp(sizes, element_type(dtype)).result
    return result


def is_one(size: AnySize, trace: Trace | None) -> bool:
    """Return True where a size is known to be 1."""
    size = trace.resolved(size) if trace else size
    return not isinstance(size, Size) and size == 1
