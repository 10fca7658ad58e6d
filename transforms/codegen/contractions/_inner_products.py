"""Inner products: for a matrix times a vector whose rows lie along the depth, and for two vectors.

Each element of a small tile of C is a vector of partial sums; both operands are read once, where
they lie, and the vectors are summed when the depth is done. Where it is long it is done in blocks,
whose vectors are added with compensation.
"""

from __future__ import annotations

from linalg_ext.transforms.codegen.base.flat_memory import Strided, add, multiply_add, zero_vector
from linalg_ext.transforms.codegen.base.long_sums import (
    BLOCK,
    FLOATS,
    written_compensated,
    written_nothing,
)
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from .contraction_plan import Plan
from .packing import divides, within


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
    none = [zero] * (len(rows) * len(columns))

    def rounds(start: Index, stop: Index) -> list[str]:
        """The sums of a part of the depth."""
        length = w.sub(stop, start)
        with w.carrying_loop(length, lanes, none, memory.vector) as (at, sums, handed_on, found):
            k = w.add(start, at)
            handed_on += _step(w, plan, a, b, starts_a, starts_b, k, None, sums)
        return found

    block = 2 * BLOCK * lanes
    if problem.element not in FLOATS or (isinstance(whole, int) and whole <= block):
        results = rounds(0, whole)
    else:
        errors = [written_nothing(w, memory.vector)] * len(none)
        many = w.carrying_loop(whole, block, [*none, *errors], memory.vector)
        with many as (start, carried, handed_on, found):
            parts = rounds(start, w.min(w.add(start, block), whole))
            pairs = [
                written_compensated(w, memory.vector, total, error, part)
                for total, error, part in zip(carried, carried[len(none) :], parts, strict=False)
            ]
            handed_on += [total for total, _ in pairs] + [error for _, error in pairs]
        results = found[: len(none)]
    if not divides(lanes, depth):
        mask = a.memory.below(w.sub(depth, whole))
        results = _step(w, plan, a, b, starts_a, starts_b, whole, mask, results)
    return [_sum_of_lanes(w, vector, lanes, problem.element) for vector in results]


def _sum_of_lanes(w: Writer, vector: str, lanes: int, element: str) -> str:
    """The elements of a vector added up: halves to halves, where they are floats."""
    while element in FLOATS and lanes > 1:
        whole, lanes = f"vector<{lanes}x{element}>", lanes // 2
        half = f"vector<{lanes}x{element}>"
        low, high = (
            w.op(
                f"vector.extract_strided_slice {vector} "
                f"{{offsets = [{start}], sizes = [{lanes}], strides = [1]}} : {whole} to {half}"
            )
            for start in (0, lanes)
        )
        vector = w.op(f"arith.addf {low}, {high} : {half}")
    type_ = f"vector<{lanes}x{element}>"
    return w.op(f"vector.reduction <add>, {vector} : {type_} into {element}")


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
