"""`tensor.pad`: a part of the result is the part of the source that it meets, padded to size."""

from __future__ import annotations

from functools import cached_property

from linalg_ext.bindings import ir
from linalg_ext.gml_st.rules.bodies import given_positions
from linalg_ext.gml_st.rules.protocol import PARALLEL, Domain, Rule, Take, require_unit_strides
from linalg_ext.structured.mixed import mixed_attribute
from linalg_ext.structured.sizes import met, mixed_sizes, pad_numbers, sizes_of, tensor_type
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import clamped


class PadRule(Rule):
    """Along each axis `low` padding, the source, `high` padding."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._low, self._high = pad_numbers(op)
        self._sizes = sizes_of(op.operands[0])

    @cached_property
    def domain(self) -> Domain:
        """The indices of the result."""
        sizes = sizes_of(self.op.results[0])
        return Domain(sizes, (PARALLEL,) * len(sizes))

    def _source(self, part: Tile) -> Tile:
        """The part of the source that a part of the result meets; of size 0 where it does not."""
        require_unit_strides(self.op, part)
        runs = [
            met(part.offset(axis) - low, part.size(axis), size)
            for axis, (low, size) in enumerate(zip(self._low, self._sizes, strict=True))
        ]
        return Tile([run[0] for run in runs], [run[1] for run in runs])

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """Return the part of each operand that a part of the domain needs."""
        return (self._source(part), *[None] * (len(self.op.operands) - 1))

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        source = self._source(part)
        lows = [
            clamped(low - offset, 0, size)
            for low, offset, size in zip(self._low, part.offsets, part.sizes, strict=True)
        ]
        highs = [
            size - low - inner
            for size, low, inner in zip(part.sizes, lows, source.sizes, strict=True)
        ]
        taken = take(0, source)
        low, high = mixed_sizes(lows), mixed_sizes(highs)
        dynamic = [[each for each in side if not isinstance(each, int)] for side in (low, high)]
        attributes = {
            "static_low": mixed_attribute(low),
            "static_high": mixed_attribute(high),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(dynamic[0]), len(dynamic[1])]),
        }
        if "nofold" in self.op.attributes:
            attributes["nofold"] = self.op.attributes["nofold"]
        new = ir.Operation.create(
            self.op.name,
            results=[tensor_type(part.sizes, self.op.results[0].type)],
            operands=[taken, *dynamic[0], *dynamic[1]],
            attributes=attributes,
            regions=1,
        )
        given_positions(self.op, new, part)
        return list(new.results)
