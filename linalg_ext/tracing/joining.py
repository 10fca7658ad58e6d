"""`np.r_` and `np.c_` of traced values."""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.tracing.casting import cast_to, common_dtype
from linalg_ext.tracing.constants import as_traced
from linalg_ext.tracing.patching import Place
from linalg_ext.tracing.traced import Traced, xp
from linalg_ext.tracing.unsupported import refuse


class Joiner:
    """`np.r_` or `np.c_` while a function is traced.

    Attributes:
        original: NumPy's.
        axis, ndmin, first: along which axis parts are joined, the rank that they have at least,
            and where the axes of a part of a smaller rank come, as in a directive.
    """

    def __init__(self, original: Any, axis: int, ndmin: int, first: int) -> None:
        self.original = original
        self.axis, self.ndmin, self.first = axis, ndmin, first

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if not any(isinstance(part, Traced) for part in parts):
            return self.original[key]
        axis, ndmin, first = self.axis, self.ndmin, self.first
        if isinstance(parts[0], str):
            given = parts[0].split(",")
            if not all(number.strip().lstrip("-").isdecimal() for number in given):
                refuse(f"np.r_[{parts[0]!r}, ...], a matrix", "leave the letter out")
            numbers = [*map(int, given), *(ndmin, first)[len(given) - 1 :]]
            axis, ndmin, first = numbers[:3]
            parts = parts[1:]
        values = [np.r_[part] if isinstance(part, slice) else part for part in parts]
        dtype = common_dtype("r_", values)
        return xp.concatenate(
            [_widened(cast_to(as_traced(each), dtype), ndmin, first) for each in values], axis
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


def _widened(value: Traced, rank: int, first: int) -> Traced:
    """A value with axes of size 1 in front, its own ones brought to a place."""
    missing = rank - value.ndim
    if missing <= 0:
        return value
    wide = xp.expand_dims(value, tuple(range(missing)))
    if first == -1 or not value.ndim:
        return wide
    start = first if first >= 0 else first + missing + 1
    order = list(range(rank))
    return xp.transpose(wide, order[:start] + order[missing:] + order[start:missing])


def joiners() -> list[Place]:
    """The replacements of both."""
    return [
        (np, "r_", lambda original: Joiner(original, 0, 1, -1)),
        (np, "c_", lambda original: Joiner(original, -1, 2, 0)),
    ]
