"""Arrangements of elements: values that are views of others, and destinations in another order.

A view says, for each dimension of its source, by which of its own axes that is read. An op that
reads a view can read the source instead, by other indices: this is called folding here. Exporters
write a transpose or a broadcast as a `linalg.generic` too, which yields its input: such an op is
recognized by its maps and its body.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.definition.operand_maps import Indices
from linalg_ext.structured import extension as extension_ops
from linalg_ext.structured.extension import COMPUTE_TYPE
from linalg_ext.structured.maps import collapsed_tensor, groups_of, indexing_maps, split_operands
from linalg_ext.structured.mixed import mixed_operands
from linalg_ext.structured.operands import producer
from linalg_ext.structured.outputs import filled
from linalg_ext.structured.sizes import dim_of
from linalg_ext.symbolic.affine import AffineConst, AffineDim

Axes = tuple[int | None, ...]
"""For each dimension of a source the axis of the view that it is read by; None where it is 0."""


class ViewKind(Enum):
    """The change that an op makes to the arrangement of elements."""

    TRANSPOSE = "transpose"
    BROADCAST = "broadcast"
    RESHAPE = "reshape"


@dataclass(frozen=True)
class View:
    """A value as an arrangement of another one.

    Attributes:
        kind: the op that arranges it.
        source: the value whose elements it shows; a scalar where it shows that everywhere.
        axes: how the source is read.
        rank: the number of dimensions of the view.
    """

    kind: ViewKind
    source: ir.Value
    axes: Axes
    rank: int

    def indices(self, of_view: Indices) -> Indices:
        """Return the indices of the source for those of the view."""
        zero = AffineConst(0)
        return tuple(zero if axis is None else of_view[axis] for axis in self.axes)


@dataclass(frozen=True)
class Reading:
    """One way to read an operand: a value, by indices; `kind` of the last view looked through."""

    value: ir.Value
    indices: Indices
    kind: ViewKind | None = None


def readings(value: ir.Value, indices: Indices, kinds: Collection[ViewKind]) -> Iterator[Reading]:
    """Yield the ways to read an operand: as it is, then through more and more views."""
    reading = Reading(value, indices)
    yield reading
    while (view := view_of(reading.value)) is not None and view.kind in kinds:
        reading = Reading(view.source, view.indices(reading.indices), view.kind)
        yield reading


def view_of(value: ir.Value) -> View | None:
    op = producer(value)
    # With a compute type of its own an op rounds the elements it moves.
    if op is None or not is_plain_tensor(value.type) or COMPUTE_TYPE in op.attributes:
        return None
    reader = _READERS.get(op.name)
    view = None if reader is None else reader(op, ir.ShapedType(value.type).rank)
    if view is None:
        return None
    is_tensor = isinstance(view.source.type, ir.ShapedType)
    return None if is_tensor and not is_plain_tensor(view.source.type) else view


def is_unit(value: ir.Value, axis: int) -> bool:
    shape = ir.ShapedType(value.type)
    return not shape.is_dynamic_dim(axis) and shape.get_dim_size(axis) == 1


def is_plain_tensor(type_: ir.Type) -> bool:
    """Return whether a tensor has no encoding, which might say how its elements are arranged."""
    return isinstance(type_, ir.RankedTensorType) and type_.encoding is None


def _transpose(op: ir.Operation, rank: int) -> View:
    permutation = list(ir.DenseI64ArrayAttr(op.attributes["permutation"]))
    axes = tuple(permutation.index(axis) for axis in range(rank))
    return View(ViewKind.TRANSPOSE, op.operands[0], axes, rank)


def _broadcast(op: ir.Operation, rank: int) -> View:
    added = set(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
    axes = tuple(axis for axis in range(rank) if axis not in added)
    return View(ViewKind.BROADCAST, op.operands[0], axes, rank)


def _fill(op: ir.Operation, rank: int) -> View | None:
    value = op.operands[0]
    same = value.type == ir.ShapedType(op.results[0].type).element_type
    return View(ViewKind.BROADCAST, value, (), rank) if same and rank else None


def _generic(op: ir.Operation, rank: int) -> View | None:
    """Read a generic that yields its one input, and writes every element of its output."""
    if not yields_its_input(op):
        return None
    read, written = indexing_maps(op)
    if not written.is_projected_permutation or len(written.results) != len(written.dims):
        return None
    axes = tuple(
        written.results.index(index) if isinstance(index, AffineDim) else None
        for index in read.results
    )
    source = op.operands[0]
    for dim, (index, axis) in enumerate(zip(read.results, axes, strict=True)):
        if axis is None and (index != AffineConst(0) or not is_unit(source, dim)):
            return None
    used = [axis for axis in axes if axis is not None]
    if len(set(used)) != len(used):
        return None  # a diagonal
    if axes == tuple(range(rank)):
        return None  # a copy
    kind = ViewKind.TRANSPOSE if len(used) == len(axes) == rank else ViewKind.BROADCAST
    return View(kind, source, axes, rank)


def yields_its_input(generic: ir.Operation) -> bool:
    """Return whether a generic has one input and one output, and yields the input as it is."""
    body = generic.regions[0].blocks[0]
    yielded = body.operations[0].operation
    is_yield = len(generic.operands) == 2 and yielded.name == "linalg.yield"
    return is_yield and yielded.operands[0] == body.arguments[0]


def _expand(op: ir.Operation, rank: int) -> View | None:
    """Read a `tensor.expand_shape` that only adds dimensions of one element."""
    result = op.results[0]
    axes: list[int | None] = []
    for group in groups_of(op):
        axis = _only_long(result, group)
        if axis is None:
            return None
        axes.append(axis)
    return View(ViewKind.RESHAPE, op.operands[0], tuple(axes), rank)


def _collapse(op: ir.Operation, rank: int) -> View | None:
    """Read a `tensor.collapse_shape` that only drops dimensions of one element."""
    source = op.operands[0]
    axes: list[int | None] = [None] * ir.ShapedType(source.type).rank
    for axis, group in enumerate(groups_of(op)):
        long_axis = _only_long(source, group)
        if long_axis is None:
            return None
        axes[long_axis] = axis
    return View(ViewKind.RESHAPE, source, tuple(axes), rank)


def _only_long(value: ir.Value, group: Sequence[int]) -> int | None:
    """Return the only axis of a group that may have several elements, or the first if none has."""
    long = [axis for axis in group if not is_unit(value, axis)]
    if len(long) > 1:
        return None
    return long[0] if long else group[0]


_READERS = {
    "linalg.transpose": _transpose,
    "linalg.broadcast": _broadcast,
    "linalg.fill": _fill,
    "linalg.generic": _generic,
    "tensor.expand_shape": _expand,
    "tensor.collapse_shape": _collapse,
}


def reads_destination(op: ir.Operation, position: int) -> bool:
    """Return whether the former elements of an output matter to a structured op."""
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
    """Return a destination with the contents of another in another order of axes, without a copy.

    It is built at the current insertion point.

    Args:
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
    for position, size in added:
        sizes.insert(position, size)
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
    for position, size in added:
        sizes.insert(position, size)
    new = ir.RankedTensorType.get(sizes, shape.element_type)
    splat = ir.DenseElementsAttr.get_splat(new, attribute.get_splat_value())
    constant = ir.Operation.create("arith.constant", results=[new], attributes={"value": splat})
    return constant.results[0]


