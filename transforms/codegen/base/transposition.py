"""Squares of vectors transposed in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from .writer import Writer

Vector = TypeVar("Vector")


def transposed(
    rows: Sequence[Vector], lanes: int, shuffle: Callable[[Vector, Vector, list[int]], Vector]
) -> list[Vector]:
    """Transpose vectors, as many as there are lanes or more, both powers of two: one for each lane.

    Each round interleaves vectors that are half of all apart. If there are more vectors than lanes,
    the first rounds join two vectors to one, until they are as long as there were vectors. The last
    log2(lanes) rounds make two vectors of two: one shuffle for each, which picks elements of two
    vectors by their numbers in both.
    """
    current, length = list(rows), lanes
    while length < len(rows):
        half, length = len(current) // 2, 2 * length
        order = _interleaved(length // 2)
        current = [shuffle(current[at], current[at + half], order) for at in range(half)]
    half, order = len(current) // 2, _interleaved(length)
    halves = order[:length], order[length:]
    for _ in range(lanes.bit_length() - 1):
        current = [
            shuffle(current[at // 2], current[at // 2 + half], halves[at % 2])
            for at in range(len(current))
        ]
    return current


def _interleaved(length: int) -> list[int]:
    return [at // 2 + length * (at % 2) for at in range(2 * length)]


def transpose(w: Writer, rows: Sequence[str], vector: str) -> list[str]:
    """Write the transposition of a square: as many vectors of a type as each has lanes."""

    return transposed(rows, len(rows), partial(w.shuffle, vector=vector))
