"""Ops that put the elements of one operand in other places: each part is read from one part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.rules.protocol import Pair, Rule, TakeElement, known_size
from linalg_ext.structured.destination_ops import DynamicBroadcast, Reverse
from linalg_ext.structured.sizes import size_of, sizes_of
from linalg_ext.symbolic.index_sets import Point, Tile, tile_of
from linalg_ext.symbolic.integers import Number, equal, maximum, select

OPERAND, INIT = range(2)


class _MovingRule(Rule):
    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self.destinations = (INIT,)

    @abstractmethod
    def _read(self, part: Tile) -> Tile:
        """The part of the operand that a part of the result is read from."""

    def _parts(self, part: Tile) -> Sequence[Tile]:
        return self._read(part), part

    def _element(self, point: Point, take: TakeElement) -> list[ir.Value]:
        self._demand_fit()
        read = self._read(Tile(point.indices, (1,) * point.rank))
        return [take(OPERAND, Point(read.offsets))]


class ReverseRule(_MovingRule):
    """`linalg_ext.reverse`: the part at the mirrored place, itself reversed."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._view = Reverse.of(op)

    def _sizes(self) -> Sequence[Number]:
        both = zip(sizes_of(self._view.operand), sizes_of(self._view.init), strict=True)
        return [known_size(*pair) for pair in both]

    def _read(self, part: Tile) -> Tile:
        offsets: list[Number] = list(part.offsets)
        for dim in self._view.dimensions:
            last = part.offset(dim) + (part.size(dim) - 1) * part.stride(dim)
            # The last element of an empty part would lie before its first.
            offsets[dim] = maximum(0, self.domain.sizes[dim] - 1 - last)
        return Tile(offsets, part.sizes, part.strides)

    def _equal_sizes(self) -> Iterable[Pair]:
        sizes = self.domain.sizes
        shapes = (sizes_of(self._view.operand), sizes_of(self._view.init))
        return [pair for own in shapes for pair in zip(own, sizes, strict=True)]


class DynamicBroadcastRule(_MovingRule):
    """`linalg_ext.dynamic_broadcast_in_dim`: all of the expanded dimension, of size 1; a part of
    the rest.

    Where only the run knows whether a dimension expands, it also tells the offset and the size.
    """

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._view = DynamicBroadcast.of(op)

    def _sizes(self) -> Sequence[Number]:
        return sizes_of(self._view.init)

    def _read(self, part: Tile) -> Tile:
        numbers: list[tuple[Number, Number, Number]] = []
        for dim, axis in enumerate(self._view.broadcast_dimensions):
            own = (part.offset(axis), part.size(axis), part.stride(axis))
            expands = self._view.expands(dim)
            if expands is None:
                is_one = equal(size_of(self._view.operand, dim), 1)
                offset, size = (
                    select(is_one, number, own_number)
                    for number, own_number in zip((0, 1), own[:2], strict=True)
                )
                numbers.append((offset, size, own[2]))
            else:
                numbers.append((0, 1, 1) if expands else own)
        return tile_of(numbers)

    def _equal_sizes(self) -> Iterable[Pair]:
        pairs: list[Pair] = []
        for dim, axis in enumerate(self._view.broadcast_dimensions):
            size, result_size = size_of(self._view.operand, dim), self.domain.sizes[axis]
            expands = self._view.expands(dim)
            if expands is None:
                pairs.append((size, select(equal(size, 1), 1, result_size)))
            else:
                pairs.append((size, 1 if expands else result_size))
        return pairs