def size_of(value: ir.Value, axis: int) -> int | ir.Value:
    """Return the size of a tensor along an axis: a number, or a value made where it is dynamic."""
    shape = ir.ShapedType(value.type)
    if not shape.is_dynamic_dim(axis):
        return shape.get_dim_size(axis)
    op = producer(value)
    if op is not None and op.name == "tensor.empty":
        return op.operands[sum(shape.is_dynamic_dim(before) for before in range(axis))]
    return dim_of(value, axis)


def empty(sizes: Sequence[int | ir.Value], element: ir.Type) -> ir.Value:
    return tensor.EmptyOp(list(sizes), element).result


def transposed(
    value: ir.Value, permutation: Sequence[int], like: ir.Value | None = None
) -> ir.Value:
    """Build a `linalg.transpose` into a new tensor: its dimension i is dimension `permutation[i]`.

    The sizes are taken from `like` where it is given, a tensor of the shape of the result.
    """
    sizes = [
        size_of(value, axis) if like is None else size_of(like, position)
        for position, axis in enumerate(permutation)
    ]
    init = empty(sizes, ir.ShapedType(value.type).element_type)
    op = linalg.TransposeOp([init.type], value, init, list(permutation)).operation
    linalg.fill_builtin_region(op)
    return op.results[0]


def broadcast(value: ir.Value, sizes: Sequence[int | ir.Value], added: Sequence[int]) -> ir.Value:
    """Broadcast a tensor or scalar to a new tensor of sizes; it lacks the dimensions `added`."""
    if not isinstance(value.type, ir.ShapedType):
        return filled(value, empty(sizes, value.type))
    init = empty(sizes, ir.ShapedType(value.type).element_type)
    op = linalg.BroadcastOp([init.type], value, init, list(added)).operation
    linalg.fill_builtin_region(op)
    return op.results[0]


def squeezed(value: ir.Value, units: Collection[int]) -> ir.Value:
    """Return a tensor without some of its axes, each of one element."""
    if not units:
        return value
    groups = _groups(ir.ShapedType(value.type).rank, units)
    return tensor.CollapseShapeOp(collapsed_tensor(value.type, groups), value, groups).result


def unsqueezed(value: ir.Value, like: ir.Value, units: Collection[int]) -> ir.Value:
    """Return a tensor with axes of one element added, so that it has the shape of `like`."""
    if not units:
        return value
    rank = ir.ShapedType(like.type).rank
    sizes = [size_of(like, axis) for axis in range(rank)]
    return expanded(value, like.type, _groups(rank, units), sizes)


def expanded(
    value: ir.Value, type_: ir.Type, groups: list[list[int]], sizes: Sequence[int | ir.Value]
) -> ir.Value:
    dynamic, static = mixed_operands(sizes)
    return tensor.ExpandShapeOp(type_, value, groups, dynamic, static).result


def _groups(rank: int, units: Collection[int]) -> list[list[int]]:
    """Return the axes of a longer shape for each axis that stays: those that stay begin a group."""
    remaining = [axis for axis in range(rank) if axis not in units]
    starts = [0, *remaining[1:], rank] if remaining else [rank]
    return [list(range(start, end)) for start, end in itertools.pairwise(starts)]
