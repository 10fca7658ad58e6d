"""The least time of several runs: what others on the machine disturbed least."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

Work = Callable[[], object]

_ROUND = 2e-3
"""Seconds that a round lasts at least: long beside what reading the clock takes."""

_ROUNDS = 25


def seconds_of(work: Work, *, rounds: int = _ROUNDS) -> float:
    """Seconds of one call."""
    work()  # compiled, pages there, clock up
    start = time.perf_counter()
    work()
    calls = max(1, int(_ROUND / max(time.perf_counter() - start, 1e-7)))
    return min(_round(work, calls) for _ in range(rounds))


def seconds_together(works: Sequence[Work], *, rounds: int = 9) -> float:
    """Seconds from the first start to the last end, each call on a thread of its own."""
    times: list[list[tuple[float, float]]] = [[] for _ in works]
    barrier = threading.Barrier(len(works))

    def run(work: Work, into: list[tuple[float, float]]) -> None:
        work()
        for _ in range(rounds):
            barrier.wait()
            start = time.perf_counter()
            work()
            into.append((start, time.perf_counter()))

    threads = [threading.Thread(target=run, args=pair) for pair in zip(works, times, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lasted = [
        max(end for _, end in each) - min(start for start, _ in each)
        for each in zip(*times, strict=True)
    ]
    return float(min(lasted))


def _round(work: Work, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - start) / calls
