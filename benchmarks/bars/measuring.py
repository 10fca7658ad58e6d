"""Every runner of a case, timed in turn."""

from __future__ import annotations

import contextlib
import ctypes
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import linalg_ext as lx
from benchmarks import peers
from benchmarks.bars.case import Case
from benchmarks.peers import Array, Function
from benchmarks.timing import Work

SECONDS = 1.0
"""The least time of the rounds of one case."""

PATIENCE = 30.0
"""Seconds for the first call of a peer, compilation included where it happens then."""

LARGE = 1 << 20
"""Bytes of a result from which on it matters where its memory comes from."""

FAR_BEHIND = 8.0
"""A peer that is slower than the quickest by this factor is timed once."""


@dataclass(frozen=True)
class Result:
    """The measurements of a case: seconds, medians over rounds.

    Attributes:
        name: of the case.
        threads: how many there were.
        memory: `dropped` where a result is gone when the next one is made, as in a loop of a
            user's; `kept` where all results of a round are alive, and each runner begins without
            memory that is free; `reused` where results are written to an array that exists.
        ours: a call of this project.
        peers: one of each peer.
        best: the quickest of them.
        ratio: its time by ours, the median over rounds.
        gflops: ours; 0 where operations do not bound the time.
        flops: additions and multiplications.
        moved: bytes of operands and result, each once.
        element: the dtype of the first operand.
        limit: seconds that the machine needs at the least; 0 where that was not asked.
    """

    name: str
    threads: int
    memory: str
    ours: float
    peers: dict[str, float]
    best: str
    ratio: float
    gflops: float
    flops: int = 0
    moved: int = 0
    element: str = "f4"
    limit: float = 0.0


def measure(case: Case, threads: int, *, seconds: float = SECONDS) -> Iterator[Result]:
    """Time a case against every peer at hand, whatever becomes of the results."""
    arrays = case.operands()
    expected = np.asarray(case.functions["numpy"](*arrays))
    result = np.asarray(case.ours(*arrays))
    _check(result, expected, case)
    works = _works(case, case.peers, arrays, expected)
    out = np.empty_like(result)
    for _ in range(70):  # until small sums are compiled for themselves
        case.ours(*arrays, out=out)
        if case.flops > 1 << 27 or out.size > 1 << 20:
            break
    allocating, reusing = (lambda: case.ours(*arrays)), (lambda: case.ours(*arrays, out=out))
    moved = sum(array.nbytes for array in (*arrays, result))
    yield _result(case, threads, "dropped", moved, {"ours": allocating, **works}, seconds)
    if result.nbytes >= LARGE:
        yield _result(case, threads, "kept", moved, {"ours": allocating, **works}, seconds)
    works = _works(case, case.reused, [*arrays, np.empty_like(result)], expected)
    if works:
        yield _result(case, threads, "reused", moved, {"ours": reusing, **works}, seconds)


def _works(
    case: Case, functions: Mapping[str, Function], arrays: Sequence[Array], expected: Array
) -> dict[str, Work]:
    """Return the work of each peer, checked once; leave out a peer that fails, with a message."""
    works: dict[str, Work] = {}
    for name in peers.installed():
        try:
            work = peers.work(name, functions, arrays)
            if work is not None:
                started = time.perf_counter()
                _check(np.asarray(work()), expected, case)
                if time.perf_counter() - started > PATIENCE:
                    raise TimeoutError(f"its first call took more than {PATIENCE:.0f} s")
                works[name] = work
        except Exception as error:
            if name == "numpy":
                raise
            first = str(error).strip().partition("\n")[0]
            print(f"{name} is left out of {case.name}: {first}", file=sys.stderr)
    return works


def _check(result: Array, expected: Array, case: Case) -> None:
    wide = np.complex128 if np.iscomplexobj(expected) else np.float64
    np.testing.assert_allclose(
        case.compared(np.asarray(result, wide)),
        case.compared(np.asarray(expected, wide)),
        rtol=case.tolerance,
        atol=case.tolerance,
    )


def _result(
    case: Case, threads: int, memory: str, moved: int, works: Mapping[str, Work], seconds: float
) -> Result:
    times = rounds(works, keep=memory == "kept", seconds=seconds)
    peer_times = {name: statistics.median(t) for name, t in times.items() if name != "ours"}
    best = min(peer_times, key=lambda name: peer_times[name])
    ours = statistics.median(times["ours"])
    ratio = statistics.median(t / o for t, o in zip(times[best], times["ours"], strict=True))
    element = case.dtype if isinstance(case.dtype, str) else case.dtype[0]
    return Result(
        case.name,
        threads,
        memory,
        ours,
        peer_times,
        best,
        ratio,
        case.flops / ours / 1e9,
        case.flops,
        moved,
        element,
    )


def rounds(
    works: Mapping[str, Work], *, keep: bool, seconds: float = SECONDS
) -> dict[str, list[float]]:
    """The seconds of each runner in every round; of one that is far behind, of one call.

    The work that a runner leaves behind, such as pages to be unmapped by a thread of its own, is
    not always for the same one to wait for: each round begins with another. With `keep`, all
    results of a round live until its end, and no runner finds memory that another gave back:
    neither our pool nor the C library keeps any.
    """
    first = {}
    for name, work in works.items():
        work()
        started = time.perf_counter()
        work()
        first[name] = time.perf_counter() - started
    peer_times = {name: duration for name, duration in first.items() if name != "ours"}
    least = min(peer_times.values())
    behind = {name for name, duration in peer_times.items() if duration > FAR_BEHIND * least}
    counts = {name: max(1, int(0.003 / max(duration, 1e-7))) for name, duration in first.items()}
    times: dict[str, list[float]] = {
        name: [first[name]] if name in behind else [] for name in works
    }
    order = [name for name in works if name not in behind]
    result: object = None
    end = time.perf_counter() + seconds
    while len(times["ours"]) < 7 or time.perf_counter() < end:
        alive: list[object] = []
        order = order[1:] + order[:1]
        for name in order:
            work = works[name]
            # The memory of the previous runner is freed here: its release is not work of this one.
            result = None
            if keep:
                _give_free_memory_back()
            started = time.perf_counter()
            for _ in range(counts[name]):
                result = work()
            times[name].append((time.perf_counter() - started) / counts[name])
            alive.append(result)
            if not keep:
                alive.clear()
        if keep:
            result = None
            alive.clear()
        if len(times["ours"]) >= 200:
            break
    return times


def _give_free_memory_back() -> None:
    """Let neither our pool nor the C library, which NumPy and PyTorch allocate by, keep any."""
    lx.memory.clear()
    with contextlib.suppress(AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
