"""The tile of C that a contraction is computed in: the one with the least work."""

from __future__ import annotations

from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.base.problem import Problem

from ._operand_access import few, is_one, is_readable_a, packing_of_b, vectors_of_strips
from .contraction_plan import Tile


def choose_tile(problem: Problem, lanes: int, registers: int, machine: Machine) -> Tile:
    """The tile with the least work, what is computed beyond the edges of C included."""
    rows, columns, depth = problem.rows.size, problem.columns.size, problem.words
    best: tuple[float, Tile] | None = None
    strips = vectors_of_strips(problem, lanes)
    is_ready = strips > 0 and (registers - 2 - strips) // strips >= _LEAST_ROWS
    for vectors in [strips] if is_ready else range(1, 9):
        for height in range(1, registers):
            tile = Tile(height, vectors, lanes)
            if height * vectors + vectors + 1 > registers - 1:
                break
            if height > _STREAMS and is_one(columns, tile.columns) and _is_along_depth(problem):
                break
            cycles = _cost(tile, machine)
            if depth:
                cycles += _storing(problem, tile) / (tile.rows * tile.vectors * depth)
            if rows:
                cycles += _copying(problem, tile) / rows
            work = _padding(rows, height) * _padding(columns, tile.columns) * cycles
            if best is None or work < best[0]:
                best = work, tile
    if best is None:
        raise AssertionError("a machine without registers")
    return best[1]


_LEAST_ROWS = 4
"""The least rows of tiles for B to be read in the strips in which it lies."""

_STREAMS = 10
"""Rows of A that are read side by side, where they lie: lines of more would evict each other, all
of one set of L1 where the rows are a power of two apart."""


def _is_along_depth(problem: Problem) -> bool:
    """Return whether A is read where it lies, each row from its first element to its last."""
    return is_readable_a(problem) and problem.depth.run("A") != 0 and bool(problem.depth.dimensions)


def _storing(problem: Problem, tile: Tile) -> float:
    """Cycles for writing a tile of C that nothing else is done in."""
    depth, pieces = problem.words or 1, few(problem.columns.pieces("C", tile.lanes))
    if not pieces:
        return 2.0 * tile.rows * tile.columns
    products = tile.rows * tile.vectors
    run = problem.columns.run("C")
    is_cut_evenly = run and max(run, tile.columns) % min(run, tile.columns) == 0
    if pieces > 1 and is_cut_evenly and run and run >= tile.columns:
        pieces = 1
    cycles = 3.0 * products * pieces
    if pieces > 1 and not is_cut_evenly:
        cycles += 12.0 * tile.vectors
    segments = problem.rows.segments("C")
    last = segments[-1].size if segments else 1
    if len(segments) > 1 and (last is None or last % tile.rows):
        cycles += 16.0 * tile.rows
    # The next tile is begun meanwhile, if a core sees that far.
    instructions = depth * (products + tile.rows + tile.vectors)
    return cycles * min(max(instructions / _WINDOW - 1.0, 0.0), 1.0)


def _copying(problem: Problem, tile: Tile) -> float:
    """Cycles for copying a vector of B; 0 if B is packed another way."""
    if packing_of_b(problem, tile.lanes) != "rows":
        return 0.0
    run, pieces = problem.columns.run("B"), problem.columns.pieces("B", tile.lanes)
    if pieces == 1:
        return 1.0
    is_cut_evenly = run and max(run, tile.columns) % min(run, tile.columns) == 0
    if is_cut_evenly:
        return 1.0 if run and run % tile.columns == 0 else 1.5
    return 2.0 * pieces


_WINDOW = 512
"""The most instructions that a core has in flight."""


def _padding(size: int | None, tile: int) -> float:
    """By how much the edges enlarge the work."""
    size = size or 64 * tile
    return -(-size // tile) * tile / size


def _cost(tile: Tile, machine: Machine) -> float:
    """Cycles for a product of each element of the tile.

    The units idle with fewer multiply-adds in flight than one takes cycles. Loads run in parallel
    and cost little, those of B, from L2, more than those of A, from L1.
    """
    products = tile.rows * tile.vectors
    busy = max(products / machine.fma_units, float(machine.fma_latency))
    return (busy + 0.1 * tile.rows + 0.15 * tile.vectors) / products
