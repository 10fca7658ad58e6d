"""The transform of the sums of a block of tiles, and what is done to the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from linalg_ext.transforms.analysis.fills import ZEROS
from linalg_ext.transforms.codegen.base.flat_memory import FlatOperand
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._window_plan import WindowPlan
from ._window_reader import Lanes, Reader
from ._winograd_part import Block, Part, Points
from ._winograd_plan import WinogradPlan
from ._winograd_transforms import POINTS, RESULTS, transform_sums


class Results(Part):
    """Writes the transform of the sums."""

    def __init__(self, w: Writer, plan: WinogradPlan, sums: Points, scalars: Sequence[str]) -> None:
        """
        Args:
            w: where the code is written.
            plan: how.
            sums: what is transformed.
            scalars: those of the epilogue, as vectors.
        """
        super().__init__(w, plan)
        self._sums = sums
        self._scalars = scalars

    def write(self, operands: Mapping[int, FlatOperand], block: Block, first: Index) -> None:
        """The results of a block, of some strips of filters from a first one on."""
        count = self._w.min(self._plan.strips * self._plan.strip, self._w.sub(self._results, first))
        if self._conv.lanes == "columns":
            self._write_along_columns(operands, block, first, count)
        else:
            self._write_along_channels(operands, block, first, count)

    def _write_along_columns(
        self, operands: Mapping[int, FlatOperand], block: Block, first: Index, count: Index
    ) -> None:
        w, c = self._w, self._conv
        with w.loop(0, count) as result, w.loop(0, block.height) as row:
            tile = w.add(block.row, row)
            moved = _moved(operands, c.results, w.add(first, result))
            moved = _moved(moved, c.rows, w.mul(tile, RESULTS))
            base = w.add(w.mul(result, self._sums.pitch), w.mul(row, self._plan.columns))
            self._along_columns(block, partial(self._finish_tiles_beside, moved, tile, block, base))

    def _write_along_channels(
        self, operands: Mapping[int, FlatOperand], block: Block, first: Index, count: Index
    ) -> None:
        w, c = self._w, self._conv
        with w.loop(0, block.height) as row, w.loop(0, block.width) as column:
            tile = w.add(block.row, row), w.add(block.column, column)
            moved = _moved(operands, c.rows, w.mul(tile[0], RESULTS))
            moved = _moved(moved, c.columns, w.mul(tile[1], RESULTS))
            base = w.mul(w.add(w.mul(row, self._plan.columns), column), self._sums.pitch)
            self._along_channels(
                count, partial(self._finish_tile, moved, tile, (first, count), base)
            )

    def _results_of(self, base: Index) -> Sequence[Sequence[str]]:
        """The 2 x 2 vectors of results of tiles."""
        places = [self._w.add(base, point * self._sums.plane) for point in range(POINTS)]
        sums = [self._sums.memory.load_vector(place) for place in places]
        return transform_sums(self._w, self._vector, sums)

    def _finish_tiles_beside(
        self, operands: Mapping[int, FlatOperand], tile: Index, block: Block,
        base: Index, at: Index, whole: bool,
    ) -> None:  # fmt: skip
        """The results of a vector of tiles, whose columns are in turn."""
        w, c = self._w, self._conv
        column = w.mul(w.add(block.column, at), RESULTS)
        moved = _moved(operands, c.columns, column)
        lanes = Lanes(None if whole else w.sub(c.size(c.columns), column))
        results = [self._in_turn(*row) for row in self._results_of(w.add(base, at))]
        for number, row in enumerate(results):
            with self._if_inside(c.rows, tile, number):
                reader = self._reader(moved, lanes)
                for part, value in enumerate(row):
                    self._store(reader, {c.rows: number, c.columns: part * self._lanes}, value)

    def _in_turn(self, left: str, right: str) -> list[str]:
        """The elements of two vectors in turn, as two vectors."""
        lanes, pair = self._lanes, f"{self._vector}, {self._vector}"
        picks = [part * lanes + lane for lane in range(lanes) for part in range(RESULTS)]
        return [
            self._w.op(f"vector.shuffle {left}, {right} {picks[at : at + lanes]} : {pair}")
            for at in range(0, RESULTS * lanes, lanes)
        ]

    def _finish_tile(
        self, operands: Mapping[int, FlatOperand], tile: tuple[Index, Index],
        filters: tuple[Index, Index], base: Index, at: Index, whole: bool,
    ) -> None:  # fmt: skip
        """A vector of channels of the results of a tile."""
        w, c = self._w, self._conv
        first, count = filters
        moved = _moved(operands, c.results, w.add(first, at))
        lanes = Lanes(None if whole else w.sub(count, at))
        for y, row in enumerate(self._results_of(w.add(base, at))):
            for x, value in enumerate(row):
                with self._if_inside(c.rows, tile[0], y), self._if_inside(c.columns, tile[1], x):
                    self._store(self._reader(moved, lanes), {c.rows: y, c.columns: x}, value)

    def _if_inside(self, loop: str, tile: Index, number: int) -> ExitStack:
        """Enter an `if` where a row or column of a tile's results may lie outside the result."""
        w, size, condition = self._w, self._conv.size(loop), ExitStack()
        if number and size % RESULTS:
            at = w.add(w.mul(tile, RESULTS), number)
            condition.enter_context(w.when(w.compare("slt", at, size)))
        return condition

    def _reader(self, operands: Mapping[int, FlatOperand], lanes: Lanes) -> Reader:
        plan = WindowPlan(self._plan.problem, self._conv.vector, self._lanes, {}, (), ())
        return Reader(self._w, plan, operands, lanes, {})

    def _store(self, reader: Reader, at: Mapping[str, int], value: str) -> None:
        w, problem = self._w, self._plan.problem
        if problem.start is None:
            value = w.op(
                f"arith.addf {reader.result(problem.output, at)}, {value} : {self._vector}"
            )
        elif problem.start not in ZEROS:
            start = w.constant(f"dense<{problem.start}>", self._vector)
            value = w.op(f"arith.addf {start}, {value} : {self._vector}")
        reader.finish(at, value, self._scalars)


def _moved(operands: Mapping[int, FlatOperand], loop: str, at: Index) -> dict[int, FlatOperand]:
    return {place: operand.moved(loop, at) for place, operand in operands.items()}
