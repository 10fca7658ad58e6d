"""Seconds of calls: in batches, in turn, in a race, on several threads at the same time."""

from __future__ import annotations

import math
import statistics
import threading
import time
from collections.abc import Callable, Sequence

Call = Callable[[], object]
Clock = Callable[[], float]
"""Tells seconds."""

_BATCH = 5e-4
"""Seconds that a call is repeated for, so that the clock's own time does not count."""

_LEAST_ROUNDS, _WARMING = 5, 0.4
"""Rounds and seconds before anything drops out: a machine takes a while to be at its speed."""

_BEHIND = 1.1
"""A call whose time exceeds the best time by this factor drops out."""

_STILL = 30
"""Rounds without a better time after which no better one is expected."""

_BETTER = 0.998
"""Part of a time that is a better one."""


_ROUND = 2e-3
"""Seconds that a round lasts at least: long beside a read of the clock."""

_ROUNDS = 25


def seconds_of(call: Call, *, rounds: int = _ROUNDS, clock: Clock = time.thread_time) -> float:
    """Return the seconds of one call: the least of several rounds, the least disturbed one.

    A call of one thread is timed by the clock of that thread, which stands still while others have
    the core; for that of several threads `clock` is `time.perf_counter`.
    """
    count = _count(call, clock, _ROUND)
    return min(_seconds(call, count, clock) for _ in range(rounds))


def seconds_together(
    calls: Sequence[Call], *, rounds: int = 9, clock: Clock = time.perf_counter
) -> float:
    """Return the seconds from the first start to the last end, each call on a thread of its own."""
    times: list[list[tuple[float, float]]] = [[] for _ in calls]
    barrier = threading.Barrier(len(calls))

    def run(call: Call, into: list[tuple[float, float]]) -> None:
        call()
        for _ in range(rounds):
            barrier.wait()
            start = clock()
            call()
            into.append((start, clock()))

    threads = [threading.Thread(target=run, args=pair) for pair in zip(calls, times, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lasted = [
        max(end for _, end in round) - min(start for start, _ in round)
        for round in zip(*times, strict=True)
    ]
    return float(min(lasted))


def in_turn(calls: Sequence[Call], seconds: float) -> list[float]:
    """Return the median of each call's seconds, over rounds of about a millisecond a call."""
    counts = [_count(call, time.perf_counter, 1e-3) for call in calls]
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + min(seconds, 0.5)
    while len(times[0]) < 5 or (time.perf_counter() < end and len(times[0]) < 200):
        for seconds_of_call, call, count in zip(times, calls, counts, strict=True):
            seconds_of_call.append(_seconds(call, count, time.perf_counter))
    return [statistics.median(seconds_of_call) for seconds_of_call in times]


def race(calls: Sequence[Call], seconds: float, *, clock: Clock = time.perf_counter) -> list[float]:
    """Return the least seconds of each call, timed in turn until it is known which is the fastest.

    Others that use the machine make a call slower, never faster, so each call's time is its least.
    A call that is clearly slower than the best drops out; the rest goes on until its times stay as
    they are.

    Args:
        calls: the calls that are timed.
        seconds: how long all of it takes at most, a few rounds aside.
        clock: tells the time.
    """
    counts = [_count(call, clock, _BATCH) for call in calls]
    least = [math.inf] * len(calls)
    running = list(range(len(calls)))
    begin, rounds, still = clock(), 0, 0
    while rounds < _LEAST_ROUNDS or (still < _STILL and len(running) > 1):
        passed = clock() - begin
        if rounds >= _LEAST_ROUNDS and passed >= seconds:
            break
        is_better = False
        for at in running:
            lasted = _seconds(calls[at], counts[at], clock)
            is_better |= lasted < _BETTER * least[at]
            least[at] = min(least[at], lasted)
        is_warm = rounds >= _LEAST_ROUNDS and passed >= _WARMING
        rounds, still = rounds + 1, still + 1 if is_warm and not is_better else 0
        if is_warm:
            best = min(least)
            running = [at for at in running if least[at] <= _BEHIND * best]
    return least


def _count(call: Call, clock: Clock, batch: float) -> int:
    """Return the number of calls that last for `batch` seconds, after one that warms up."""
    call()  # compiled, pages there, clock up
    return max(1, math.ceil(batch / max(_seconds(call, 1, clock), 1e-7)))


def _seconds(call: Call, count: int, clock: Clock) -> float:
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count
