"""All cores beside one thread: each case on both in turn, and the gain of the machine itself.

python -m benchmarks scaling            # all cases
python -m benchmarks scaling softmax    # those whose name contains a word
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.table import Table

import linalg_ext as lx
from benchmarks import limits
from benchmarks.bars.case import Case
from benchmarks.bars.cases import all_cases
from benchmarks.timing import compare

_FAR = 256 << 20
"""Bytes that no cache holds."""


@dataclass(frozen=True)
class Scaling:
    """The gain from several threads.

    Attributes:
        alone: seconds on one thread.
        shared: seconds on several.
        gain: the median of the rounds' ratios.
    """

    name: str
    alone: float
    shared: float
    gain: float


def scaling(case: Case, threads: int, *, seconds: float = 1.0) -> Scaling:
    """A case on one thread and on several, its result written to an array that exists."""
    operands = case.operands()
    with lx.threads.using(1):
        out = np.empty_like(np.asarray(case.ours(*operands)))

    def on(count: int) -> None:
        with lx.threads.using(count):
            case.ours(*operands, out=out)

    for _ in range(70):  # until small sums are compiled for themselves
        on(1)
        if case.flops > 1 << 27 or out.size > 1 << 20:
            break
    measured = compare(lambda: on(threads), lambda: on(1), seconds=seconds)
    return Scaling(case.name, measured.theirs, measured.ours, measured.ratio)


def table(words: Sequence[str] = ()) -> Table:
    """All cases, and above them the limits that they run into."""
    threads = lx.threads.available()
    shown = Table("case", "one thread", f"{threads} threads", "gain", box=None)
    for name, gain in _limits(threads):
        shown.add_row(name, "", "", f"{gain:.2f}")
    for case in all_cases():
        if not words or any(word in case.name for word in words):
            result = scaling(case, threads)
            times = (f"{1e6 * time:.1f} us" for time in (result.alone, result.shared))
            shown.add_row(result.name, *times, f"{result.gain:.2f}")
    return shown


def _limits(threads: int) -> Iterator[tuple[str, float]]:
    peaks = [limits.peak_flops("f32", count).best for count in (threads, 1)]
    yield "the machine: f32 multiply-adds", peaks[0] / peaks[1]
    for traffic in (limits.COPY, limits.STREAMING_COPY):
        rates = [limits.bandwidth(_FAR, count, traffic).best for count in (threads, 1)]
        yield f"the machine: {traffic.name}", rates[0] / rates[1]
