"""Vectors transposed in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import vector


def transposed(rows: Sequence[Any]) -> list[Any]:
    """Vectors of R elements, a power of two of them and at least R, as R vectors of as many.

    Interleaves vectors that are half of all apart: first two to one, until they are as long as
    there were vectors, then two to two.
    """
    current = list(rows)
    count, length = len(current), current[0].type.shape[0]
    while current[0].type.shape[0] < count:
        half = len(current) // 2
        current = [_interleaved(current[at], current[at + half], None) for at in range(half)]
    for _ in range(length.bit_length() - 1):
        half = len(current) // 2
        current = [
            _interleaved(current[at // 2], current[at // 2 + half], at % 2)
            for at in range(len(current))
        ]
    return current


def _interleaved(one: Any, other: Any, half: int | None) -> Any:
    """The elements of two vectors in turn: all of them, or the lower or the upper half."""
    length = one.type.shape[0]
    order = [at // 2 + length * (at % 2) for at in range(2 * length)]
    if half is not None:
        order = order[half * length : (half + 1) * length]
    return vector.shuffle(one, other, order)
