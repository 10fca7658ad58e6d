"""Access to the operands of a contraction: in vectors, where they lie, or after packing."""

from __future__ import annotations

from linalg_ext.transforms.codegen.base.problem import Problem

from .contraction_plan import Packing, Tile

_MOST_PIECES = 3
"""A vector in more pieces than this costs more than its elements one by one."""


def few(pieces: int) -> int:
    """The pieces of a vector where they are few enough to be read or written so; else 0."""
    return pieces if pieces <= _MOST_PIECES else 0


def packing_of_a(problem: Problem, tile: Tile) -> Packing:
    """Return the kind of packing for A, if A is packed."""
    if few(problem.depth.pieces("A", tile.lanes * problem.word)) and problem.depth.dimensions:
        return "rows"
    if problem.dot is not None or "A" in problem.computed:
        is_even = len(problem.rows.segments("A")) == 1 and problem.rows.run("A") != 0
        return "columns" if is_even else "scalar"
    if problem.rows.dimensions and few(pieces_of_rows(problem, tile, min(tile.rows, tile.lanes))):
        return "columns"
    return "scalar"


def pieces_of_rows(problem: Problem, tile: Tile, width: int) -> int:
    """In how many pieces at most the first rows of a tile lie in A; 0 for none."""
    run = problem.rows.run("A")
    if len(problem.rows.segments("A")) <= 1 or (run and run % tile.rows == 0):
        return 0 if run == 0 else 1
    return 1 + -(-(width - 1) // run) if run else 0


def packing_of_b(problem: Problem, lanes: int) -> Packing:
    """Return the kind of packing for B, if B is packed."""
    if problem.columns.dimensions and few(problem.columns.pieces("B", lanes)):
        return "rows"
    if problem.depth.dimensions and few(problem.depth.pieces("B", lanes * problem.word)):
        return "transpose"
    return "scalar"


def is_one(size: int | None, tile: int) -> bool:
    """Return whether a tile has all of a group."""
    return size is not None and size <= tile


def is_readable_a(problem: Problem) -> bool:
    """Return whether the micro-kernel may read A where it lies: its offsets are cheap to know."""
    if problem.dot is not None or "A" in problem.computed:
        return False
    return all(len(group.segments("A")) <= 1 for group in (problem.rows, problem.depth))


def is_readable_b(problem: Problem, lanes: int) -> bool:
    """Return whether the micro-kernel may read B where it lies: in whole vectors."""
    if problem.dot is not None or "B" in problem.computed:
        return False
    is_in_vectors = problem.columns.pieces("B", lanes) == 1 and bool(problem.columns.dimensions)
    return is_in_vectors and len(problem.depth.segments("B")) <= 1


def vectors_of_strips(problem: Problem, lanes: int) -> int:
    """Return the width, in vectors, of the strips in which B lies as packing would put it.

    The columns of a strip are contiguous, step after step of the depth. The width is 0 where B does
    not lie in such strips.
    """
    depth, width = problem.depth.segments("B"), problem.columns.run("B")
    if not width or width % lanes or len(depth) != 1 or depth[0].stride != width:
        return 0
    is_free = is_readable_b(problem, lanes) and "B" not in problem.converted
    return width // lanes if is_free else 0
