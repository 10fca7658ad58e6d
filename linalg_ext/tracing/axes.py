"""Axes as NumPy names them: counted from the end, one or several, all where none is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.errors import ArgumentError, ShapeError, caller_location
from linalg_ext.tracing.traced import Traced


def normal_axis(axis: Any, rank: int, name: str) -> int:
    """An axis counted from the start.

    Raises:
        ShapeError: there is none of that number.
    """
    if not hasattr(axis, "__index__") or isinstance(axis, bool):
        raise ArgumentError(
            f"{name}: axis={axis!r}", where=caller_location(), expected="an integer"
        )
    number: int = axis.__index__()
    if not -rank <= number < rank:
        raise ShapeError(
            f"{name}: axis {number} of an array of rank {rank}",
            where=caller_location(),
            expected=f"{-rank} to {rank - 1}" if rank else "no axis: it is of rank 0",
        )
    return number % rank


def normal_axes(axes: Any, rank: int, name: str) -> tuple[int, ...]:
    """Axes counted from the start, in order; all of them for None.

    Raises:
        ShapeError: there is none of that number, or one is named twice.
    """
    if axes is None:
        return tuple(range(rank))
    given = axes if isinstance(axes, tuple | list) else (axes,)
    found = [normal_axis(axis, rank, name) for axis in given]
    if len(set(found)) < len(found):
        raise ShapeError(f"{name}: axes {tuple(given)} name one twice", where=caller_location())
    return tuple(found)


def with_axes_of_one(value: Traced, axes: Sequence[int], rank: int) -> Traced:
    """A view of a rank with axes of size 1 at some places, the others in order."""
    rest = iter(zip(value.shape, value.axes, strict=True))
    both = [(1, None) if axis in axes else next(rest) for axis in range(rank)]
    return Traced(
        value.tensor,
        value.dtype,
        tuple(size for size, _ in both),
        [dim for _, dim in both],
        weak=value.weak,
        base=value,
    )
