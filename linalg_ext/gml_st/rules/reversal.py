"""`linalg_ext.reverse`: the part at the mirrored place, itself reversed."""

from __future__ import annotations

from functools import cached_property

from linalg_ext.bindings import ir
from linalg_ext.gml_st.rules.demands import demand, known_size
from linalg_ext.gml_st.rules.moving import MovingRule
from linalg_ext.gml_st.rules.protocol import PARALLEL, Domain
from linalg_ext.structured.destination_ops import Reverse
from linalg_ext.structured.sizes import sizes_of
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import Number, maximum


class ReverseRule(MovingRule):
    """The domain is the indices of the result."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._view = Reverse.of(op)

    @cached_property
    def domain(self) -> Domain:
        """The indices of the result."""
        both = zip(sizes_of(self._view.operand), sizes_of(self._view.init), strict=True)
        sizes = tuple(known_size(*each) for each in both)
        return Domain(sizes, (PARALLEL,) * len(sizes))

    def read(self, part: Tile) -> Tile:
        """The part of the operand that a part of the result is read from."""
        offsets: list[Number] = list(part.offsets)
        for dim in self._view.dimensions:
            last = part.offset(dim) + (part.size(dim) - 1) * part.stride(dim)
            # Of a part of nothing the last would lie before the first.
            offsets[dim] = maximum(0, self.domain.sizes[dim] - 1 - last)
        return Tile(offsets, part.sizes, part.strides)

    def demand_fit(self) -> None:
        """The operand and the destination are of one shape."""
        sizes = self.domain.sizes
        given = (sizes_of(self._view.operand), sizes_of(self._view.init))
        demand(self.op, equal=[pair for own in given for pair in zip(own, sizes, strict=True)])
