"""`linalg_ext.gather`: indices are cut along their rows, the operand along what is not indexed.

Where an index is moved into range depends on the size of the windows: along what is indexed these
stay whole, and so does the operand.
"""

from __future__ import annotations

from functools import cached_property

from linalg_ext.bindings import arith, ir
from linalg_ext.gml_st.rules.bodies import on_operands
from linalg_ext.gml_st.rules.demands import demand, known_size
from linalg_ext.gml_st.rules.protocol import PARALLEL, Domain, Rule, Take, TakeElement
from linalg_ext.structured.destination_ops import Gather
from linalg_ext.structured.sizes import as_number, size_of, sizes_of
from linalg_ext.symbolic.index_sets import Point, Tile
from linalg_ext.symbolic.integers import Number, clamped, equal, is_eq, select

OPERAND, INDICES, INIT = range(3)


class GatherRowsRule(Rule):
    """The domain is the indices of the result: rows, then what runs along the windows."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self.destinations = (INIT,)
        self._view = Gather.of(op)

    @cached_property
    def domain(self) -> Domain:
        """The indices of the result."""
        sizes = list(sizes_of(self._view.init))
        sizes[0] = known_size(sizes[0], size_of(self._view.indices, 0))
        whole = [
            place
            for dim, place in enumerate(self._view.windows.dims)
            if place is not None
            and dim < self._view.windows.index_count
            and is_eq(sizes[place], 1) is not True
        ]
        return Domain(tuple(sizes), (PARALLEL,) * len(sizes), frozenset(whole))

    def part_for_result(self, wanted: Tile, number: int = 0) -> Tile:
        """The part of the domain that computes a part of the result."""
        self.check_part(wanted)
        return wanted

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """Return the part of each operand that a part of the domain needs."""
        self.check_part(part)
        windows = self._view.windows
        numbers: list[tuple[Number, Number, Number]] = []
        for dim, place in enumerate(windows.dims):
            if place is None or dim < windows.index_count:
                numbers.append((0, size_of(self._view.operand, dim), 1))
            else:
                numbers.append((part.offset(place), part.size(place), part.stride(place)))
        operand = Tile(*([each[at] for each in numbers] for at in range(3)))
        rows = Tile((part.offset(0), 0), (part.size(0), windows.index_count), (part.stride(0), 1))
        return operand, rows, part

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        parts = self.operand_parts(part)
        self._demand_fit()
        operands = [take(at, each) for at, each in enumerate(parts) if each is not None]
        return list(on_operands(self.op, operands, [operands[INIT].type]).results)

    def build_element(self, point: Point, take: TakeElement) -> list[ir.Value] | None:
        """The op at one point, on scalars."""
        self._demand_fit()
        view, places = self._view, []
        for dim, place in enumerate(view.windows.dims):
            inside: Number = 0 if place is None else point.indices[place]
            if dim >= view.windows.index_count:
                places.append(inside)
                continue
            given = take(INDICES, Point((point.indices[0], dim)))
            if not isinstance(given.type, ir.IndexType):
                given = arith.IndexCastOp(ir.IndexType.get(), given).result
            window = 1 if place is None else self.domain.sizes[place]
            last = size_of(view.operand, dim) - window
            places.append(clamped(as_number(given), 0, last) + inside)
        return [take(OPERAND, Point(tuple(places)))]

    def _demand_fit(self) -> None:
        """There is an index for each row, and the operand holds a window, if there is one."""
        sizes = self.domain.sizes
        has_none = equal(sizes[0], 0)
        demand(
            self.op,
            equal=[
                (size_of(self._view.init, 0), sizes[0]),
                (size_of(self._view.indices, 0), sizes[0]),
            ],
            at_most=[
                (
                    select(has_none, 0, 1 if place is None else sizes[place]),
                    size_of(self._view.operand, dim),
                )
                for dim, place in enumerate(self._view.windows.dims)
            ],
        )
