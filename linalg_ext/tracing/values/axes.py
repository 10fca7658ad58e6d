"""Axes as NumPy names them: counted from the end, one or several, all where none is named."""

from __future__ import annotations

from typing import Any

from linalg_ext.errors import ArgumentError, ShapeError, caller_location


def normal_axis(axis: Any, rank: int, name: str) -> int:
    """Return an axis counted from the start.

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
    listed = axes if isinstance(axes, tuple | list) else (axes,)
    normal = [normal_axis(axis, rank, name) for axis in listed]
    if len(set(normal)) < len(normal):
        raise ShapeError(f"{name}: axes {tuple(listed)} name one twice", where=caller_location())
    return tuple(normal)
