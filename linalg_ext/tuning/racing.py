"""Calls that race: timed in turn until it is clear which is the fastest.

    seconds = race([one, other], 1.0)

Others that use the machine make a call slower, never faster, so each call's time is its least. What
is clearly slower than the best drops out; the rest goes on until its times stay as they are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

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


def race(
    calls: Sequence[Callable[[], object]],
    seconds: float,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """The least seconds of each call, measured until the fastest is known.

    Args:
        calls: what is timed.
        seconds: how long all of it takes at most, a few rounds aside.
        clock: tells the time.
    """
    counts = [_count(call, clock) for call in calls]
    least = [math.inf] * len(calls)
    running = list(range(len(calls)))
    begin, rounds, still = clock(), 0, 0
    while rounds < _LEAST_ROUNDS or (still < _STILL and len(running) > 1):
        passed = clock() - begin
        if rounds >= _LEAST_ROUNDS and passed >= seconds:
            break
        is_better = False
        for at in running:
            taken = _seconds(calls[at], counts[at], clock)
            is_better |= taken < _BETTER * least[at]
            least[at] = min(least[at], taken)
        is_warm = rounds >= _LEAST_ROUNDS and passed >= _WARMING
        rounds, still = rounds + 1, still + 1 if is_warm and not is_better else 0
        if is_warm:
            best = min(least)
            running = [at for at in running if least[at] <= _BEHIND * best]
    return least


def _count(call: Callable[[], object], clock: Callable[[], float]) -> int:
    """Return the number of calls in a batch, after a first call that warms up."""
    call()
    return max(1, math.ceil(_BATCH / max(_seconds(call, 1, clock), 1e-7)))


def _seconds(call: Callable[[], object], count: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count
