"""The micro-kernel: a tile of C in registers, an FMA for each of its vectors and each step.

A tile goes to C in the pieces in which its vectors lie there, or element by element. A long
epilogue is done in a loop over a buffer that stays in L1: its code stands there once, not for each
vector.

Where the dimension that is contiguous in C and the one that is contiguous in B are two, both of the
columns, vectors lie along the latter. Results of whole vectors of the former are then collected in
a panel, in L2; squares of them, transposed in registers, go to C in whole vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from linalg_ext.transforms.codegen.base.epilogue import Finisher
from linalg_ext.transforms.codegen.base.flat_memory import (
    Memory,
    Strided,
    add,
    multiply_add,
    zero_vector,
)
from linalg_ext.transforms.codegen.base.transposition import transpose
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from .contraction_plan import Panel, Plan, few

_MOST_COPIES = 3
"""The most copies of the code for a piece of C; more pieces are handled in a loop."""

Finish = Callable[[str, Index, int], str]
"""A function that finishes a vector of C, given the vector, its row and its number in the tile."""


def multiply(
    w: Writer,
    plan: Plan,
    extent: Index,
    elements_of_a: Callable[[str], Sequence[str]],
    vectors_of_b: Callable[[str], Sequence[str]],
    first_sums: Sequence[str] = (),
) -> list[str]:
    """The tile of A * B over a block of the depth: its vectors, row by row.

    Args:
        w: where the code is written.
        plan: the tile.
        extent: how deep the block is.
        elements_of_a: loads an element for each row, at a step of the depth.
        vectors_of_b: loads the vectors of the columns, at a step of the depth.
        first_sums: where the sums begin; at 0 by default.
    """
    tile, element, packed = plan.tile, plan.problem.element, plan.problem.packed
    vector = f"vector<{tile.lanes}x{element}>"
    start = first_sums or [zero_vector(w, element, tile.lanes)] * (tile.rows * tile.vectors)
    with w.carrying_loop(extent, 1, start, vector) as loop:
        step, sums, next_sums, results = loop
        dot = plan.problem.dot
        columns = vectors_of_b(step)
        if dot is not None:
            columns = [dot.seen_as_elements(w, column) for column in columns]
        for row, scalar in enumerate(elements_of_a(step)):
            spread = w.op(f"vector.broadcast {scalar} : {packed} to vector<{tile.lanes}x{packed}>")
            if dot is not None:
                spread = dot.seen_as_elements(w, spread)
            for number, column in enumerate(columns):
                old = sums[row * tile.vectors + number]
                next_sums.append(
                    multiply_add(w, vector, spread, column, old)
                    if dot is None
                    else dot.multiply_add(w, spread, column, old)
                )
    return results


def fetch_tile(w: Writer, plan: Plan, c: Strided, at: tuple[Index, Index]) -> None:
    """Have the lines on their way that a tile of C will be written to."""
    vectors = c.tile_pieces(plan.problem.columns, at[1], plan.tile.columns, plan.pieces_c, None)
    for offset in c.offsets(plan.problem.rows, at[0], plan.tile.rows):
        for pieces in vectors:
            c.memory.prefetch(w.add(c.base, offset, pieces[0][0]), writes=True)


def store_tile(
    w: Writer,
    plan: Plan,
    c: Strided,
    values: Sequence[str],
    at: tuple[Index, Index],
    limits: tuple[Index | None, Index | None],
    adds: str | bool,
    finish: Finish | None = None,
) -> None:
    """Write a tile of C, each vector in the pieces in which it lies in memory.

    Args:
        w: where the code is written.
        plan: the tile, and the number of pieces.
        c: the operand.
        values: the vectors, row by row.
        at: the first row and column.
        limits: how many rows and columns C has; None where the tile is within them.
        adds: whether the values are added to what is there, or a condition for it.
        finish: what becomes of a value before it is written, for its row and vector.
    """
    problem, tile, memory = plan.problem, plan.tile, c.memory
    row, column = at
    rows, columns = limits
    vectors = c.tile_pieces(problem.columns, column, tile.columns, plan.pieces_c, columns)
    offsets = c.offsets(problem.rows, row, tile.rows)
    read = vectors
    if isinstance(adds, str):
        # One code for both: where nothing is added, nothing is read, and what is added is 0.
        wanted = w.op(f"vector.broadcast {adds} : i1 to {memory.mask}")
        read = [c.pieces_if(wanted, pieces) for pieces in vectors]

    def store_row(number: int) -> None:
        offset = offsets[number]
        for vector, pieces in enumerate(vectors):
            value = values[number * tile.vectors + vector]
            if adds:
                old = c.load_pieces(read[vector], offset)
                value = add(w, old, value, memory.vector)
            if finish is not None:
                value = finish(value, w.add(row, number), vector)
            c.store_pieces(value, pieces, offset)

    for number in range(tile.rows):
        if rows is None:
            store_row(number)
        else:
            with w.when(w.compare("slt", w.add(row, number), rows)):
                store_row(number)


def scatter_tile(
    w: Writer,
    plan: Plan,
    c: Strided,
    buffer: Memory,
    values: Sequence[str],
    at: tuple[Index, Index],
    limits: tuple[Index, Index],
    adds: str | bool,
) -> None:
    """Write a tile of C element by element, through a buffer of its size; see `store_tile`."""
    tile = plan.tile
    for number, value in enumerate(values):
        buffer.store_vector(value, number * tile.lanes)
    for first in range(0, tile.columns, tile.lanes):
        column = w.add(at[1], first)
        count = w.min(tile.lanes, w.sub(limits[1], column))

        def write(
            done: Index, first: int = first, column: Index = column, count: Index = count
        ) -> Index:
            """Write the piece after `done` columns; how many are done then."""
            # A piece lies evenly in C: where it begins takes divisions, done once for all of it.
            here = w.add(column, done)
            length = _even_length(w, plan, c, here, w.sub(count, done))
            start = w.add(c.base, c.offset(plan.problem.columns, here))
            place = w.add(first, done)
            _scatter_piece(w, plan, c, buffer, (start, place), length, (at[0], limits[0]), adds)
            return w.add(done, length)

        _repeat(w, _even_pieces(plan), write)


def _repeat(w: Writer, count: int, write: Callable[[Index], Index]) -> None:
    """Write code `count` times, or once in a loop; each round takes the result of the last one.

    LLVM takes minutes where a kernel has dozens of nests.
    """
    if count > _MOST_COPIES:
        with w.carrying_loop(count, 1, [w.value(0)], "index") as (_, given, handed_on, _):
            handed_on.append(w.value(write(given[0])))
        return
    done: Index = 0
    for _ in range(count):
        done = write(done)


def _scatter_piece(
    w: Writer,
    plan: Plan,
    c: Strided,
    buffer: Memory,
    starts: tuple[Index, Index],
    length: Index,
    rows: tuple[Index, Index],
    adds: str | bool,
) -> None:
    """Write columns that lie evenly in C, from a place in C and one in a row of the buffer."""
    tile, memory = plan.tile, c.memory
    segments = plan.problem.columns.segments("C")
    step = c.stride(segments[-1]) if segments else 0
    with w.loop(0, length) as column:
        start = w.add(starts[0], w.mul(column, step))
        source = w.add(starts[1], column)
        with w.loop(0, w.min(tile.rows, w.sub(rows[1], rows[0]))) as row:
            index = w.add(start, c.offset(plan.problem.rows, w.add(rows[0], row)))
            new = buffer.load(w.add(w.mul(row, tile.columns), source))
            if adds is not False:
                total = add(w, memory.load(index), new, memory.element)
                if isinstance(adds, str):
                    total = w.op(f"arith.select {adds}, {total}, {new} : {memory.element}")
                new = total
            memory.store(new, index)


def _even_pieces(plan: Plan) -> int:
    """In how many pieces with one stride at most an aligned vector of columns lies in C."""
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


def finish_tile(
    w: Writer,
    plan: Plan,
    c: Strided,
    buffer: Memory,
    values: Sequence[str],
    at: tuple[Index, Index],
    limits: tuple[Index | None, Index | None],
    adds: str | bool,
    finisher: Finisher,
) -> None:
    """Write a tile of C row by row, through a buffer of its size; see `store_tile`.

    A row is one wide vector where all operands can be read so: its registers do not wait for each
    other.
    """
    tile, problem = plan.tile, plan.problem
    for number, value in enumerate(values):
        buffer.store_vector(value, number * tile.lanes)
    is_wide = few(problem.columns.pieces("C", tile.columns)) and finisher.can_be_wide(tile.columns)
    lanes = tile.columns if is_wide else tile.lanes
    c, buffer, finisher = c.with_lanes(lanes), replace(buffer, lanes=lanes), finisher.wide(lanes)
    count, memory = problem.columns.pieces("C", lanes), c.memory
    rows: Index = tile.rows if limits[0] is None else w.min(tile.rows, w.sub(limits[0], at[0]))
    with w.loop(0, rows) as row, w.loop(0, tile.columns, lanes) as first:
        column, line = w.add(at[1], first), w.add(at[0], row)
        offset = c.offset(problem.rows, line)
        value = buffer.load_vector(w.add(w.mul(row, tile.columns), first))
        pieces = c.pieces(problem.columns, column, count, limits[1])
        if adds is not False:
            read = pieces
            if isinstance(adds, str):
                wanted = w.op(f"vector.broadcast {adds} : i1 to {memory.mask}")
                read = c.pieces_if(wanted, pieces)
            value = add(w, c.load_pieces(read, offset), value, memory.vector)
        value = finisher(value, line, column, limits[1])
        c.store_pieces(value, pieces, offset)


def collect_tile(
    w: Writer, plan: Plan, panel: Panel, collected: Memory, values: Sequence[str],
    at: tuple[Index, Index], adds: str | bool,
) -> None:  # fmt: skip
    """Write a tile into a panel; `at` is its first row and column there. See `store_tile`."""
    tile = plan.tile
    start = w.add(w.mul(at[0], panel.stride), at[1])
    for row in range(tile.rows):
        for vector in range(tile.vectors):
            value = values[row * tile.vectors + vector]
            index = w.add(start, row * panel.stride + vector * tile.lanes)
            if adds:
                old = collected.load_vector(index)
                total = add(w, old, value, collected.vector)
                if isinstance(adds, str):
                    total = w.op(f"arith.select {adds}, {total}, {value} : {collected.vector}")
                value = total
            collected.store_vector(value, index)


def write_panel(
    w: Writer, plan: Plan, panel: Panel, collected: Memory, c: Strided, rows: Index,
    column: Index, runs: Index, past_caches: str | None,
) -> None:  # fmt: skip
    """Write a panel to C, from a first column on.

    Args:
        runs: how many values of the dimension that is contiguous in C.
        past_caches: the condition for stores of whole lines past the caches; None for none.
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
            place = w.add(target, run, w.mul(along, step))
            for lane, vector in enumerate(transpose(w, square, collected.vector)):
                position = None if panel.length % lanes == 0 else w.add(along, lane)
                index = w.add(place, w.mul(step, lane))
                with ExitStack() as condition:
                    if position is not None:
                        is_inside = w.compare("slt", position, panel.length)
                        condition.enter_context(w.when(is_inside))
                    _write_vector(w, plan, c, vector, index, mask, past_caches)


def _write_vector(
    w: Writer, plan: Plan, c: Strided, value: str, index: Index, mask: str | None,
    past_caches: str | None,
) -> None:  # fmt: skip
    if not plan.problem.overwrites:
        old = c.memory.load_vector(index, mask)
        value = add(w, old, value, c.memory.vector)
    if past_caches is None:
        c.memory.store_vector(value, index, mask)
        return
    with w.when(past_caches):
        c.memory.stream_vector(value, index)
    with w.otherwise():
        c.memory.store_vector(value, index, mask)
