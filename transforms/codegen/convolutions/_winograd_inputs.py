"""The transform of the inputs of a block of tiles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from linalg_ext.transforms.codegen.base.flat_memory import FlatOperand, Memory
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._winograd_part import Block, Part, Points
from ._winograd_plan import WinogradPlan
from ._winograd_transforms import RESULTS, TAPS, TILE, transform_inputs


class Inputs(Part):
    """Writes the transform of the inputs."""

    def __init__(self, w: Writer, plan: WinogradPlan, inputs: Points) -> None:
        super().__init__(w, plan)
        self._inputs = inputs

    def write(self, window: FlatOperand, block: Block) -> None:
        """The tiles of a block."""
        w, c = self._w, self._conv
        if c.lanes == "columns":
            with w.loop(0, self._channels) as channel, w.loop(0, block.height) as row:
                moved = window.moved(c.channels, channel)
                base = w.add(w.mul(channel, self._inputs.pitch), w.mul(row, self._plan.columns))
                write = partial(self._write_tiles_beside, moved, w.add(block.row, row), block, base)
                self._along_columns(block, write)
            return
        with w.loop(0, block.height) as row, w.loop(0, block.width) as column:
            base = w.mul(w.add(w.mul(row, self._plan.columns), column), self._inputs.pitch)
            down = self._places(window, c.rows, w.add(block.row, row))
            along = self._places(window, c.columns, w.add(block.column, column))
            places = [[w.add(window.base, y, x) for x in along] for y in down]
            self._along_channels(
                self._channels, partial(self._write_tile, window.memory, places, base)
            )

    def _write_tiles_beside(
        self, window: FlatOperand, row: Index, block: Block, base: Index, at: Index, whole: bool
    ) -> None:
        """Transform the tiles of a vector, which lie beside each other."""
        w, lanes = self._w, self._lanes
        column = w.mul(w.add(block.column, at), RESULTS)
        left = w.sub(self._conv.size(self._conv.columns) + TAPS - 1, column)
        starts = [0, lanes, RESULTS, lanes + RESULTS]
        masks = [None if whole else window.memory.below(w.sub(left, start)) for start in starts]
        rows = []
        for place in self._places(window, self._conv.rows, row):
            loaded = [
                window.memory.load_vector(w.add(window.base, place, column, start), mask)
                for start, mask in zip(starts, masks, strict=True)
            ]
            rows.append([*self._parted(*loaded[:2]), *self._parted(*loaded[2:])])
        self._store_points(transform_inputs(w, self._vector, rows), w.add(base, at))

    def _parted(self, first: str, second: str) -> list[str]:
        """The elements of even and of odd numbers of two vectors."""
        pair = f"{self._vector}, {self._vector}"
        return [
            self._w.op(
                f"vector.shuffle {first}, {second} "
                f"{[RESULTS * lane + part for lane in range(self._lanes)]} : {pair}"
            )
            for part in range(RESULTS)
        ]

    def _write_tile(
        self, memory: Memory, places: Sequence[Sequence[Index]], base: Index,
        channel: Index, whole: bool,
    ) -> None:  # fmt: skip
        """Transform a vector of channels of a tile."""
        w = self._w
        mask = None if whole else memory.below(w.sub(self._channels, channel))
        loaded = [
            [memory.load_vector(w.add(place, channel), mask) for place in row] for row in places
        ]
        self._store_points(transform_inputs(w, self._vector, loaded), w.add(base, channel))

    def _places(self, window: FlatOperand, loop: str, tile: Index) -> list[Index]:
        """Return the offsets of a tile's rows or columns.

        Where the tile has one less, the last offset comes twice. No result uses what it repeats.
        """
        w, size = self._w, self._conv.size(loop)
        first = w.mul(tile, RESULTS)
        numbers = [w.add(first, number) for number in range(TILE)]
        if size % RESULTS:
            numbers[-1] = w.min(numbers[-1], size + TAPS - RESULTS)
        return [w.mul(number, window.strides[loop]) for number in numbers]

    def _store_points(self, values: Sequence[str], base: Index) -> None:
        for point, value in enumerate(values):
            self._inputs.memory.store_vector(value, self._w.add(base, point * self._inputs.plane))
