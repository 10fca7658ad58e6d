"""The limits of this machine: peak arithmetic and bandwidth, measured by kernels of our own.

    python -m benchmarks limits

No result of any library can be faster, so ratios to these limits show the room that is left.
Arithmetic is a loop of multiply-adds on registers alone, as many at a time as hide their latency.
Bandwidth is counted as a program sees it: bytes read and bytes written. The bytes that the caches
read before they write a line are not counted (as in J. McCalpin's STREAM).
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from rich.table import Table

import linalg_ext as lx
from linalg_ext import target
from linalg_ext.compiler.calibration import (
    accumulators,
    aligned,
    arithmetic,
    multiply_add_kernel,
)
from linalg_ext.target.model import element_bits
from linalg_ext.target.text import bytes_text


@dataclass(frozen=True)
class Rate:
    """Work a second over several rounds: the median, and the best, which others disturbed least."""

    median: float
    best: float

    @classmethod
    def of(cls, work: float, seconds: Sequence[float]) -> Rate:
        """Yield the rates at which `work` is done, each over the given seconds."""
        return cls(work / statistics.median(seconds), work / min(seconds))


@dataclass(frozen=True)
class Traffic:
    """A loop that moves memory.

    Attributes:
        name: its name in tables.
        inputs: how many arrays it reads; it writes one more.
        streams: whether its stores go around the caches.
    """

    name: str
    inputs: int
    streams: bool = False

    @property
    def arrays(self) -> int:
        """The number of arrays."""
        return self.inputs + 1


COPY = Traffic("copy", 1)
STREAMING_COPY = Traffic("copy, non-temporal", 1, streams=True)
TRIAD = Traffic("triad", 2)
STREAMING_TRIAD = Traffic("triad, non-temporal", 2, streams=True)
TRAFFIC = (COPY, STREAMING_COPY, TRIAD, STREAMING_TRIAD)


def peak_flops(dtype: str, threads: int = 1, *, rounds: int = 41) -> Rate:
    """Additions and multiplications a second, by the widest instruction that does both.

    Args:
        dtype: of the factors; a name of `arithmetic()`.
        threads: how many run at once.
    """
    steps = 4_000_000  # some milliseconds a round
    kind = arithmetic()[dtype]
    kernel, count = multiply_add_kernel(kind), accumulators()
    # All are zero and stay so: no overflow, no subnormal.
    length = kind.bits // element_bits(kind.factors)
    data = [aligned(2 * length, kind.factors) for _ in range(threads)]
    results = [aligned(count * kind.lanes, kind.sums) for _ in range(threads)]
    works = [partial(kernel, *arrays, steps) for arrays in zip(data, results, strict=True)]
    flops = float(kind.flops * count * steps * threads)
    return Rate.of(flops, _seconds(works, rounds))


def bandwidth(
    footprint: int, threads: int = 1, traffic: Traffic = COPY, *, rounds: int = 11
) -> Rate:
    """Bytes a second that are read and written, with arrays of `footprint` bytes in all.

    Every thread has a stretch of its own of each array.

    Args:
        footprint: of all arrays together; rounded down to whole registers.
    """
    repeats = max(1, (128 << 20) // max(1, footprint))  # some milliseconds a round
    works, moved = traffic_work(footprint, threads, traffic, repeats=repeats)
    return Rate.of(float(moved), _seconds(works, rounds))


def traffic_work(
    footprint: int, threads: int = 1, traffic: Traffic = COPY, *, repeats: int = 1
) -> tuple[list[Callable[[], object]], int]:
    """Return a work for each thread, and the bytes that all of them together move.

    For measuring the bandwidth in turn with something else: see `benchmarks.timing.compare`.
    """
    lanes = target.current().lanes("f32")
    step = lanes * _UNROLL
    length = max(1, footprint // (4 * traffic.arrays * threads * step)) * step
    kernel = _traffic_kernel(traffic)
    works: list[Callable[[], object]] = [
        partial(kernel, *(aligned(length, "f32") for _ in range(traffic.arrays)), repeats)
        for _ in range(threads)
    ]
    return works, 4 * length * traffic.arrays * threads * repeats


@dataclass(frozen=True)
class Limits:
    """The limits that were measured for some number of threads.

    Attributes:
        flops: for each element type, operations a second.
        copies: for each footprint in bytes, in rising order, bytes a second of a copy.
    """

    threads: int
    flops: dict[str, float]
    copies: dict[int, float]

    def bytes_per_second(self, footprint: int) -> float:
        """Return the bandwidth of a copy with a footprint.

        It is that of the smallest footprint measured that is not smaller, or of the largest.
        """
        fitting = [size for size in self.copies if size >= footprint]
        return self.copies[min(fitting) if fitting else max(self.copies)]

    def seconds(self, *, flops: float, moved: float, dtype: str = "f32") -> float:
        """Return the least time for counts of operations and of bytes from and to memory.

        The roofline: Williams, Waterman and Patterson, CACM 52(4), 2009.
        """
        return max(flops / self.flops[dtype], moved / self.bytes_per_second(int(moved)))


@cache
def measured(threads: int = 1) -> Limits:
    """The limits of this machine, measured once a run: best rates, for a limit is the best."""
    return Limits(
        threads,
        {dtype: peak_flops(dtype, threads).best for dtype in arithmetic()},
        {size: bandwidth(size, threads, _best_copy(size)).best for size in footprints()},
    )


def footprints() -> list[int]:
    """Half of each cache, and a size that no cache holds."""
    caches = target.current().caches
    return [cache.size // 2 for cache in caches] + [max(256 << 20, 6 * caches[-1].size)]


def table() -> Table:
    """All limits on one thread and on all, for people."""
    counts = sorted({1, target.current().logical_cores})
    shown = Table("limit", *(_threads_text(count) for count in counts), "unit", box=None)
    for dtype, kind in arithmetic().items():
        rates = [peak_flops(dtype, count) for count in counts]
        shown.add_row(f"{dtype} into {kind.sums}", *(_rate_text(rate) for rate in rates), "GFLOP/s")
    for size in footprints():
        for traffic in TRAFFIC:
            if traffic.streams and size < target.current().caches[-1].size:
                continue  # non-temporal stores are of no use where a cache holds everything
            rates = [bandwidth(size, count, traffic) for count in counts]
            name = f"{traffic.name}, {bytes_text(size)}"
            shown.add_row(name, *(_rate_text(rate) for rate in rates), "GB/s")
    return shown


def _best_copy(footprint: int) -> Traffic:
    return STREAMING_COPY if footprint > target.current().caches[-1].size else COPY


def _threads_text(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _rate_text(rate: Rate) -> str:
    return f"{rate.median / 1e9:.1f} (best {rate.best / 1e9:.1f})"


_UNROLL = 4
"""Registers that are moved in one turn of the loop."""


@cache
def _traffic_kernel(traffic: Traffic) -> Any:
    """`f(inputs..., output, repeats)`: the output is the sum of the inputs, again and again."""
    lanes = target.current().lanes("f32")
    vector, memory = f"vector<{lanes}xf32>", "memref<?xf32>"
    inputs = [f"%in{index}" for index in range(traffic.inputs)]
    hint = (
        f"{{nontemporal = true, alignment = {target.current().vector_bits // 8} : i64}} "
        if traffic.streams
        else ""
    )
    lines = []
    for turn in range(_UNROLL):
        lines.append(f"%o{turn} = arith.constant {turn * lanes} : index")
        lines.append(f"%i{turn} = arith.addi %i, %o{turn} overflow<nsw> : index")
        for index, name in enumerate(inputs):
            lines.append(f"%v{turn}_{index} = vector.load {name}[%i{turn}] : {memory}, {vector}")
        total = f"%v{turn}_0"
        for index in range(1, len(inputs)):
            lines.append(f"%s{turn}_{index} = arith.addf {total}, %v{turn}_{index} : {vector}")
            total = f"%s{turn}_{index}"
        lines.append(f"vector.store {total}, %out[%i{turn}] {hint}: {memory}, {vector}")
    body = "\n".join(lines)
    text = f"""
    func.func @move({", ".join(f"{name}: {memory}" for name in inputs)}, %out: {memory},
                    %repeats: index) {{
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %step = arith.constant {lanes * _UNROLL} : index
      %length = memref.dim %out, %c0 : {memory}
      scf.for %again = %c0 to %repeats step %c1 {{
        scf.for %i = %c0 to %length step %step {{
          {body}
        }}
      }}
      return
    }}"""
    return lx.compile(text, trusted=True, checked=False)


def _seconds(works: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Return the seconds of each round, from the first start to the last end, one thread a work."""
    times: list[list[tuple[float, float]]] = []
    barrier = threading.Barrier(len(works))

    def run(work: Callable[[], object], into: list[tuple[float, float]]) -> None:
        work()  # compiled, pages there, clock up
        for _ in range(rounds):
            barrier.wait()
            start = time.perf_counter()
            work()
            into.append((start, time.perf_counter()))

    threads = []
    for work in works:
        times.append([])
        threads.append(threading.Thread(target=run, args=(work, times[-1])))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [
        max(end for _, end in spans) - min(start for start, _ in spans)
        for spans in zip(*times, strict=True)
    ]
