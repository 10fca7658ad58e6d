"""`linalg.softmax`: rows are independent, and a row stays whole."""

from __future__ import annotations

from functools import cached_property

from linalg_ext.bindings import ir
from linalg_ext.gml_st.rules.bodies import on_operands
from linalg_ext.gml_st.rules.protocol import PARALLEL, Domain, Rule, Take
from linalg_ext.structured.sizes import sizes_of
from linalg_ext.symbolic.index_sets import Tile


class SoftmaxRule(Rule):
    """The domain is the indices of the result; the dimension of the sums is never cut."""

    is_cheap = False

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self.destinations = (1,)

    @cached_property
    def domain(self) -> Domain:
        """The indices of the result."""
        sizes = sizes_of(self.op.operands[0])
        whole = ir.IntegerAttr(self.op.attributes["dimension"]).value
        return Domain(sizes, (PARALLEL,) * len(sizes), frozenset([whole]))

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """Return the part of each operand that a part of the domain needs."""
        self.check_part(part)
        return part, part

    def part_for_result(self, wanted: Tile, number: int = 0) -> Tile:
        """The part that computes some of a result."""
        self.check_part(wanted)
        return wanted

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        self.check_part(part)
        source, init = take(0, part), take(1, part)
        return list(on_operands(self.op, [source, init], [init.type]).results)
