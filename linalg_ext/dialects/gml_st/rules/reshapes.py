"""`tensor.expand_shape`, `collapse_shape` and `cast`: the same elements under another shape.

A part of a group of dimensions is a run of the one dimension that they stand for where its outer
dimensions are one index each and its inner ones are whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain

from linalg_ext.bindings import ir, tensor
from linalg_ext.dialects.gml_st.rules.protocol import Rule, Take, TakeElement, Unserved
from linalg_ext.structured.maps import collapsed_tensor, groups_of
from linalg_ext.structured.mixed import mixed_operands
from linalg_ext.structured.sizes import mixed_sizes, sizes_of, tensor_type
from linalg_ext.symbolic.index_sets import Point, Tile, tile_of
from linalg_ext.symbolic.integers import Number, floordiv, is_eq, modulo, product


class CastRule(Rule):
    """`tensor.cast`: a part is a part of the source; its sizes are known as well as before."""

    def _parts(self, part: Tile) -> Sequence[Tile | None]:
        return (part,)

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        return [take(0, part)]

    def _element(self, point: Point, take: TakeElement) -> list[ir.Value]:
        return [take(0, point)]


class _ReshapeRule(Rule):
    """An op with groups of dimensions on one side, and a dimension for each on the other."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._groups = groups_of(op)
        if not self._groups:
            raise Unserved(f"{op.name} of a tensor of rank 0 has one part")

    def _refuse(self, group: list[int]) -> Unserved:
        dims = ", ".join(map(str, group))
        return Unserved(
            f"a part of the dimensions {dims} of {self.op.name} is not a run of elements"
        )


class ExpandShapeRule(_ReshapeRule):
    """A dimension of the source becomes a group."""

    def _source(self, part: Tile) -> Tile:
        runs = [self._run(part, group) for group in self._groups]
        return Tile([run[0] for run in runs], [run[1] for run in runs])

    def _run(self, part: Tile, group: list[int]) -> tuple[Number, Number]:
        long = [dim for dim in group if is_eq(part.size(dim), 1) is not True]
        outer = long[0] if long else group[-1]
        inner = [dim for dim in group if dim > outer]
        if not all(self.domain.spans(part, dim) for dim in inner):
            raise self._refuse(group)
        if long and is_eq(part.stride(outer), 1) is not True:
            raise self._refuse(group)
        sizes = self.domain.sizes
        offset: Number = 0
        for dim in group:
            offset = offset * sizes[dim] + part.offset(dim)
        length = part.size(outer) * product([sizes[dim] for dim in inner])
        return offset, length

    def _parts(self, part: Tile) -> Sequence[Tile | None]:
        return (self._source(part), *[None] * (len(self.op.operands) - 1))

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        source = self._source(part)
        type_ = tensor_type(part.sizes, self.op.results[0].type)
        return [_expanded(take(0, source), part.sizes, type_, self._groups)]


class CollapseShapeRule(_ReshapeRule):
    """A group of dimensions of the source becomes one."""

    @cached_property
    def _source_sizes(self) -> tuple[Number, ...]:
        return sizes_of(self.op.operands[0])

    def _sizes(self) -> Sequence[Number]:
        return tuple(product([self._source_sizes[dim] for dim in g]) for g in self._groups)

    def _source(self, part: Tile) -> Tile:
        boxes = (self._box(part, axis, group) for axis, group in enumerate(self._groups))
        return tile_of([*chain.from_iterable(boxes)])

    def _box(self, part: Tile, axis: int, group: list[int]) -> list[tuple[Number, Number, Number]]:
        """Offset, size and stride in each dimension of a group."""
        sizes = [self._source_sizes[dim] for dim in group]
        whole: list[tuple[Number, Number, Number]] = [(0, size, 1) for size in sizes]
        if self.domain.spans(part, axis):
            return whole
        offset, size, stride = part.offset(axis), part.size(axis), part.stride(axis)
        long = [dim for dim, length in enumerate(sizes) if length != 1]
        if len(long) <= 1:
            whole[long[0] if long else -1] = (offset, size, stride)
            return whole
        if is_eq(stride, 1) is not True:
            raise self._refuse(group)
        # From outside inwards: one index each, until the remaining rows are whole.
        for dim in range(len(group)):
            inner = product(sizes[dim + 1 :])
            if not isinstance(inner, int) or inner == 0:
                raise self._refuse(group)
            if modulo(offset, inner) == 0 and modulo(size, inner) == 0:
                whole[dim] = (floordiv(offset, inner), floordiv(size, inner), 1)
                return whole
            whole[dim] = (floordiv(offset, inner), 1, 1)
            offset = modulo(offset, inner)
            if is_eq(floordiv(offset + size - 1, inner), 0) is not True:
                raise self._refuse(group)
        raise self._refuse(group)

    def _parts(self, part: Tile) -> Sequence[Tile | None]:
        return (self._source(part),)

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        source = self._source(part)
        type_ = tensor_type(part.sizes, self.op.results[0].type)
        value = take(0, source)
        inferred = collapsed_tensor(value.type, self._groups)
        collapsed: ir.Value = tensor.CollapseShapeOp(inferred, value, self._groups).result
        return [collapsed if inferred == type_ else tensor.CastOp(type_, collapsed).result]


def _expanded(
    source: ir.Value, sizes: tuple[Number, ...], type_: ir.Type, groups: Sequence[Sequence[int]]
) -> ir.Value:
    # An axis of the source must be static where its group in the result is.
    expected = collapsed_tensor(type_, groups)
    if expected != source.type:
        source = tensor.CastOp(expected, source).result
    dynamic, static = mixed_operands(mixed_sizes(sizes))
    return tensor.ExpandShapeOp(type_, source, groups, dynamic, static).result
