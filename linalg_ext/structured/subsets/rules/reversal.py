"""`linalg_ext.reverse`: the part at the mirrored place, itself reversed."""

from __future__ import annotations

from functools import cached_property

from linalg_ext.analysis.numbers import Number, maximum
from linalg_ext.analysis.subsets import Point, Tile
from linalg_ext.bindings import ir
from linalg_ext.structured.destination_ops import Reverse
from linalg_ext.structured.subsets.rules.bodies import on_operands
from linalg_ext.structured.subsets.rules.demands import demand, known_size
from linalg_ext.structured.subsets.rules.protocol import (
    PARALLEL,
    Domain,
    Rule,
    Take,
    TakeElement,
)
from linalg_ext.structured.subsets.rules.sizes import sizes_of

OPERAND, INIT = range(2)


class ReverseRule(Rule):
    """The domain is the indices of the result."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self.destinations = (INIT,)
        self._view = Reverse.of(op)

    @cached_property
    def domain(self) -> Domain:
        """The indices of the result."""
        both = zip(sizes_of(self._view.operand), sizes_of(self._view.init), strict=True)
        sizes = tuple(known_size(*each) for each in both)
        return Domain(sizes, (PARALLEL,) * len(sizes))

    def _mirrored(self, part: Tile) -> Tile:
        offsets: list[Number] = list(part.offsets)
        for dim in self._view.dimensions:
            last = part.offset(dim) + (part.size(dim) - 1) * part.stride(dim)
            # Of a part of nothing the last would lie before the first.
            offsets[dim] = maximum(0, self.domain.sizes[dim] - 1 - last)
        return Tile(offsets, part.sizes, part.strides)

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """What each operand is needed in."""
        return self._mirrored(part), part

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        self._demand_fit()
        operand, init = take(OPERAND, self._mirrored(part)), take(INIT, part)
        return list(on_operands(self.op, [operand, init], [init.type]).results)

    def build_element(self, point: Point, take: TakeElement) -> list[ir.Value] | None:
        """The op at one point, on scalars."""
        self._demand_fit()
        mirrored = self._mirrored(Tile(point.indices, (1,) * point.rank))
        return [take(OPERAND, Point(mirrored.offsets))]

    def _demand_fit(self) -> None:
        sizes = self.domain.sizes
        given = (sizes_of(self._view.operand), sizes_of(self._view.init))
        demand(self.op, equal=[pair for own in given for pair in zip(own, sizes, strict=True)])
