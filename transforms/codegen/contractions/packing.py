"""Packing: strips of A and B laid out in the order in which the micro-kernel reads them.

    A, by rows       [strip][row of the tile][depth]
    A, otherwise     [strip][depth][row of the tile]
    B                [strip][depth][column of the tile]

Rows and columns beyond the edge of an operand are packed as repetitions of the last one, or as
zeros: what comes of them is never stored. Nothing outside an operand is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from linalg_ext.transforms.codegen.base.flat_memory import Memory, Piece, Strided
from linalg_ext.transforms.codegen.base.problem import Group
from linalg_ext.transforms.codegen.base.transposition import transpose
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._operand_access import pieces_of_rows
from .contraction_plan import Plan


def pack_b(
    w: Writer, plan: Plan, b: Strided, packed: Memory, first: Index, depth: Index, extent: Index,
    strips: Index, columns: Index, whole_depth: Index,
) -> None:  # fmt: skip
    """Pack strips of B.

    Args:
        w: where the code is written.
        plan: how.
        b: the operand.
        packed: where the strips go.
        first: the first column.
        depth: where the block begins along the depth.
        extent: how deep the block is.
        strips: how many strips.
        columns: the columns of the whole operand.
        whole_depth: the depth of the whole operand.
    """
    with w.loop(0, strips) as strip:
        column = w.add(first, w.mul(strip, plan.tile.columns))
        target = w.mul(strip, plan.strip_b)
        if plan.pack_b == "rows":
            _b_by_rows(w, plan, b, packed, column, target, depth, extent, columns)
        elif plan.pack_b == "transpose":
            _b_transposed(w, plan, b, packed, column, target, depth, extent, columns, whole_depth)
        else:
            _b_one_by_one(w, plan, b, packed, column, target, depth, extent, columns)


def _b_by_rows(
    w: Writer, plan: Plan, b: Strided, packed: Memory, column: Index, target: Index,
    depth: Index, extent: Index, columns: Index,
) -> None:  # fmt: skip
    problem, tile = plan.problem, plan.tile
    count = problem.columns.pieces("B", tile.lanes)
    limit = None if divides(tile.columns, columns) else columns
    vectors = b.tile_pieces(problem.columns, column, tile.columns, count, limit)
    with w.loop(0, extent) as k:
        offset = b.offset(problem.depth, w.add(depth, k))
        row = w.add(target, w.mul(k, tile.columns))
        for number, pieces in enumerate(vectors):
            vector = b.load_pieces(pieces, offset)
            packed.store_vector(vector, w.add(row, number * tile.lanes))


def _b_transposed(
    w: Writer, plan: Plan, b: Strided, packed: Memory, column: Index, target: Index,
    depth: Index, extent: Index, columns: Index, whole_depth: Index,
) -> None:  # fmt: skip
    problem, tile = plan.problem, plan.tile
    with w.loop(0, tile.columns, tile.lanes) as at:
        offsets = [
            b.offset(problem.columns, within(w, w.add(column, at, lane), columns, tile.columns))
            for lane in range(tile.lanes)
        ]
        with w.loop(0, extent, tile.lanes) as k:
            pieces = _along_depth(w, plan, b, w.add(depth, k), whole_depth)
            square = [b.load_pieces(pieces, offset) for offset in offsets]
            store_square(w, plan, packed, square, target, k, at)


def store_square(
    w: Writer, plan: Plan, packed: Memory, square: Sequence[str], target: Index, k: Index, at: Index
) -> None:
    """Write vectors that run along the depth to a strip of B, whose vectors run across it.

    Args:
        w: where the code is written.
        plan: how wide a strip is.
        packed: where the strips are.
        square: the vectors, one for each column, as many as each has lanes.
        target: where the strip begins.
        k: the first step of the depth.
        at: the first of the columns, within the tile.
    """
    for lane, vector in enumerate(transpose(w, square, packed.vector)):
        packed.store_vector(vector, w.add(target, w.mul(w.add(k, lane), plan.tile.columns), at))


def _b_one_by_one(
    w: Writer, plan: Plan, b: Strided, packed: Memory, column: Index, target: Index,
    depth: Index, extent: Index, columns: Index,
) -> None:  # fmt: skip
    problem, tile = plan.problem, plan.tile
    with w.loop(0, tile.columns) as at:
        start = w.add(
            b.base,
            b.offset(problem.columns, within(w, w.add(column, at), columns, tile.columns)),
        )
        with _steps(w, b, problem.depth, depth, extent) as (k, offset):
            packed.store(
                b.memory.load(w.add(start, offset)), w.add(target, w.mul(k, tile.columns), at)
            )


def pack_a(
    w: Writer, plan: Plan, a: Strided, packed: Memory, first: Index, depth: Index, extent: Index,
    strips: Index, rows: Index, whole_depth: Index,
) -> None:  # fmt: skip
    """Pack strips of A; the arguments are as those of `pack_b`, with rows for columns."""
    with w.loop(0, strips) as strip:
        row = w.add(first, w.mul(strip, plan.tile.rows))
        target = w.mul(strip, plan.strip_a)
        if plan.pack_a == "rows":
            _a_by_rows(w, plan, a, packed, row, target, depth, extent, rows)
        elif plan.pack_a == "columns":
            _a_by_columns(w, plan, a, packed, row, target, depth, extent, rows)
        else:
            _a_one_by_one(w, plan, a, packed, row, target, depth, extent, rows)


def _a_by_rows(
    w: Writer, plan: Plan, a: Strided, packed: Memory, row: Index, target: Index,
    depth: Index, extent: Index, rows: Index,
) -> None:  # fmt: skip
    problem, tile = plan.problem, plan.tile
    with w.loop(0, tile.rows) as at:
        base = w.add(a.base, a.offset(problem.rows, within(w, w.add(row, at), rows, tile.rows)))
        begin = w.add(target, w.mul(at, plan.stride_a))
        with _runs(w, a, problem.depth, depth, extent) as (before, offset, length):
            source, start = w.add(base, offset), w.add(begin, before)
            whole = w.mul(w.div(length, tile.lanes), tile.lanes)
            with w.loop(0, whole, tile.lanes) as k:
                packed.store_vector(a.memory.load_vector(w.add(source, k)), w.add(start, k))
            if not divides(tile.lanes, length):
                # Lanes beyond the run are overwritten by the next run, or the next row.
                mask = a.memory.below(w.sub(length, whole))
                last = a.memory.load_vector(w.add(source, whole), mask)
                packed.store_vector(last, w.add(start, whole))


def _a_by_columns(
    w: Writer, plan: Plan, a: Strided, packed: Memory, row: Index, target: Index,
    depth: Index, extent: Index, rows: Index,
) -> None:  # fmt: skip
    problem, tile = plan.problem, plan.tile
    vectors = []
    for at in range(0, tile.rows, tile.lanes):
        width = min(tile.lanes, tile.rows - at)
        count = pieces_of_rows(problem, tile, width)
        # Where the rows are not evenly spaced, those of the next tile may be far away.
        is_even = len(problem.rows.segments("A")) <= 1
        limit = rows if is_even else w.min(rows, w.add(row, at + width))
        vectors.append(a.pieces(problem.rows, w.add(row, at), count, limit))
    with w.loop(0, extent) as k:
        offset = a.offset(problem.depth, w.add(depth, k))
        start = w.add(target, w.mul(k, tile.rows))
        for number, pieces in enumerate(vectors):
            # Lanes beyond the tile are overwritten by the next round.
            packed.store_vector(a.load_pieces(pieces, offset), w.add(start, number * tile.lanes))


def _a_one_by_one(
    w: Writer, plan: Plan, a: Strided, packed: Memory, row: Index, target: Index,
    depth: Index, extent: Index, rows: Index,
) -> None:  # fmt: skip
    problem, tile = plan.problem, plan.tile
    with w.loop(0, tile.rows) as at:
        start = w.add(a.base, a.offset(problem.rows, within(w, w.add(row, at), rows, tile.rows)))
        with _steps(w, a, problem.depth, depth, extent) as (k, offset):
            packed.store(
                a.memory.load(w.add(start, offset)), w.add(target, w.mul(k, tile.rows), at)
            )


@contextmanager
def _steps(
    w: Writer, operand: Strided, group: Group, first: Index, extent: Index
) -> Iterator[tuple[Index, Index]]:
    """A loop over some indices of a group: the number of each, and its offset."""
    segments = group.segments(operand.operand)
    step = operand.stride(segments[-1]) if segments else 0
    with (
        _runs(w, operand, group, first, extent) as (before, offset, length),
        w.loop(0, length) as number,
    ):
        yield w.add(before, number), w.add(offset, w.mul(number, step))


@contextmanager
def _runs(
    w: Writer, operand: Strided, group: Group, first: Index, extent: Index
) -> Iterator[tuple[Index, Index, Index]]:
    """A loop over evenly spaced stretches of some indices: divisions are done once for each.

    Yields:
        The number of the first of them, its offset, and how many there are.
    """
    segments = group.segments(operand.operand)
    if len(segments) <= 1:
        yield 0, operand.offset(group, first), extent
        return
    size, end = operand.size(segments[-1]), w.add(first, extent)
    with w.loop(w.div(first, size), w.div(w.sub(w.add(end, size), 1), size)) as run:
        start = w.max(first, w.mul(run, size))
        length = w.sub(w.min(end, w.add(w.mul(run, size), size)), start)
        yield w.sub(start, first), operand.offset(group, start), length


def _along_depth(
    w: Writer, plan: Plan, operand: Strided, index: Index, whole_depth: Index
) -> list[Piece]:
    group, lanes = plan.problem.depth, plan.tile.lanes
    limit = None if divides(lanes, whole_depth) else whole_depth
    return operand.pieces(group, index, group.pieces(operand.operand, lanes), limit)


def within(w: Writer, index: Index, size: Index, tile: int) -> Index:
    """An index, or the last one if the index is beyond the edge."""
    return index if divides(tile, size) else w.min(index, w.sub(size, 1))


def divides(tile: int, size: Index) -> bool:
    """Return whether a size is known to be a multiple of a tile's."""
    return isinstance(size, int) and size % tile == 0
