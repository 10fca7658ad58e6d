"""Squares of vectors transposed in registers."""

from __future__ import annotations

from collections.abc import Sequence

from ._writer import Writer


def transpose(w: Writer, rows: Sequence[str], vector: str) -> list[str]:
    """Transpose a square, as many vectors as each has lanes: a power of two.

    Each of log2(lanes) rounds interleaves vectors that are half the square apart; one shuffle of
    two registers for each vector and round.

    Args:
        w: where the code is written.
        rows: the vectors.
        vector: their type.
    """
    lanes = len(rows)
    half = lanes // 2
    low = [at // 2 + lanes * (at % 2) for at in range(lanes)]
    high = [lane + half for lane in low]
    current, distance = list(rows), 1
    while distance < lanes:
        current = [
            w.op(f"vector.shuffle {current[at // 2]}, {current[at // 2 + half]} {order} : "
                 f"{vector}, {vector}")
            for at in range(lanes)
            for order in ((low, high)[at % 2],)
        ]  # fmt: skip
        distance *= 2
    return current
