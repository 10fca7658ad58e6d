"""Ops that put the elements of one operand in other places: each part is read from one part."""

from __future__ import annotations

from abc import abstractmethod

from linalg_ext.bindings import ir
from linalg_ext.gml_st.rules.bodies import on_operands
from linalg_ext.gml_st.rules.protocol import Rule, Take, TakeElement
from linalg_ext.symbolic.index_sets import Point, Tile

OPERAND, INIT = range(2)


class MovingRule(Rule):
    """The domain is the indices of the result."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self.destinations = (INIT,)

    @abstractmethod
    def read(self, part: Tile) -> Tile:
        """The part of the operand that a part of the result is read from."""

    @abstractmethod
    def demand_fit(self) -> None:
        """Assert what the types do not tell: that the operand fits the destination."""

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """Return the part of each operand that a part of the domain needs."""
        return self.read(part), part

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        self.demand_fit()
        operand, init = take(OPERAND, self.read(part)), take(INIT, part)
        return list(on_operands(self.op, [operand, init], [init.type]).results)

    def build_element(self, point: Point, take: TakeElement) -> list[ir.Value] | None:
        """The op at one point, on scalars."""
        self.demand_fit()
        read = self.read(Tile(point.indices, (1,) * point.rank))
        return [take(OPERAND, Point(read.offsets))]
