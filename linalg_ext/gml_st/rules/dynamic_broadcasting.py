"""`linalg_ext.dynamic_broadcast_in_dim`: all of what expands, which has size 1; a part of the rest.

Where only the run knows whether a dimension expands, it also tells the offset and the size.
"""

from __future__ import annotations

from functools import cached_property

from linalg_ext.bindings import ir
from linalg_ext.gml_st.rules.demands import demand
from linalg_ext.gml_st.rules.moving import MovingRule
from linalg_ext.gml_st.rules.protocol import PARALLEL, Domain
from linalg_ext.structured.destination_ops import DynamicBroadcast
from linalg_ext.structured.sizes import size_of, sizes_of
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import Number, equal, select


class DynamicBroadcastRule(MovingRule):
    """The domain is the indices of the result."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._view = DynamicBroadcast.of(op)

    @cached_property
    def domain(self) -> Domain:
        """The indices of the result."""
        sizes = sizes_of(self._view.init)
        return Domain(sizes, (PARALLEL,) * len(sizes))

    def read(self, part: Tile) -> Tile:
        """The part of the operand that a part of the result is read from."""
        numbers: list[tuple[Number, Number, Number]] = []
        for dim, place in enumerate(self._view.broadcast_dimensions):
            own = (part.offset(place), part.size(place), part.stride(place))
            expands = self._view.expands(dim)
            if expands is None:
                is_one = equal(size_of(self._view.operand, dim), 1)
                offset, size = (
                    select(is_one, there, here) for there, here in zip((0, 1), own[:2], strict=True)
                )
                numbers.append((offset, size, own[2]))
            else:
                numbers.append((0, 1, 1) if expands else own)
        return Tile(*([each[at] for each in numbers] for at in range(3)))

    def demand_fit(self) -> None:
        """A dimension that does not expand is as long as that of the result."""
        pairs: list[tuple[Number, Number]] = []
        for dim, place in enumerate(self._view.broadcast_dimensions):
            size, wanted = size_of(self._view.operand, dim), self.domain.sizes[place]
            expands = self._view.expands(dim)
            if expands is None:
                pairs.append((size, select(equal(size, 1), 1, wanted)))
            else:
                pairs.append((size, 1 if expands else wanted))
        demand(self.op, equal=pairs)
