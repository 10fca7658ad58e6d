"""This project beside NumPy, PyTorch and JAX: one process for a number of threads, all in turn.

    python -m benchmarks.bars                         # on one thread, then on all cores
    python -m benchmarks.bars --threads 1 matmul      # cases whose name contains a word
    python -m benchmarks.bars --json bars.json --markdown bars.md

Every result is compared with NumPy's before it is timed. A time is the median over rounds in which
each runner runs once; results are new at every call (`fresh`, all of a round kept alive, so that no
pool hides what memory costs) or, where the runner can, written to arrays that exist (`reused`).
A ratio is the best peer's time by ours, round by round: above 1 we are quicker.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import linalg_ext as lx
from benchmarks import peers
from benchmarks.timing import Work
from benchmarks.windows import window_cases

Array = peers.Array
_LARGE = 16 << 20
SECONDS = 1.0
"""How long the rounds of one case go on, at least."""


@dataclass(frozen=True)
class Case:
    """One piece of work.

    Attributes:
        name: of the case.
        shapes: of the operands.
        ours: a function of the operands, and of `out` where results are reused.
        functions: the same for each peer, NumPy's first.
        dtype: of the operands.
        flops: additions and multiplications, where these are what counts.
        reused: for the peers that can, a function of the operands that writes to its last one.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    ours: Callable[..., Any]
    functions: Mapping[str, peers.Function]
    dtype: str = "f4"
    flops: int = 0
    reused: Mapping[str, peers.Function] = field(default_factory=dict)


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


def _same(function: Callable[..., Any]) -> dict[str, peers.Function]:
    """One spelling that NumPy, PyTorch and JAX share."""
    return dict.fromkeys(("numpy", *peers.PEERS), function)


_MATMUL_INTO: Mapping[str, peers.Function] = {
    "numpy": lambda a, b, out: np.matmul(a, b, out=out),
    "torch": lambda a, b, out: _torch().matmul(a, b, out=out),
}


def _matmul(m: int, n: int, k: int, dtype: str = "f4") -> Case:
    return Case(
        f"matmul {m}x{n}x{k} {dtype}",
        ((m, k), (k, n)),
        lx.ops.matmul,
        _same(lambda a, b: a @ b),
        dtype,
        2 * m * n * k,
        _MATMUL_INTO,
    )


def _batched(batch: int, n: int) -> Case:
    shapes = ((batch, n, n), (batch, n, n))
    flops = 2 * batch * n**3
    return Case(
        f"batched {batch} x {n}^3",
        shapes,
        lx.ops.batch_matmul,
        _same(lambda a, b: a @ b),
        flops=flops,
        reused=_MATMUL_INTO,
    )


def _einsum(name: str, text: str, sizes: Mapping[str, int]) -> Case:
    terms = text.partition("->")[0].split(",")
    shapes = tuple(tuple(sizes[label] for label in term) for term in terms)
    return Case(
        name,
        shapes,
        lambda *a, out=None: lx.einsum(text, *a, out=out),
        {
            "numpy": lambda *a: np.einsum(text, *a, optimize=True),
            "torch": lambda *a: _torch().einsum(text, *a),
            "jax": lambda *a: _jax().einsum(text, *a),
        },
        flops=2 * math.prod(sizes.values()),
        reused={"numpy": lambda *a: np.einsum(text, *a[:-1], out=a[-1], optimize=True)},
    )


def _torch() -> Any:
    import torch

    return torch


def _jax() -> Any:
    import jax.numpy

    return jax.numpy


def _pointwise(
    name: str,
    traced: Callable[..., Any],
    functions: Mapping[str, peers.Function],
    operands: int,
    reused: Mapping[str, peers.Function] | None = None,
) -> Case:
    return Case(name, ((_LARGE,),) * operands, lx.jit(traced), functions, reused=reused or {})


def _gelu(tanh: Callable[[Any], Any], x: Any) -> Any:
    return 0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    result: Array = e / e.sum(1, keepdims=True)
    return result


def _biased(a: Any, b: Any, c: Any) -> Any:
    return lx.ops.relu(lx.ops.add(lx.ops.matmul(a, b), c, broadcast_rhs=[0]))


