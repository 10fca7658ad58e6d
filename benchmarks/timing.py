"""Two callables timed in turn, so that a disturbance of the machine affects both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True)
class Comparison:
    """Seconds of one call, the median over rounds, and the median of the rounds' ratios."""

    ours: float
    theirs: float
    ratio: float


def compare(
    ours: Work,
    theirs: Work,
    *,
    seconds: float = 1.0,
    clock: Callable[[], float] = time.perf_counter,
) -> Comparison:
    """Time two callables in alternate rounds of some milliseconds each.

    Args:
        ours, theirs: the functions that are called.
        seconds: for how long, about.
        clock: the clock of a round.
    """
    ours()
    theirs()
    calls = [_calls_for(work) for work in (ours, theirs)]
    rounds: list[tuple[float, float]] = []
    end = time.perf_counter() + seconds
    while len(rounds) < 5 or time.perf_counter() < end:
        rounds.append((_one_round(ours, calls[0], clock), _one_round(theirs, calls[1], clock)))
    return Comparison(
        statistics.median(our_seconds for our_seconds, _ in rounds),
        statistics.median(their_seconds for _, their_seconds in rounds),
        statistics.median(their_seconds / our_seconds for our_seconds, their_seconds in rounds),
    )


def best_of(work: Work, runs: int = 5) -> float:
    """The shortest time of several runs, in seconds."""
    return min(_one_round(work, 1) for _ in range(runs))


def _calls_for(work: Work) -> int:
    started = time.perf_counter()
    work()
    return max(1, int(0.005 / max(time.perf_counter() - started, 1e-7)))


def _one_round(work: Work, calls: int, clock: Callable[[], float] = time.perf_counter) -> float:
    started = clock()
    for _ in range(calls):
        work()
    return (clock() - started) / calls
