"""What a call costs beside the work: each way of calling, and NumPy's own, in turn.

    python -m benchmarks calls

The arrays have four elements, of which the native code takes some nanoseconds. Times are the median
of rounds in which all ways take their turns; the last table has several threads call one kernel.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

import linalg_ext as lx
from benchmarks.timing import Work
from linalg_ext.runtime.caller import caller

ADD = """
func.func @add(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.add ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
       -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""

_CALLS = 2000
"""Of a way in one round."""

_WARM = 200
"""Calls before anything is measured: until each of them is known."""


def ways() -> dict[str, Work]:
    """Ways to add two vectors or multiply two matrices of four elements, by what is written."""
    kernel = lx.compile(ADD)
    jitted = lx.jit(lambda x, y: x + y)
    a, b, out = (np.ones(4, np.float32) for _ in range(3))
    m, n, product = (np.ones((2, 2), np.float32) for _ in range(3))
    return {
        "np.add(a, b, out=out)": lambda: np.add(a, b, out=out),
        "kernel(a, b, out=out)": lambda: kernel(a, b, out=out),
        "lx.ops.add(a, b, out=out)": lambda: lx.ops.add(a, b, out=out),
        "jitted(a, b, out=out)": lambda: jitted(a, b, out=out),
        "np.add(a, b)": lambda: np.add(a, b),
        "kernel(a, b)": lambda: kernel(a, b),
        "lx.ops.add(a, b)": lambda: lx.ops.add(a, b),
        "jitted(a, b)": lambda: jitted(a, b),
        "lx.ops.mul(a, 2.0)": lambda: lx.ops.mul(a, 2.0),
        "np.matmul(m, n, out=out)": lambda: np.matmul(m, n, out=product),
        'lx.einsum("ij,jk->ik", m, n, out=out)': lambda: lx.einsum("ij,jk->ik", m, n, out=product),
        'lx.einsum("ij,jk->ik", m, n)': lambda: lx.einsum("ij,jk->ik", m, n),
    }


def run(*, quick: bool = False) -> int:
    """Measure, and print the tables."""
    works = ways()
    started = time.perf_counter()
    caller.make()
    console = Console()
    console.print(f"the native caller took {1e3 * (time.perf_counter() - started):.0f} ms to make")
    console.print(_single(works, 10 if quick else 60))
    console.print(_scaling(20_000 if quick else 200_000))
    return 0


def _single(works: dict[str, Work], rounds: int) -> Table:
    """One thread, beside an empty function of Python's, whose call is taken off."""
    works = {"": lambda: None, **works}
    for work in works.values():
        for _ in range(_WARM):
            work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(_seconds(work, _CALLS) / _CALLS)
    medians = {name: statistics.median(each) for name, each in times.items()}
    table = Table("call", "ns", "of np.add(out=)", box=None)
    empty, bar = medians.pop(""), medians["np.add(a, b, out=out)"]
    for name, median in medians.items():
        took = median - empty
        table.add_row(name.replace("[", r"\["), f"{1e9 * took:.0f}", f"{took / (bar - empty):.2f}")
    return table


def _scaling(calls: int) -> Table:
    """Several threads, each with its own arrays: they share the kernel, and the GIL."""
    kernel = lx.compile(ADD)
    table = Table("threads", "kernel: calls/us", "np.add: calls/us", box=None)
    for count in (1, 2, 4, 8):
        rates = [
            calls / 1e6 / _together(function, count, calls // count)
            for function in (kernel, np.add)
        ]
        table.add_row(str(count), *(f"{rate:.2f}" for rate in rates))
    return table


def _together(function: Callable[..., object], count: int, calls: int) -> float:
    """Seconds in which so many threads make so many calls each."""
    go = threading.Barrier(count + 1)

    def work() -> None:
        a, b, out = (np.ones(4, np.float32) for _ in range(3))
        function(a, b, out=out)
        go.wait()
        for _ in range(calls):
            function(a, b, out=out)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    go.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


def _seconds(work: Work, calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        work()
    return time.perf_counter() - started
