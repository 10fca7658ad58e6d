"""The time of the arithmetic of an op, in the loops that code generation makes for it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from linalg_ext.target import Figures, Target

from ._work import CONTRACTION, MOVE, WINDOW, Work

_TILE_ROWS = 6
"""Rows of a tile of a contraction."""

_TILE_STEPS = 10.0
"""Steps of the depth that beginning and ending such a tile takes."""

_POOLING = 0.5
"""Part of the rate of simple operations that poolings reach."""

_ACROSS = 4.0
"""Simple operations for an element that is read across its rows, to transpose it in registers."""


def arithmetic(
    work: Work, rounds: float, target: Target, figures: Figures
) -> Iterator[tuple[str, float, float]]:
    """Yield the name, the seconds on one core and the count of each kind of operation.

    Args:
        work: of the op.
        rounds: how many times each iteration is done.
        target: the machine, whose registers are filled.
        figures: of the target.
    """
    count = work.iterations * rounds
    lanes = target.lanes(work.dtype) if _is_known(work.dtype) else 1
    for kind, each in work.operations:
        total = count * each
        if kind == "multiply_add":
            yield "multiply-adds", 2 * total / _product_rate(work, lanes, figures), 2 * total
        elif work.is_scalar:
            # One after another, two at a time at best.
            yield kind, max(1.0, each / 2) * count / figures.scalar, total
        else:
            rate = figures.function_rate(kind, work.dtype) * _filled(work, lanes)
            yield kind, total / (rate * (_POOLING if work.kind == WINDOW else 1.0)), total
    if across := _read_across(work):
        seconds = _ACROSS * across * count / figures.function_rate("simple", work.dtype)
        yield "transposing", seconds, across * count


def is_contiguous(work: Work) -> bool:
    """Return whether the loops are one over memory: all operands lie as the result does."""
    own = tuple((loop,) for loop in range(len(work.loops)))
    return all(access.axes in (own, ()) for access in (*work.reads, *work.writes))


def is_of_matrices(work: Work) -> bool:
    """Return whether both operands of a contraction have own dimensions, of more than 1."""
    return len(work.reads) >= 2 and min(_sizes(work)[:2]) > 1


def _sizes(work: Work) -> tuple[int, int, int]:
    """Rows, columns and depth of a contraction of two operands."""
    left, right = ({loop for axis in access.axes for loop in axis} for access in work.reads[:2])
    rows, columns, depth = (
        math.prod(work.loops[loop] for loop in loops)
        for loops in (left - right, right - left, left & right & set(work.reduced))
    )
    return rows, columns, depth


def _product_rate(work: Work, lanes: int, figures: Figures) -> float:
    if work.kind != CONTRACTION or len(work.reads) < 2:
        width = _innermost_parallel(work)
        return figures.rate("windows", work.dtype) * _part_filled(width, lanes)
    rows, columns, depth = _sizes(work)
    if not is_of_matrices(work):
        # No element of a matrix is used twice: loads set the pace.
        return figures.rate("multiply_adds", work.dtype) / 4 * _part_filled(depth, lanes)
    edges = _part_filled(rows, _TILE_ROWS) * _part_filled(columns, lanes)
    return figures.rate("contractions", work.dtype) * edges * depth / (depth + _TILE_STEPS)


def _innermost_parallel(work: Work) -> int:
    parallel = [size for at, size in enumerate(work.loops) if at not in work.reduced]
    return parallel[-1] if parallel else 1


def _filled(work: Work, lanes: int) -> float:
    """Return the share of the lanes that are in use on average."""
    if work.kind == MOVE or not work.loops:
        return 1.0
    length = work.iterations if is_contiguous(work) else work.loops[-1]
    return _part_filled(length, lanes)


def _part_filled(length: int, step: int) -> float:
    return length / (-(-length // step) * step) if length else 1.0


def _read_across(work: Work) -> int:
    """Return the number of operands that lie across the innermost loop."""
    if work.kind in (CONTRACTION, WINDOW, MOVE) or len(work.loops) < 2:
        return 0
    inner = len(work.loops) - 1
    return sum(any(axis == (inner,) for axis in access.axes[:-1]) for access in work.reads)


def _is_known(dtype: str) -> bool:
    return dtype.lstrip("suibf").isdigit() or dtype == "index"
