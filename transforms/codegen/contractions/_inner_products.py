"""Inner products: for a matrix times a vector whose rows lie along the depth, and for two vectors.

Each element of a small tile of C is a vector of partial sums; both operands are read once, where
they lie, and the vectors are summed when the depth is done.
"""

from __future__ import annotations

from linalg_ext.transforms.codegen._memory import Strided, add, multiply_add, zero_vector
from linalg_ext.transforms.codegen._writer import Index, Writer

from ._packing import divides, within
from ._plan import Plan


def write_inner_products(
    w: Writer, plan: Plan, a: Strided, b: Strided, c: Strided, sizes: tuple[Index, Index, Index]
) -> None:
    """Write the loops over C, and the sums.

    Args:
        w: where the code is written.
        plan: the tile.
        a: the operand with the rows.
        b: the operand with the columns.
        c: the result.
        sizes: how many rows and columns there are, and how deep they are.
    """
    rows, columns, depth = sizes
    tile = plan.tile
    with w.loop(0, columns, tile.columns) as column, w.loop(0, rows, tile.rows) as row:
        row_indices = [
            within(w, w.add(row, number), rows, tile.rows) for number in range(tile.rows)
        ]
        column_indices = [
            within(w, w.add(column, number), columns, tile.columns)
            for number in range(tile.columns)
        ]
        sums = _sums(w, plan, a, b, row_indices, column_indices, depth)
        for number, value in enumerate(sums):
            at_row, at_column = divmod(number, tile.columns)
            is_inside = divides(tile.rows, rows) and divides(tile.columns, columns)
            if is_inside:
                _store(w, plan, c, value, row_indices[at_row], column_indices[at_column])
                continue
            below = w.compare("slt", w.add(row, at_row), rows)
            before = w.compare("slt", w.add(column, at_column), columns)
            with w.when(w.op(f"arith.andi {below}, {before} : i1")):
                _store(w, plan, c, value, row_indices[at_row], column_indices[at_column])


def _sums(
    w: Writer,
    plan: Plan,
    a: Strided,
    b: Strided,
    rows: list[Index],
    columns: list[Index],
    depth: Index,
) -> list[str]:
    """The elements of a tile, row by row."""
    problem, lanes = plan.problem, plan.tile.lanes
    memory = a.memory
    starts_a = [a.offset(problem.rows, row) for row in rows]
    starts_b = [b.offset(problem.columns, column) for column in columns]
    zero = zero_vector(w, problem.element, lanes)
    whole = w.mul(w.div(depth, lanes), lanes)
    partial = [zero] * (len(rows) * len(columns))
    with w.carrying_loop(whole, lanes, partial, memory.vector) as (k, sums, handed_on, results):
        handed_on += _step(w, plan, a, b, starts_a, starts_b, k, None, sums)
    if not divides(lanes, depth):
        mask = a.below(w.sub(depth, whole))
        results = _step(w, plan, a, b, starts_a, starts_b, whole, mask, results)
    return [
        w.op(f"vector.reduction <add>, {vector} : {memory.vector} into {problem.element}")
        for vector in results
    ]


def _step(
    w: Writer,
    plan: Plan,
    a: Strided,
    b: Strided,
    starts_a: list[Index],
    starts_b: list[Index],
    k: Index,
    mask: str | None,
    sums: list[str],
) -> list[str]:
    """The partial sums after another vector of the depth."""
    group, vector = plan.problem.depth, a.memory.vector
    offset_a, offset_b = a.offset(group, k), b.offset(group, k)
    left = [a.load_pieces([(start, mask)], offset_a) for start in starts_a]
    right = [b.load_pieces([(start, mask)], offset_b) for start in starts_b]
    pairs = [(x, y) for x in left for y in right]
    return [multiply_add(w, vector, x, y, old) for (x, y), old in zip(pairs, sums, strict=True)]


def _store(w: Writer, plan: Plan, c: Strided, value: str, row: Index, column: Index) -> None:
    problem, memory = plan.problem, c.memory
    index = w.add(c.base, c.offset(problem.rows, row), c.offset(problem.columns, column))
    if not problem.overwrites:
        value = add(w, memory.load(index), value, problem.element)
    memory.store(value, index)
