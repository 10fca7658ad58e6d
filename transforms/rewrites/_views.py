"""Values that show the elements of another in a new arrangement: transposed, broadcast, reshaped.

A view says, for each dimension of its source, by which of its own axes that is read. An op that
reads a view can read the source instead, by other indices: that is what folding means here.
Exporters write a transpose or a broadcast as a `linalg.generic` too, which yields what it reads:
such an op is recognized by its maps and its body.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineConst, AffineDim, AffineExpr
from linalg_ext.definition.operand_maps import Indices
from linalg_ext.structured.extension import COMPUTE_TYPE
from linalg_ext.structured.maps import groups_of, indexing_maps
from linalg_ext.structured.operands import producer

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
        kind: what arranges it.
        source: the value whose elements it shows; a scalar where it shows that everywhere.
        axes: how the source is read.
        rank: the number of dimensions of the view.
    """

    kind: ViewKind
    source: ir.Value
    axes: Axes
    rank: int

    def indices(self, of_view: Indices) -> Indices:
        """By what the source is read where the view is read by `of_view`."""
        zero = AffineConst(0)
        return tuple(zero if axis is None else of_view[axis] for axis in self.axes)


@dataclass(frozen=True)
class Reading:
    """One way to read an operand: a value, by indices; `kind` of the last view looked through."""

    value: ir.Value
    indices: Indices
    kind: ViewKind | None = None


def readings(value: ir.Value, indices: Indices, kinds: Collection[ViewKind]) -> Iterator[Reading]:
    """The ways to read an operand: as it stands, then looking through more and more views."""
    reading = Reading(value, indices)
    yield reading
    while (view := view_of(reading.value)) is not None and view.kind in kinds:
        reading = Reading(view.source, view.indices(reading.indices), view.kind)
        yield reading


def view_of(value: ir.Value) -> View | None:
    """Return the view that a tensor is; None if it is not one."""
    op = producer(value)
    # With a compute type of its own an op rounds what it moves.
    if op is None or not _is_plain_tensor(value) or COMPUTE_TYPE in op.attributes:
        return None
    reader = _READERS.get(op.name)
    view = None if reader is None else reader(op, ir.ShapedType(value.type).rank)
    if view is None:
        return None
    is_tensor = isinstance(view.source.type, ir.ShapedType)
    return None if is_tensor and not _is_plain_tensor(view.source) else view


def is_unit(value: ir.Value, axis: int) -> bool:
    """Return whether a tensor is known to have one element along an axis."""
    shape = ir.ShapedType(value.type)
    return not shape.is_dynamic_dim(axis) and shape.get_dim_size(axis) == 1


def _is_plain_tensor(value: ir.Value) -> bool:
    """A ranked tensor without an encoding, which might say how its elements are arranged."""
    return isinstance(value.type, ir.RankedTensorType) and value.type.encoding is None


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
    """A generic that yields its one input, and writes every element of its output."""
    body = op.regions[0].blocks[0]
    yielded = body.operations[0].operation
    if len(op.operands) != 2 or yielded.name != "linalg.yield":
        return None
    if yielded.operands[0] != body.arguments[0]:
        return None
    read, written = indexing_maps(op)
    if not written.is_projected_permutation or len(written.results) != len(written.dims):
        return None
    axes = tuple(_axis(index, written.results) for index in read.results)
    source = op.operands[0]
    for dim, (index, axis) in enumerate(zip(read.results, axes, strict=True)):
        if axis is None and (index != AffineConst(0) or not is_unit(source, dim)):
            return None
    known = [axis for axis in axes if axis is not None]
    if len(set(known)) != len(known):
        return None  # a diagonal
    if axes == tuple(range(rank)):
        return None  # a copy
    kind = ViewKind.TRANSPOSE if len(known) == len(axes) == rank else ViewKind.BROADCAST
    return View(kind, source, axes, rank)


def _axis(index: AffineExpr, written: Sequence[AffineExpr]) -> int | None:
    return written.index(index) if isinstance(index, AffineDim) else None


def _expand(op: ir.Operation, rank: int) -> View | None:
    """`tensor.expand_shape` that only adds dimensions of one element."""
    result = op.results[0]
    axes: list[int | None] = []
    for group in groups_of(op):
        axis = _only_long(result, group)
        if axis is None:
            return None
        axes.append(axis)
    return View(ViewKind.RESHAPE, op.operands[0], tuple(axes), rank)


def _collapse(op: ir.Operation, rank: int) -> View | None:
    """`tensor.collapse_shape` that only drops dimensions of one element."""
    source = op.operands[0]
    axes: list[int | None] = [None] * ir.ShapedType(source.type).rank
    for axis, group in enumerate(groups_of(op)):
        kept = _only_long(source, group)
        if kept is None:
            return None
        axes[kept] = axis
    return View(ViewKind.RESHAPE, source, tuple(axes), rank)


def _only_long(value: ir.Value, group: Sequence[int]) -> int | None:
    """The one axis of a group that has more than one element, or may have; the first if none."""
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
