"""Destinations of another shape, and the reshapes that drop and add dimensions of one element."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.structured import extension as extension_ops
from linalg_ext.structured.constants import integer_constant
from linalg_ext.structured.extension import COMPUTE_TYPE
from linalg_ext.structured.maps import split_operands
from linalg_ext.structured.operands import producer
from linalg_ext.structured.outputs import filled

from ._views import ViewKind, view_of


def reads_destination(op: ir.Operation, position: int) -> bool:
    """Return whether what an output of a structured op held before matters to it.

    Args:
        op: the op.
        position: which of its outputs.
    """
    if op.name in extension_ops.NAMES:
        return op.name == extension_ops.CONTRACT and extension_ops.OVERWRITE not in op.attributes
    inputs, outputs = split_operands(op)
    arguments = list(op.regions[0].blocks[0].arguments)
    if len(arguments) != len(inputs) + len(outputs):
        return False  # linalg.map's body sees the inputs alone
    return any(True for _ in arguments[len(inputs) + position].uses)


def rearranged(
    value: ir.Value, axes: Sequence[int], added: Sequence[tuple[int, int]] = (), *, is_read: bool
) -> ir.Value | None:
    """A destination that holds what another does, with its axes in another order, made for nothing.

    It is built at the current insertion point.

    Args:
        value: the destination that there is, a tensor.
        axes: which of its axes the new one has, in their order; an axis that is left out has one
            element.
        added: new axes, as their places in the result and their sizes, in order.
        is_read: whether its elements matter.

    Returns:
        The new destination: empty, filled or constant as the old one is; None where its elements
        would have to be moved.
    """
    op = producer(value)
    if op is not None and COMPUTE_TYPE in op.attributes and is_read:
        return None
    if op is not None and op.name == "linalg.fill" and is_read:
        below = rearranged(op.operands[1], axes, added, is_read=False)
        return None if below is None else filled(op.operands[0], below)
    if op is not None and op.name == "arith.constant" and is_read:
        return _constant(op, value, axes, added)
    if is_read and (op is None or op.name != "tensor.empty"):
        return None if added else _before_transpose(value, axes)
    sizes: list[int | ir.Value] = [size_of(value, axis) for axis in axes]
    for place, size in added:
        sizes.insert(place, size)
    return empty(sizes, ir.ShapedType(value.type).element_type)


def _before_transpose(value: ir.Value, axes: Sequence[int]) -> ir.Value | None:
    """Return the source of a transposed destination, if its axes were in this order."""
    view = view_of(value)
    if view is None or view.kind is not ViewKind.TRANSPOSE:
        return None
    order = [view.axes.index(axis) for axis in axes]
    return view.source if order == list(range(view.rank)) else None


def _constant(
    op: ir.Operation, value: ir.Value, axes: Sequence[int], added: Sequence[tuple[int, int]]
) -> ir.Value | None:
    attribute = op.attributes["value"]
    shape = ir.ShapedType(value.type)
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return None
    sizes = [shape.get_dim_size(axis) for axis in axes]
    for place, size in added:
        sizes.insert(place, size)
    new = ir.RankedTensorType.get(sizes, shape.element_type)
    splat = ir.DenseElementsAttr.get_splat(new, attribute.get_splat_value())
    made = ir.Operation.create("arith.constant", results=[new], attributes={"value": splat})
    return made.results[0]


def size_of(value: ir.Value, axis: int) -> int | ir.Value:
    """The size of a tensor along an axis: a number, or a value made where it is dynamic."""
    shape = ir.ShapedType(value.type)
    if not shape.is_dynamic_dim(axis):
        return shape.get_dim_size(axis)
    op = producer(value)
    if op is not None and op.name == "tensor.empty":
        return op.operands[sum(shape.is_dynamic_dim(before) for before in range(axis))]
    size: ir.Value = tensor.DimOp(value, integer_constant(ir.IndexType.get(), axis)).result
    return size


def empty(sizes: Sequence[int | ir.Value], element: ir.Type) -> ir.Value:
    """A new tensor of these sizes."""
    made: ir.Value = tensor.EmptyOp(list(sizes), element).result
    return made


def transposed(
    value: ir.Value, permutation: Sequence[int], like: ir.Value | None = None
) -> ir.Value:
    """`linalg.transpose` into a new tensor: dimension `i` is dimension `permutation[i]` of it.

    Args:
        value: what is transposed.
        permutation: how.
        like: a tensor of the shape of the result, where its sizes are to be taken from there.
    """
    sizes = [
        size_of(value, axis) if like is None else size_of(like, place)
        for place, axis in enumerate(permutation)
    ]
    init = empty(sizes, ir.ShapedType(value.type).element_type)
    op = linalg.TransposeOp([init.type], value, init, list(permutation)).operation
    linalg.fill_builtin_region(op)
    return op.results[0]


def broadcast(value: ir.Value, sizes: Sequence[int | ir.Value], added: Sequence[int]) -> ir.Value:
    """A value, tensor or scalar, on a new tensor of these sizes, `added` those that it lacks."""
    if not isinstance(value.type, ir.ShapedType):
        return filled(value, empty(sizes, value.type))
    init = empty(sizes, ir.ShapedType(value.type).element_type)
    op = linalg.BroadcastOp([init.type], value, init, list(added)).operation
    linalg.fill_builtin_region(op)
    return op.results[0]


def squeezed(value: ir.Value, units: Sequence[int]) -> ir.Value:
    """A tensor without some of its axes, each of one element."""
    shape = ir.ShapedType(value.type)
    kept = [axis for axis in range(shape.rank) if axis not in units]
    dynamic = ir.ShapedType.get_dynamic_size()
    sizes = [dynamic if shape.is_dynamic_dim(a) else shape.get_dim_size(a) for a in kept]
    result = ir.RankedTensorType.get(sizes, shape.element_type)
    op = ir.Operation.create(
        "tensor.collapse_shape",
        results=[result],
        operands=[value],
        attributes={"reassociation": _groups(shape.rank, kept)},
    )
    return op.results[0]


def unsqueezed(value: ir.Value, like: ir.Value, units: Sequence[int]) -> ir.Value:
    """A tensor with axes of one element added, so that it has the shape of `like`."""
    shape = ir.ShapedType(like.type)
    kept = [axis for axis in range(shape.rank) if axis not in units]
    sizes = [size_of(like, axis) for axis in range(shape.rank)]
    dynamic = ir.ShapedType.get_dynamic_size()
    static = [
        dynamic if shape.is_dynamic_dim(a) else shape.get_dim_size(a) for a in range(shape.rank)
    ]
    op = ir.Operation.create(
        "tensor.expand_shape",
        results=[like.type],
        operands=[value, *(size for size in sizes if isinstance(size, ir.Value))],
        attributes={
            "reassociation": _groups(shape.rank, kept),
            "static_output_shape": ir.DenseI64ArrayAttr.get(static),
        },
    )
    return op.results[0]


def _groups(rank: int, kept: Sequence[int]) -> ir.ArrayAttr:
    """The axes of a longer shape for each axis of a shorter one: those kept begin a group."""
    index = ir.IntegerType.get_signless(64)
    starts = [0, *kept[1:], rank] if kept else [rank]
    groups = [range(start, end) for start, end in itertools.pairwise(starts)]
    return ir.ArrayAttr.get(
        [ir.ArrayAttr.get([ir.IntegerAttr.get(index, a) for a in group]) for group in groups]
    )
