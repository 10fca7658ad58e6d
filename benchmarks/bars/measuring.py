"""Every runner of a case, timed in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks import peers
from benchmarks.bars.case import Case
from benchmarks.timing import Work

SECONDS = 1.0
"""How long the rounds of one case go on, at least."""


@dataclass(frozen=True)
class Result:
    """What was measured: seconds, medians over rounds."""

    name: str
    threads: int
    memory: str
    ours: float
    peers: dict[str, float]
    best: str
    ratio: float
    gflops: float


def measure(case: Case, threads: int) -> Iterator[Result]:
    """Time a case against every peer at hand, with fresh results and with reused ones."""
    arrays = case.operands()
    expected = np.asarray(case.functions["numpy"](*arrays))
    result = np.asarray(case.ours(*arrays))
    np.testing.assert_allclose(result, expected, rtol=case.tolerance, atol=case.tolerance)
    works: dict[str, Work] = {}
    for name in peers.installed():
        if (work := peers.work(name, case.functions, arrays)) is not None:
            works[name] = work
    out = np.empty_like(result)
    for _ in range(70):  # until small sums are compiled for themselves
        case.ours(*arrays, out=out)
        if case.flops > 1 << 27 or out.size > 1 << 20:
            break
    fresh, reused = (lambda: case.ours(*arrays)), (lambda: case.ours(*arrays, out=out))
    yield _result(case, threads, "fresh", {"ours": fresh, **works}, keep=True)
    given = [*arrays, np.empty_like(result)]
    works = {}
    for name in peers.installed():
        if (work := peers.work(name, case.reused, given)) is not None:
            works[name] = work
    if works:
        yield _result(case, threads, "reused", {"ours": reused, **works}, keep=False)


def _result(
    case: Case, threads: int, memory: str, works: Mapping[str, Work], *, keep: bool
) -> Result:
    times = rounds(works, keep=keep)
    others = {name: statistics.median(t) for name, t in times.items() if name != "ours"}
    best = min(others, key=lambda name: others[name])
    ours = statistics.median(times["ours"])
    ratio = statistics.median(t / o for t, o in zip(times[best], times["ours"], strict=True))
    return Result(case.name, threads, memory, ours, others, best, ratio, case.flops / ours / 1e9)


def rounds(works: Mapping[str, Work], *, keep: bool) -> dict[str, list[float]]:
    """The seconds of each runner in every round."""
    counts = {}
    for name, work in works.items():
        work()
        started = time.perf_counter()
        work()
        counts[name] = max(1, int(0.003 / max(time.perf_counter() - started, 1e-7)))
    times: dict[str, list[float]] = {name: [] for name in works}
    end = time.perf_counter() + SECONDS
    while len(times["ours"]) < 7 or time.perf_counter() < end:
        alive = []
        for name, work in works.items():
            started = time.perf_counter()
            for _ in range(counts[name]):
                result = work()
            times[name].append((time.perf_counter() - started) / counts[name])
            if keep:
                alive.append(result)
        if len(times["ours"]) >= 200:
            break
    return times