def cases() -> Iterator[Case]:
    """All of them; tensor contractions where the benchmark set is at hand."""
    for n in (64, 100, 128, 256, 512, 1000, 1024, 2048):
        yield _matmul(n, n, n)
    yield _matmul(2048, 2048, 64)
    yield _matmul(16, 4096, 4096)
    yield _matmul(1024, 1024, 1024, "f8")
    yield _batched(32, 256)
    yield _batched(1000, 16)
    yield _pointwise(
        "a*b+c, 16M",
        lambda a, b, c: a * b + c,
        _same(lambda a, b, c: a * b + c),
        3,
        {
            "numpy": lambda a, b, c, out: np.add(np.multiply(a, b, out=out), c, out=out),
            "torch": lambda a, b, c, out: _torch().addcmul(c, a, b, out=out),
        },
    )
    yield _pointwise(
        "gelu (tanh), 16M",
        lambda x: _gelu(lx.ops.tanh, x),
        {
            "numpy": lambda x: _gelu(np.tanh, x),
            "torch": lambda x: _torch().nn.functional.gelu(x, approximate="tanh"),
            "jax": lambda x: _gelu(_jax().tanh, x),
        },
        1,
    )
    yield _pointwise(
        "sigmoid(x)*y, 16M",
        lambda x, y: y / (1.0 + lx.ops.exp(-x)),
        {
            "numpy": lambda x, y: y / (1.0 + np.exp(-x)),
            "torch": lambda x, y: _torch().sigmoid(x) * y,
            "jax": lambda x, y: y / (1.0 + _jax().exp(-x)),
        },
        2,
    )
    yield Case(
        "softmax 4096x4096",
        ((4096, 4096),),
        lx.jit(_traced_softmax),
        {
            "numpy": _softmax,
            "torch": lambda x: _torch().softmax(x, 1),
            "jax": lambda x: (
                _jax().exp(x - x.max(1, keepdims=True))
                / _jax().exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
            ),
        },
    )
    yield Case(
        "matmul 1024 + bias + relu",
        ((1024, 1024), (1024, 1024), (1024,)),
        lx.jit(_biased),
        {
            "numpy": lambda a, b, c: np.maximum(a @ b + c, 0),
            "torch": lambda a, b, c: _torch().relu(_torch().addmm(c, a, b)),
            "jax": lambda a, b, c: _jax().maximum(a @ b + c, 0),
        },
        flops=2 * 1024**3,
    )
    for window in window_cases():
        given = window.shapes, window.ours, window.functions
        yield Case(window.name, *given, flops=window.flops)
    yield from _tensors()


def _traced_softmax(x: Any) -> Any:
    e = lx.ops.exp(lx.ops.sub(x, lx.ops.row_max(x), broadcast_rhs=[1]))
    return lx.ops.div(e, lx.ops.row_sum(e), broadcast_rhs=[1])


def _tensors() -> Iterator[Case]:
    path = Path(os.environ.get("LINALG_EXT_SHARED", "../shared")) / "tccg.json"
    if not path.exists():
        print(f"{path} is missing: no tensor contractions", file=sys.stderr)
        return
    for case in json.loads(path.read_text()):
        yield _einsum(f"tccg {case['id']} {case['spec']}", case["spec"], case["dims"])


def measure(case: Case, threads: int) -> Iterator[Result]:
    """Time a case against every peer at hand, with fresh results and with reused ones."""
    random = np.random.default_rng(0)
    arrays = [(random.random(shape) - 0.5).astype(case.dtype) for shape in case.shapes]
    expected = np.asarray(case.functions["numpy"](*arrays))
    result = np.asarray(case.ours(*arrays))
    np.testing.assert_allclose(result, expected, rtol=2e-3, atol=2e-3)
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


def _table(results: Sequence[Result]) -> str:
    lines = [
        "| case | threads | results | ours ms | best peer | its ms | ratio | GFLOP/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in results:
        speed = f"{one.gflops:.0f}" if one.gflops else ""
        lines.append(
            f"| {one.name} | {one.threads} | {one.memory} | {1e3 * one.ours:.3g} | {one.best} "
            f"| {1e3 * one.peers[one.best]:.3g} | {one.ratio:.2f} | {speed} |"
        )
    for threads in sorted({one.threads for one in results}):
        for memory in ("fresh", "reused"):
            ratios = [r.ratio for r in results if (r.threads, r.memory) == (threads, memory)]
            if ratios:
                mean = statistics.geometric_mean(ratios)
                lines.append(
                    f"| geometric mean of {len(ratios)} | {threads} | {memory} "
                    f"| | | | {mean:.2f} | |"
                )
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Measure in a process for each number of threads, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bars")
    parser.add_argument("words", nargs="*", help="words of the names of the cases")
    parser.add_argument("--threads", type=int, help="one number of threads, measured here")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args(arguments)
    if given.threads is None:
        results = [
            one
            for threads in dict.fromkeys((1, lx.threads.available()))
            for one in _in_a_process(threads, given.words)
        ]
    else:
        results = _here(given.threads, given.words)
    header = f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores; missing: " + (
        ", ".join(peers.missing()) or "no peer"
    )
    text = f"{header}\n\n{_table(results)}\n"
    print(text)
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in results], indent=1) + "\n")
    if given.markdown:
        given.markdown.write_text(text)
    return 0


def _here(threads: int, words: Sequence[str]) -> list[Result]:
    # What the environment asks for, not every peer heeds: nobody gets more processors than threads.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    peers.set_threads(threads)
    found = []
    with lx.threads.using(threads):
        for case in cases():
            if not words or any(word in case.name for word in words):
                for result in measure(case, threads):
                    print(
                        f"{result.name}: {result.memory} {result.ratio:.2f} of {result.best}",
                        file=sys.stderr,
                        flush=True,
                    )
                    found.append(result)
    return found


def _in_a_process(threads: int, words: Sequence[str]) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        command = [sys.executable, "-m", "benchmarks.bars", *words, "--threads", str(threads)]
        environment = {**os.environ, **peers.environment(threads)}
        subprocess.run(
            [*command, "--json", str(file)], env=environment, check=True, stdout=subprocess.DEVNULL
        )
        return [Result(**one) for one in json.loads(file.read_text())]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
