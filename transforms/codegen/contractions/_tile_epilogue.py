"""Tiles of C finished in a loop: a long epilogue stands there once, not for each of their vectors.

The tile goes through a buffer of its own, which stays in L1. A row of it is one wide vector where
all operands can be read so: its registers do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linalg_ext.transforms.codegen.base.epilogue import Finisher
from linalg_ext.transforms.codegen.base.flat_memory import Memory, Strided, add
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._operand_access import few
from .contraction_plan import Plan


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
    """Write a tile of C; the arguments are as those of `store_tile`.

    Args:
        w: where the code is written.
        plan: the tile, and the number of pieces.
        c: the operand.
        buffer: memory for a tile.
        values: the vectors, row by row.
        at: the first row and column.
        limits: how many rows and columns C has; None where the tile is within them.
        adds: whether the values are added to what is there, or a condition for it.
        finisher: what becomes of a value before it is written.
    """
    tile, problem = plan.tile, plan.problem
    for number, value in enumerate(values):
        buffer.store_vector(value, number * tile.lanes)
    lanes = _width(plan, finisher)
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


def _width(plan: Plan, finisher: Finisher) -> int:
    """The elements that are finished at once: of a row of the tile, or of a register."""
    columns = plan.tile.columns
    is_wide = few(plan.problem.columns.pieces("C", columns)) and finisher.can_be_wide(columns)
    return columns if is_wide else plan.tile.lanes
