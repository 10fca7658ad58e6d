"""The 16 products of matrices of a block of tiles, by a tile of sums in registers."""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.transforms.codegen.base.flat_memory import Memory, multiply_add, zero_vector
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._winograd_part import Part, Points
from ._winograd_plan import WinogradPlan
from ._winograd_transforms import POINTS


class Products(Part):
    """Writes the products."""

    def __init__(
        self, w: Writer, plan: WinogradPlan, factors: Memory, inputs: Points, sums: Points
    ) -> None:
        super().__init__(w, plan)
        self._factors = factors
        self._inputs = inputs
        self._sums = sums

    def write(self, point: Index, first: Index, strips: Index, tiles: Index) -> None:
        """The sums of one of the 16 for a block of tiles and some strips of filters."""
        w, plan = self._w, self._plan
        size = self._channels * plan.strip
        inputs, sums = (w.mul(point, each.plane) for each in (self._inputs, self._sums))

        def write(tile: Index, strip: Index) -> None:
            place = w.add(w.mul(w.add(first, strip), POINTS), point)
            filters = w.mul(strip, plan.strip)
            self._write_sums(inputs, w.mul(place, size), sums, tile, filters)

        if self._conv.lanes == "columns":
            with w.loop(0, tiles, plan.step) as tile, w.loop(0, strips) as strip:
                write(tile, strip)
        else:
            with w.loop(0, strips) as strip, w.loop(0, tiles, plan.step) as tile:
                write(tile, strip)

    def _write_sums(
        self, inputs: Index, factors: Index, sums: Index, tile: Index, filters: Index
    ) -> None:
        """A tile of sums in registers, over all channels."""
        w, shape, lanes = self._w, self._plan.tile, self._lanes
        spread, beside, place = self._operands(inputs, factors, sums, tile, filters)
        start = [zero_vector(w, "f32", lanes)] * (shape.rows * shape.vectors)
        with w.carrying_loop(self._channels, 1, start, self._vector) as loop:
            channel, old, new, values = loop
            scalars = spread.at(w, channel, shape.rows)
            vectors = [beside.memory.load_vector(at) for at in beside.at(w, channel, shape.vectors)]
            totals = iter(old)
            for at in scalars:
                scalar = spread.memory.load(at)
                left = w.op(f"vector.broadcast {scalar} : f32 to {self._vector}")
                new += [
                    multiply_add(w, self._vector, left, right, next(totals)) for right in vectors
                ]
        for number, value in enumerate(values):
            row, at = divmod(number, shape.vectors)
            where = w.add(place, row * self._sums.pitch + at * lanes)
            self._sums.memory.store_vector(value, where)

    def _operands(
        self, inputs: Index, factors: Index, sums: Index, tile: Index, filters: Index
    ) -> tuple[_Operand, _Operand, Index]:
        """Return the operand to broadcast, the one to read in vectors, and the sums' offset."""
        w, strip, pitch = self._w, self._plan.strip, self._inputs.pitch
        if self._conv.lanes == "columns":
            return (
                _Operand(self._factors, factors, strip, 1),
                _Operand(self._inputs.memory, w.add(inputs, tile), pitch, self._lanes),
                w.add(sums, tile, w.mul(filters, self._sums.pitch)),
            )
        return (
            _Operand(self._inputs.memory, w.add(inputs, w.mul(tile, pitch)), 1, pitch),
            _Operand(self._factors, factors, strip, self._lanes),
            w.add(sums, filters, w.mul(tile, self._sums.pitch)),
        )


@dataclass(frozen=True)
class _Operand:
    """One side of a product of matrices.

    Attributes:
        memory: where it is.
        base: of its first element.
        channel: elements from one channel to the next.
        step: elements from one row of a tile, or one vector of it, to the next.
    """

    memory: Memory
    base: Index
    channel: int
    step: int

    def at(self, w: Writer, channel: Index, count: int) -> list[Index]:
        """Return the offsets of the rows, or the vectors, of a channel."""
        first = w.add(self.base, w.mul(channel, self.channel))
        return [w.add(first, number * self.step) for number in range(count)]
