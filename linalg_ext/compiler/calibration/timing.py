"""The least time of several runs: what others on the machine disturbed least.

What runs on one thread is timed by the clock of that thread, which stands still while others have
the core.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

Work = Callable[[], object]

Clock = Callable[[], float]
"""Tells seconds."""

_ROUND = 2e-3
"""Seconds that a round lasts at least: long beside what reading the clock takes."""

_ROUNDS = 25


def seconds_of(work: Work, *, rounds: int = _ROUNDS, clock: Clock = time.thread_time) -> float:
    """Seconds of one call; of what several threads work on, `clock` is `time.perf_counter`."""
    work()  # compiled, pages there, clock up
    start = clock()
    work()
    calls = max(1, int(_ROUND / max(clock() - start, 1e-7)))
    return min(_round(work, calls, clock) for _ in range(rounds))


def seconds_together(
    works: Sequence[Work], *, rounds: int = 9, clock: Clock = time.perf_counter
) -> float:
    """Return the seconds from the first start to the last end, each call on a thread of its own."""
    times: list[list[tuple[float, float]]] = [[] for _ in works]
    barrier = threading.Barrier(len(works))

    def run(work: Work, into: list[tuple[float, float]]) -> None:
        work()
        for _ in range(rounds):
            barrier.wait()
            start = clock()
            work()
            into.append((start, clock()))

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


def _round(work: Work, calls: int, clock: Clock) -> float:
    start = clock()
    for _ in range(calls):
        work()
    return (clock() - start) / calls
