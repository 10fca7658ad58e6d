"""`linalg_ext.scan`: its dimension stays whole, and everything across it is independent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from linalg_ext.bindings import ir
from linalg_ext.gml_st.rules.bodies import on_operands
from linalg_ext.gml_st.rules.demands import demand, known_size
from linalg_ext.gml_st.rules.protocol import PARALLEL, Domain, Rule, Take
from linalg_ext.structured.destination_ops import Scan
from linalg_ext.structured.sizes import sizes_of
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import Number


class ScanRule(Rule):
    """The domain is the indices of the first result."""

    is_cheap = False

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._view = Scan.of(op)
        self._whole = len(self._view.inputs) + 1
        self.destinations = tuple(range(self._whole - 1, len(op.operands)))

    @cached_property
    def domain(self) -> Domain:
        """The indices of the first result."""
        shapes = zip(*map(sizes_of, list(self.op.operands)[: self._whole]), strict=True)
        sizes = tuple(known_size(*each) for each in shapes)
        return Domain(sizes, (PARALLEL,) * len(sizes), frozenset([self._view.dimension]))

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """Return the part of each operand that a part of the domain needs."""
        self.check_part(part)
        rest = [self._across(part)] * (len(self.op.operands) - self._whole)
        return (*[part] * self._whole, *rest)

    def part_for_result(self, wanted: Tile, number: int = 0) -> Tile:
        """The part of the domain that computes a part of the result."""
        if number == 0:
            self.check_part(wanted)
            return wanted
        whole, at = self.domain.all, self._view.dimension
        return Tile(
            *(
                (*given[:at], full[at], *given[at:])
                for given, full in (
                    (wanted.offsets, whole.offsets),
                    (wanted.sizes, whole.sizes),
                    (wanted.strides, whole.strides),
                )
            )
        )

    def part_of_result(self, part: Tile, number: int = 0) -> Tile:
        """The part of a result that a part of the domain computes."""
        self.check_part(part)
        return part if number == 0 else self._across(part)

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        self.check_part(part)
        operands = list(self.op.operands)
        wanted = [self.domain.sizes] * self._whole
        wanted += [self._without(self.domain.sizes)] * (len(operands) - self._whole)
        demand(
            self.op,
            equal=[
                pair
                for each, sizes in zip(operands, wanted, strict=True)
                for pair in zip(sizes_of(each), sizes, strict=True)
            ],
        )
        parts = self.operand_parts(part)
        taken = [take(at, each) for at, each in enumerate(parts) if each is not None]
        types = [each.type for each in taken[len(self._view.inputs) :]]
        return list(on_operands(self.op, taken, types).results)

    def _across(self, part: Tile) -> Tile:
        return Tile(*map(self._without, (part.offsets, part.sizes, part.strides)))

    def _without(self, numbers: Sequence[Number]) -> tuple[Number, ...]:
        at = self._view.dimension
        return (*numbers[:at], *numbers[at + 1 :])
