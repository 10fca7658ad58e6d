"""The factors that filters become: made at a call, or there before."""

from __future__ import annotations

from linalg_ext.transforms.codegen.base.flat_memory import FlatOperand, Memory
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._winograd_part import Part
from ._winograd_plan import WinogradPlan
from ._winograd_transforms import POINTS, TAPS, transform_filter


class Factors(Part):
    """Writes the transform of the filters."""

    def __init__(self, w: Writer, plan: WinogradPlan, factors: Memory) -> None:
        super().__init__(w, plan)
        self._factors = factors

    def write(self, filters: FlatOperand) -> None:
        """The transform of all filters, in strips; memory is walked over as it lies."""
        w, c = self._w, self._conv
        if c.has_filters_in_lanes:
            with w.loop(0, self._channels) as channel:
                moved = filters.moved(c.channels, channel)
                self._along_channels(
                    self._results, lambda at, whole: self._write_vector(moved, channel, at, whole)
                )
            return
        with w.loop(0, self._results) as result, w.loop(0, self._channels) as channel:
            taps = filters.moved(c.results, result).moved(c.channels, channel)
            loaded = [[taps.memory.load(place) for place in row] for row in self._places(taps)]
            values = transform_filter(w, "f32", loaded)
            for place, value in zip(self._points(result, channel), values, strict=True):
                self._factors.store(value, place)

    def _write_vector(self, filters: FlatOperand, channel: Index, at: Index, whole: bool) -> None:
        """Transform a vector of filters, which is within a strip."""
        taps = filters.moved(self._conv.results, at)
        mask = None if whole else taps.memory.below(self._w.sub(self._results, at))
        loaded = [
            [taps.memory.load_vector(place, mask) for place in row] for row in self._places(taps)
        ]
        values = transform_filter(self._w, self._vector, loaded)
        for place, value in zip(self._points(at, channel), values, strict=True):
            self._factors.store_vector(value, place)

    def _places(self, taps: FlatOperand) -> list[list[Index]]:
        """Return the offsets of a filter's elements, row by row."""
        w = self._w
        down, along = (taps.strides[tap] for tap in self._conv.taps)
        return [
            [w.add(taps.base, w.mul(down, y), w.mul(along, x)) for x in range(TAPS)]
            for y in range(TAPS)
        ]

    def _points(self, result: Index, channel: Index) -> list[Index]:
        """Return the offsets of the 16 factors of one filter and channel."""
        w, strip = self._w, self._plan.strip
        plane = self._channels * strip
        base = w.add(
            w.mul(w.div(result, strip), POINTS * plane),
            w.mul(channel, strip),
            w.rem(result, strip),
        )
        return [w.add(base, point * plane) for point in range(POINTS)]


def prepared_factors(w: Writer, plan: WinogradPlan, name: str, type_: str) -> Memory:
    """The factors behind the filters of an argument.

    Args:
        w: where the code is written.
        plan: whose factors they are.
        name: of the argument.
        type_: of it.
    """
    count, first = plan.filter_elements, plan.filter_rows * plan.strip
    line = f"memref<{first + count}xf32>"
    part = f"memref<{count}xf32, strided<[1], offset: {first}>>"
    whole = w.op(f"memref.collapse_shape %{name} [[0, 1]] : {type_} into {line}")
    factors = w.op(f"memref.subview {whole}[{first}] [{count}] [1] : {line} to {part}")
    return Memory(w, factors, part, "f32", plan.tile.lanes)
