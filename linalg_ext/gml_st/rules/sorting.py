"""`linalg_ext.sort`: what is sorted stays whole, and everything across it is independent."""

from __future__ import annotations

from functools import cached_property

from linalg_ext.bindings import ir
from linalg_ext.gml_st.rules.bodies import on_operands
from linalg_ext.gml_st.rules.demands import demand, known_size
from linalg_ext.gml_st.rules.protocol import PARALLEL, Domain, Rule, Take
from linalg_ext.structured.destination_ops import Sort
from linalg_ext.structured.sizes import sizes_of
from linalg_ext.symbolic.index_sets import Tile


class SortRule(Rule):
    """The domain is the indices of the results, which are all of one shape."""

    is_cheap = False

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._view = Sort.of(op)
        count = len(self._view.inputs)
        self.destinations = tuple(range(count, 2 * count))

    @cached_property
    def domain(self) -> Domain:
        """The indices of the result."""
        shapes = zip(*map(sizes_of, self.op.operands), strict=True)
        sizes = tuple(known_size(*each) for each in shapes)
        return Domain(sizes, (PARALLEL,) * len(sizes), frozenset([self._view.dimension]))

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """Return the part of each operand that a part of the domain needs."""
        self.check_part(part)
        return (part,) * len(self.op.operands)

    def part_for_result(self, wanted: Tile, number: int = 0) -> Tile:
        """The part of the domain that computes a part of the result."""
        self.check_part(wanted)
        return wanted

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        self.check_part(part)
        demand(
            self.op,
            equal=[
                pair
                for each in self.op.operands
                for pair in zip(sizes_of(each), self.domain.sizes, strict=True)
            ],
        )
        operands = [take(at, part) for at in range(len(self.op.operands))]
        inits = operands[len(self._view.inputs) :]
        return list(on_operands(self.op, operands, [each.type for each in inits]).results)
