"""The durations of calls."""

from __future__ import annotations

import time
from collections.abc import Callable

_LEAST_CALLS = 3


def times_of_calls(call: Callable[[], object], seconds: float) -> list[float]:
    """The seconds of each of as many calls as there is time for; of three at least.

    One call before them is not counted: code for several threads is made at the first.
    """
    call()
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while len(taken) < _LEAST_CALLS or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return taken
