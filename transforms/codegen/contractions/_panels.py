"""Panels of C: results that are collected where they are computed, and then transposed into place.

Where the dimension that is contiguous in C and the one that is contiguous in B are two, both of the
columns, vectors lie along the latter. Results of whole vectors of the former are collected in L2;
squares of them, transposed in registers, then go to C in whole vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.transforms.codegen.base.flat_memory import Memory, Strided, add
from linalg_ext.transforms.codegen.base.transposition import transpose
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from .contraction_plan import Panel, Plan


def collect_tile(
    w: Writer, plan: Plan, collected: Memory, values: Sequence[str], at: tuple[Index, Index],
    adds: str | bool,
) -> None:  # fmt: skip
    """Write a tile into a panel.

    Args:
        w: where the code is written.
        plan: the tile and the panel.
        collected: the panel.
        values: the vectors, row by row.
        at: the first row and column of the panel.
        adds: whether the values are added to what is there, or a condition for it.
    """
    tile, panel = plan.tile, _panel(plan)
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
    w: Writer, plan: Plan, collected: Memory, c: Strided, rows: Index, column: Index, runs: Index,
    past_caches: str | None,
) -> None:  # fmt: skip
    """Write a panel to C.

    Args:
        w: where the code is written.
        plan: the panel.
        collected: what was collected.
        c: the result.
        rows: how many rows there are.
        column: the first column.
        runs: how many values of the dimension that is contiguous in C.
        past_caches: the condition for stores of whole lines past the caches; None for none.
    """
    problem, lanes, panel = plan.problem, plan.tile.lanes, _panel(plan)
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
                _write_vector(w, plan, c, vector, index, mask, position, past_caches)


def _write_vector(
    w: Writer, plan: Plan, c: Strided, value: str, index: Index, mask: str | None,
    position: Index | None, past_caches: str | None,
) -> None:  # fmt: skip
    """Write a vector of C, if its position in the panel is one that is there."""
    if position is not None:
        with w.when(w.compare("slt", position, _panel(plan).length)):
            _write_vector(w, plan, c, value, index, mask, None, past_caches)
        return
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


def _panel(plan: Plan) -> Panel:
    if plan.panel is None:
        raise AssertionError("a plan without panels")
    return plan.panel
