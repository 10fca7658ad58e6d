"""Views of buffers whose elements are those that a band touches, one for each iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineConst, AffineDim, AffineExpr, AffineMap
from linalg_ext.errors import SubsetError
from linalg_ext.rewriting import MatchFailure
from linalg_ext.structured.sizes import sizes_of
from linalg_ext.structured.views import Placement, is_view, subview
from linalg_ext.symbolic.index_sets import Tile, check_within
from linalg_ext.symbolic.integers import Number, is_eq, maximum, total

from ._bands import Level, Linear


@dataclass(frozen=True)
class ElementView:
    """A view, and at which of its elements an iteration looks.

    Attributes:
        buffer: what it is a view of.
        placement: which part of it; None for all of it.
        indices: by the dimensions of the band.
    """

    buffer: ir.Value
    placement: Placement | None
    indices: tuple[AffineExpr, ...]

    def map(self, dims: Sequence[str]) -> AffineMap:
        """The indexing map."""
        return AffineMap(tuple(dims), (), self.indices)

    @property
    def dims(self) -> frozenset[str]:
        """The dimensions of the band by which it is indexed, of each index the first."""
        return frozenset(index.dims[0] for index in self.indices if index.dims)

    def value(self) -> ir.Value:
        """The view, at the insertion point."""
        return self.buffer if self.placement is None else subview(self.placement)


def element_view(
    buffer: ir.Value, indices: Sequence[Linear], levels: Sequence[Level], dims: Sequence[str]
) -> ElementView | MatchFailure:
    """The view of a buffer that begins where the first iteration looks and ends with the last.

    Args:
        buffer: a memref.
        indices: where an iteration looks, by the induction variables.
        levels: the loops.
        dims: a name for each.
    """
    if not is_view(buffer.type):
        return MatchFailure(f"a buffer of type {buffer.type} has no parts that are views")
    axes: list[_Axis] = []
    for index in indices:
        axis = _axis(index, levels, dims)
        if isinstance(axis, MatchFailure):
            return axis
        axes.append(axis)
    try:
        tile = Tile([a.offset for a in axes], [a.size for a in axes], [a.stride for a in axes])
        check_within(tile, sizes_of(buffer))
    except SubsetError:
        return MatchFailure("the access reaches beyond a buffer")
    kept = tuple(number for number, axis in enumerate(axes) if axis.index is not None)
    exprs = tuple(axis.index for axis in axes if axis.index is not None)
    is_whole = len(kept) == len(axes) and all(
        axis.offset == 0 and axis.stride == 1 and is_eq(axis.size, size) is True
        for axis, size in zip(axes, sizes_of(buffer), strict=True)
    )
    return ElementView(buffer, None if is_whole else Placement(buffer, tile, kept), exprs)


@dataclass(frozen=True)
class _Axis:
    """One axis of a view; without an index where all iterations look at one place of it."""

    offset: Number
    size: Number = 1
    stride: int = 1
    index: AffineExpr | None = None


def _axis(index: Linear, levels: Sequence[Level], dims: Sequence[str]) -> _Axis | MatchFailure:
    first = index.rest + total(
        f * each.lower for f, each in zip(index.factors, levels, strict=True)
    )
    moving = [
        (factor * level.step, level.count, AffineDim(dim))
        for factor, level, dim in zip(index.factors, levels, dims, strict=True)
        if factor
    ]
    if not moving:
        return _Axis(first)
    if len(moving) == 1:
        ((by, count, dim),) = moving
        if by > 0:
            return _Axis(first, count, by, dim)
        if not isinstance(count, int):
            return MatchFailure("the index runs backwards over an unknown distance")
        return _Axis(first + by * (count - 1), count, -by, AffineConst(count - 1) - dim)
    if any(by < 0 for by, _, _ in moving):
        return MatchFailure("an index is a difference of induction variables")
    last = total(by * (count - 1) for by, count, _ in moving)
    expr: AffineExpr = AffineConst(0)
    for by, _, dim in moving:
        expr = expr + dim * by
    return _Axis(first, maximum(last + 1, 0), 1, expr)
