"""Parts of tensors in the bodies of loops over subsets: sets, what they hold, and back to tiles."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext import gml_st
from linalg_ext.bindings import ir, tensor
from linalg_ext.errors import ArgumentError
from linalg_ext.gml_st.ir.op_views import FullView
from linalg_ext.gml_st.ir.sets import subset_of
from linalg_ext.gml_st.rules.protocol import Unserved
from linalg_ext.structured.indices.sizes import as_number, mixed_sizes, sizes_of
from linalg_ext.structured.utils.constants import integer_constant
from linalg_ext.structured.utils.operands import static_sizes
from linalg_ext.structured.utils.values import producer
from linalg_ext.symbolic.index_sets import Filter, Point, Tile, full
from linalg_ext.symbolic.integers import Number, is_eq


class Parts:
    """Takes parts of tensors at the insertion point; the same part of the same tensor once.

    One lives as long as the body that it builds.

    Args:
        taken: gets the ops that take parts, in their order.
    """

    def __init__(self, taken: list[ir.Operation] | None = None) -> None:
        self._taken = taken
        self._sets: dict[tuple[ir.Value, Tile | Point], ir.Value] = {}

    def set(self, source: ir.Value, part: Tile | Point) -> ir.Value:
        """The set that names a part of a tensor."""
        key = (source, part)
        if key not in self._sets:
            self._sets[key] = _set(source, part)
        return self._sets[key]

    def take(self, source: ir.Value, part: Tile | Point) -> ir.Value:
        """A part of a tensor, as a tensor of its own or as a scalar."""
        value = gml_st.materialize(source, self.set(source, part))
        if self._taken is not None:
            self._taken.append(ir.OpResult(value).owner.operation)
        return value


def _set(source: ir.Value, part: Tile | Point) -> ir.Value:
    if isinstance(part, Point):
        return gml_st.point(source, mixed_sizes(part.indices))
    known = [size if isinstance(size, int) else None for size in part.sizes]
    if is_whole(source, part) and known == static_sizes(source):
        return gml_st.full(source)
    return gml_st.tile(source, *map(mixed_sizes, (part.offsets, part.sizes, part.strides)))


def is_whole(source: ir.Value, part: Tile) -> bool:
    """Return whether a tile is known to be all of a tensor."""
    return all(
        is_eq(offset, 0) is True and is_eq(stride, 1) is True and is_eq(size, whole) is True
        for offset, size, stride, whole in zip(
            part.offsets, part.sizes, part.strides, sizes_of(source), strict=True
        )
    )


def part_of(set_: ir.Value) -> Tile | Point:
    """The part of its root that a set names; sizes may be read at the insertion point.

    Raises:
        Unserved: it is no rectangle, or it is not known how it was made.
    """
    op = producer(set_)
    if op is not None and op.name == "gml_st.full":
        return full(sizes_of(FullView.of(op).source))
    try:
        part = subset_of(set_, as_number)
    except ArgumentError as error:
        raise Unserved(error.what) from None
    if isinstance(part, Filter):
        raise Unserved("the elements of a filter are known at run time only")
    return part


def in_type(value: ir.Value, type_: ir.Type) -> ir.Value:
    """A tensor with its sizes known as well as a type knows them, at the insertion point."""
    return value if value.type == type_ else tensor.CastOp(type_, value).result


def element_of(value: ir.Value) -> ir.Value:
    """The one element of a tensor that has no more, at the insertion point."""
    zero = integer_constant(ir.IndexType.get(), 0)
    element: ir.Value = tensor.ExtractOp(value, [zero] * ir.ShapedType(value.type).rank).result
    return element


def empty(sizes: Sequence[Number], like: ir.Type) -> ir.Value:
    """`tensor.empty` of some sizes, at the insertion point."""
    value: ir.Value = tensor.EmptyOp(mixed_sizes(sizes), ir.ShapedType(like).element_type).result
    return value
