"""The micro-kernel: a tile of C in registers, an FMA for each of its vectors and each step.

A tile goes to C in the pieces in which its vectors lie there, or element by element. A long
epilogue is computed in a loop over a buffer that stays in L1: its code is there once, not for each
vector.

Where the dimension that is contiguous in C and the one that is contiguous in B are two, both of the
columns, vectors lie along the latter. Results of whole vectors of the former are then collected in
a panel, in L2; squares of them, transposed in registers, go to C in whole vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from linalg_ext.transforms.codegen.base.epilogue import ElementwiseEmitter
from linalg_ext.transforms.codegen.base.flat_memory import (
    Memory,
    Piece,
    Strided,
    add,
    multiply_add,
    zero_vector,
)
from linalg_ext.transforms.codegen.base.transposition import transpose
from linalg_ext.transforms.codegen.base.writer import Index, Writer, edge

from .contraction_plan import Panel, Plan, few

_MOST_COPIES = 3
"""The most copies of the code for a piece of C; more pieces are handled in a loop."""

Limits: TypeAlias = "tuple[Index | None, Index | None]"
"""The number of rows and of columns of C; None where a tile is within them."""


def multiply(
    w: Writer,
    plan: Plan,
    extent: Index,
    elements_of_a: Callable[[str], Sequence[str]],
    vectors_of_b: Callable[[str], Sequence[str]],
    first_sums: Sequence[str] = (),
) -> list[str]:
    """Write the tile of A * B over a block of the depth; return its vectors, row by row.

    Two functions load an element for each row, and the vectors of the columns, at a step of the
    depth. The sums begin at 0 by default.
    """
    tile, element, packed = plan.tile, plan.problem.element, plan.problem.packed
    vector, dot = f"vector<{tile.lanes}x{element}>", plan.problem.dot
    start = first_sums or [zero_vector(w, element, tile.lanes)] * (tile.rows * tile.vectors)
    with w.carrying_loop(extent, 1, start, vector) as (step, sums, next_sums, results):
        columns = vectors_of_b(step)
        if dot is not None:
            columns = [dot.as_elements(w, column) for column in columns]
        old = iter(sums)
        for scalar in elements_of_a(step):
            spread = w.broadcast(scalar, packed, f"vector<{tile.lanes}x{packed}>")
            if dot is None:
                next_sums += [multiply_add(w, vector, spread, c, next(old)) for c in columns]
                continue
            spread = dot.as_elements(w, spread)
            next_sums += [dot.multiply_add(w, spread, column, next(old)) for column in columns]
    return results


def prefetch_tile(w: Writer, plan: Plan, c: Strided, row: Index, column: Index) -> None:
    """Prefetch the lines of C that a tile is written to."""
    vectors = c.tile_pieces(plan.problem.columns, column, plan.tile.columns, plan.pieces_c, None)
    for offset in c.offsets(plan.problem.rows, row, plan.tile.rows):
        for pieces in vectors:
            c.memory.prefetch(w.add(c.base, offset, pieces[0][0]), writes=True)


@dataclass(frozen=True)
class TileWriter:
    """The writer of a tile of C, or of a panel that is collected first, from a row and column on.

    `adds` says whether values are added to those in memory, or is a condition for it.
    """

    w: Writer
    plan: Plan
    c: Strided
    row: Index
    column: Index
    adds: str | bool

    def store(
        self, values: Sequence[str], limits: Limits, epilogue: ElementwiseEmitter | None
    ) -> None:
        """Write a tile, each vector in the pieces in which it lies in memory.

        Args:
            values: the vectors, row by row.
            limits: the number of rows and columns of C; None where the tile is within them.
            epilogue: the computation on a vector before it is written.
        """
        w, c, problem, tile = self.w, self.c, self.plan.problem, self.plan.tile
        rows, columns = limits
        vectors = c.tile_pieces(
            problem.columns, self.column, tile.columns, self.plan.pieces_c, columns
        )
        offsets = c.offsets(problem.rows, self.row, tile.rows)
        read = self._read_pieces(c, vectors)
        for number, offset in enumerate(offsets):
            with w.when_below(0 if rows is None else w.add(self.row, number), rows):
                for vector, pieces in enumerate(vectors):
                    value = values[number * tile.vectors + vector]
                    if self.adds:
                        value = add(w, c.load_pieces(read[vector], offset), value, c.memory.vector)
                    if epilogue is not None:
                        row, column = w.add(self.row, number), self.column
                        value = epilogue(value, row, w.add(column, vector * tile.lanes), columns)
                    c.store_pieces(value, pieces, offset)

    def _read_pieces(self, c: Strided, vectors: list[list[Piece]]) -> list[list[Piece]]:
        """Return the pieces to read: none where values are not added, which then are added to 0."""
        if not isinstance(self.adds, str):
            return vectors
        mask = self.w.broadcast(self.adds, "i1", c.memory.mask)
        return [c.pieces_if(mask, pieces) for pieces in vectors]

    def _sum(self, old: str, value: str, type_: str) -> str:
        """Return a value added to an old one, or the value where it is not added."""
        total = add(self.w, old, value, type_)
        if not isinstance(self.adds, str):
            return total
        return self.w.op(f"arith.select {self.adds}, {total}, {value} : {type_}")

    def scatter(self, values: Sequence[str], buffer: Memory, limits: tuple[Index, Index]) -> None:
        """Write a tile element by element, through a buffer of its size; see `store`."""
        w, plan, tile = self.w, self.plan, self.plan.tile
        for number, value in enumerate(values):
            buffer.store_vector(value, number * tile.lanes)
        for first in range(0, tile.columns, tile.lanes):
            column = w.add(self.column, first)
            count = w.min(tile.lanes, w.sub(limits[1], column))

            def write(
                done: Index, first: int = first, column: Index = column, count: Index = count
            ) -> Index:
                """Write the piece after `done` columns; return the number of columns then."""
                # A piece lies evenly in C: its first index takes divisions, once for all of it.
                piece_column = w.add(column, done)
                length = _even_length(w, plan, self.c, piece_column, w.sub(count, done))
                start = w.add(self.c.base, self.c.offset(plan.problem.columns, piece_column))
                self._scatter_piece(buffer, (start, w.add(first, done)), length, limits[0])
                return w.add(done, length)

            _repeat(w, _even_pieces(plan), write)

    def _scatter_piece(
        self, buffer: Memory, starts: tuple[Index, Index], length: Index, rows: Index
    ) -> None:
        """Write columns of one stride in C, from an index in C and one in a row of the buffer."""
        w, c, tile, problem = self.w, self.c, self.plan.tile, self.plan.problem
        segments = problem.columns.segments("C")
        step = c.stride(segments[-1]) if segments else 0
        with w.loop(0, length) as column:
            start = w.add(starts[0], w.mul(column, step))
            source = w.add(starts[1], column)
            with w.loop(0, w.min(tile.rows, w.sub(rows, self.row))) as row:
                index = w.add(start, c.offset(problem.rows, w.add(self.row, row)))
                value = buffer.load(w.add(w.mul(row, tile.columns), source))
                if self.adds is not False:
                    value = self._sum(c.memory.load(index), value, c.memory.element)
                c.memory.store(value, index)

    def finish(
        self, values: Sequence[str], buffer: Memory, limits: Limits, epilogue: ElementwiseEmitter
    ) -> None:
        """Write a tile after a long epilogue, row by row through a buffer of its size; see `store`.

        A row is one wide vector if all operands can be read so: its registers do not wait for each
        other.
        """
        w, tile, problem = self.w, self.plan.tile, self.plan.problem
        for number, value in enumerate(values):
            buffer.store_vector(value, number * tile.lanes)
        is_wide = few(problem.columns.pieces("C", tile.columns)) and epilogue.can_be_wide(
            tile.columns
        )
        lanes = tile.columns if is_wide else tile.lanes
        c, buffer = self.c.with_lanes(lanes), replace(buffer, lanes=lanes)
        epilogue = epilogue.wide(lanes)
        count = problem.columns.pieces("C", lanes)
        rows: Index = tile.rows
        if limits[0] is not None:
            rows = w.min(tile.rows, w.sub(limits[0], self.row))
        with w.loop(0, rows) as row, w.loop(0, tile.columns, lanes) as first:
            column, line = w.add(self.column, first), w.add(self.row, row)
            offset = c.offset(problem.rows, line)
            value = buffer.load_vector(w.add(w.mul(row, tile.columns), first))
            pieces = c.pieces(problem.columns, column, count, limits[1])
            if self.adds is not False:
                (read,) = self._read_pieces(c, [pieces])
                value = add(w, c.load_pieces(read, offset), value, c.memory.vector)
            value = epilogue(value, line, column, limits[1])
            c.store_pieces(value, pieces, offset)

    def collect(self, values: Sequence[str], panel: Panel, collected: Memory) -> None:
        """Write a tile into a panel, in which `row` and `column` are."""
        w, tile = self.w, self.plan.tile
        start = w.add(w.mul(self.row, panel.stride), self.column)
        for number, value in enumerate(values):
            row, vector = divmod(number, tile.vectors)
            index = w.add(start, row * panel.stride + vector * tile.lanes)
            if self.adds:
                value = self._sum(collected.load_vector(index), value, collected.vector)
            collected.store_vector(value, index)


def _repeat(w: Writer, count: int, write: Callable[[Index], Index]) -> None:
    """Write code `count` times, or once in a loop; each round takes the result of the last one.

    LLVM takes minutes where a kernel has dozens of nests.
    """
    if count > _MOST_COPIES:
        with w.carrying_loop(count, 1, [w.value(0)], "index") as (_, carried, handed_on, _):
            handed_on.append(w.value(write(carried[0])))
        return
    done: Index = 0
    for _ in range(count):
        done = write(done)


def _even_pieces(plan: Plan) -> int:
    """Return the most pieces with one stride in which an aligned vector of columns lies in C."""
    lanes, segments = plan.tile.lanes, plan.problem.columns.segments("C")
    if len(segments) <= 1:
        return 1
    size = segments[-1].size
    if size is None:
        return lanes
    return 1 if size % lanes == 0 else 1 + -(-(lanes - 1) // size)


def _even_length(w: Writer, plan: Plan, c: Strided, column: Index, most: Index) -> Index:
    """Return the number of columns from `column` on that have one stride in C; at most `most`."""
    segments = plan.problem.columns.segments("C")
    if _even_pieces(plan) == 1:
        return most
    size = c.size(segments[-1])
    return w.min(most, w.sub(size, w.rem(column, size)))


def write_panel(
    w: Writer, plan: Plan, panel: Panel, collected: Memory, c: Strided, rows: Index,
    column: Index, runs: Index, past_caches: str | bool,
) -> None:  # fmt: skip
    """Write a panel to C, from a first column on.

    Args:
        runs: the size of the panel along the dimension that is contiguous in C.
        past_caches: whether whole vectors are stored past the caches, or a condition for it.
    """
    problem, lanes = plan.problem, plan.tile.lanes
    step = c.stride_of(problem.columns.dimensions[-1])
    start = w.add(c.base, c.offset(problem.columns, column))
    with w.loop(0, rows) as row:
        source = w.mul(row, panel.stride)
        target = w.add(start, c.offset(problem.rows, row))
        with w.loop(0, panel.length, lanes) as along, w.loop(0, runs, lanes) as run:
            first = w.add(source, w.mul(run, panel.length), along)
            square = [
                collected.load_vector(w.add(first, lane * panel.length)) for lane in range(lanes)
            ]
            mask = None if panel.size % lanes == 0 else c.memory.below(w.sub(runs, run))
            first_index = w.add(target, run, w.mul(along, step))
            for lane, value in enumerate(transpose(w, square, collected.vector)):
                position = w.add(along, lane)
                index = w.add(first_index, w.mul(step, lane))
                with w.when_below(position, edge(lanes, panel.length)):
                    if not problem.overwrites:
                        value = add(w, c.memory.load_vector(index, mask), value, c.memory.vector)
                    w.either(past_caches, partial(_store_vector, c.memory, value, index, mask))


def _store_vector(
    memory: Memory, value: str, index: Index, mask: str | None, past_caches: bool
) -> None:
    if past_caches:
        memory.stream_vector(value, index)
    else:
        memory.store_vector(value, index, mask)
