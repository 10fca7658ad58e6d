"""Readers for the micro-kernel: they load a step of the depth, from strips or in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from linalg_ext.transforms.codegen.base.flat_memory import Memory, Strided
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from .contraction_plan import Plan
from .packing import divides, within

Reader: TypeAlias = "Callable[[str], list[str]]"
"""Loads what the micro-kernel needs at a step of the depth."""


def rows_of(
    w: Writer, plan: Plan, a: Strided, packed: Memory | None, start: Index, row: Index,
    rows: Index, depth: Index,
) -> Reader:  # fmt: skip
    """Loads an element of A for each row of a tile.

    Args:
        w: where the code is written.
        plan: of the product.
        a: the operand.
        packed: where it is packed; None where it is read in place.
        start: where the tile's strip begins there.
        row: the tile's first row.
        rows: how many rows the operand has.
        depth: where the block begins along the depth.
    """
    tile = plan.tile
    numbers = range(tile.rows)
    if packed is not None:
        if plan.pack_a == "rows":
            starts = [w.add(start, number * plan.stride_a) for number in numbers]
            return lambda k: [packed.load(w.add(at, k)) for at in starts]
        return lambda k: [
            packed.load(w.add(start, w.mul(k, tile.rows), number)) for number in numbers
        ]
    lines = [
        w.add(
            a.base,
            a.offset(plan.problem.rows, within(w, w.add(row, number), rows, tile.rows)),
        )
        for number in numbers
    ]

    def read(k: str) -> list[str]:
        offset = a.offset(plan.problem.depth, w.add(depth, k))
        return [a.memory.load(w.add(line, offset)) for line in lines]

    return read


def vectors_of(
    w: Writer, plan: Plan, b: Strided, packed: Memory | None, start: Index, column: Index,
    columns: Index, depth: Index,
) -> Reader:  # fmt: skip
    """Loads the vectors of B of a tile; the arguments are as those of `rows_of`."""
    tile = plan.tile
    starts = range(0, tile.columns, tile.lanes)
    if packed is not None:
        return lambda k: [
            packed.load_vector(w.add(start, w.mul(k, tile.columns), at)) for at in starts
        ]
    limit = None if divides(tile.columns, columns) else columns
    vectors = [b.pieces(plan.problem.columns, w.add(column, at), 1, limit) for at in starts]

    def read(k: str) -> list[str]:
        offset = b.offset(plan.problem.depth, w.add(depth, k))
        return [b.load_pieces(pieces, offset) for pieces in vectors]

    return read
