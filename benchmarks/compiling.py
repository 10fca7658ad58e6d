"""The time to trace and compile, beside JAX.

    python -m benchmarks compiling             # the cases, and the costliest passes
    python -m benchmarks compiling layer       # cases whose name contains a word
    python -m benchmarks.compiling --record    # calls of Python, put on record: compiling.json

Ours is the first call of `lx.jit(f)` without its run, theirs `jax.jit(f).lower(...).compile()`, of
the same function written for NumPy and for `jax.numpy`. Nothing is kept from an earlier round, on
disk or in memory, and the objects of a round are freed once its time is taken. The process runs on
one core; times are processor time, the best of rounds in turn, and where ours went: to the trace,
to passes of this library and of MLIR, and to LLVM.

The record counts the calls of Python functions that one compile makes, by the room that they are
in: a count is the same on every machine, however loaded. A pass that visits an op calls a function.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from rich.table import Table

import linalg_ext as lx
from benchmarks import peers
from linalg_ext import cache
from linalg_ext.rewriting import timed_passes
from linalg_ext.runtime.engine import Engine
from linalg_ext.tracing import recording

SECONDS = 0.1
"""For a product of matrices, a bias and an activation, once the library is warm."""

_SIZES = (1024, 1000, 960, 1008, 992, 1020, 1010)
"""Each is new to the function that is compiled."""

_COSTLIEST = 10
"""The number of passes that are listed."""


def _biased(a: Any, b: Any, c: Any) -> Any:
    return lx.ops.relu(lx.ops.add(lx.ops.matmul(a, b), c, broadcast_rhs=[0]))


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + lx.ops.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _fresh(function: Callable[..., Any], *ranks: int) -> Callable[[], object]:
    """Compiles a function for another size at every call."""
    sizes: Iterator[int] = cycle(_SIZES)

    def compile_anew() -> object:
        size = next(sizes)
        # Nothing is written to them: no page of theirs is ever there.
        arrays = [np.empty((size,) * rank, np.float32) for rank in ranks]
        return lx.jit(function).explain(*arrays)

    compile_anew()
    return compile_anew


WORKS: dict[str, Callable[[], Callable[[], object]]] = {
    "compile matmul + bias + relu, a second shape": lambda: _fresh(_biased, 2, 2, 1),
    "compile gelu (tanh), a second shape": lambda: _fresh(_gelu, 1),
    "compile einsum mk,kn->mn, a second shape": lambda: _fresh(
        lambda a, b: lx.einsum("mk,kn->mn", a, b), 2, 2
    ),
}
"""Functions that make each work; making it compiles the first shape."""


def _tanh_chain(xp: Any, x: Any) -> Any:
    for _ in range(10):
        x = xp.tanh(x)
    return x


def _mlp(xp: Any, x: Any, w: Any, b: Any, v: Any, c: Any) -> Any:
    return xp.maximum(x @ w + b, 0) @ v + c


def _softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def _layer_norm(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    centered = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centered * centered, axis=-1, keepdims=True)
    return centered / xp.sqrt(variance + 1e-5) * scale + shift


_HEADS = 4


def _layer(xp: Any, x: Any, *weights: Any) -> Any:
    scale, shift, wq, wk, wv, wo, last_scale, last_shift, w, b, v, c = weights
    rows, columns = x.shape
    normal = _layer_norm(xp, x, scale, shift)

    def heads(weight: Any) -> Any:
        split = xp.reshape(normal @ weight, (rows, _HEADS, columns // _HEADS))
        return xp.transpose(split, (1, 0, 2))

    scores = heads(wq) @ xp.swapaxes(heads(wk), 1, 2) * (columns // _HEADS) ** -0.5
    attended = xp.transpose(_softmax(xp, scores) @ heads(wv), (1, 0, 2))
    x = x + xp.reshape(attended, (rows, columns)) @ wo
    wide = _layer_norm(xp, x, last_scale, last_shift) @ w + b
    gelu = 0.5 * wide * (1 + xp.tanh(0.7978845608 * (wide + 0.044715 * wide * wide * wide)))
    return x + gelu @ v + c


_ROWS, _COLUMNS, _WIDE = 128, 64, 256
_NORM = [(_COLUMNS,)] * 2
_SHAPES = [
    *_NORM,
    *[(_COLUMNS, _COLUMNS)] * 4,
    *_NORM,
    (_COLUMNS, _WIDE),
    (_WIDE,),
    (_WIDE, _COLUMNS),
    (_COLUMNS,),
]


def _layers(xp: Any, x: Any, *weights: Any) -> Any:
    for start in range(0, len(weights), len(_SHAPES)):
        x = _layer(xp, x, *weights[start : start + len(_SHAPES)])
    return x


Seconds = defaultdict[str, float]
"""Processor time by the name of its phase."""


class Case(NamedTuple):
    """A function and the shapes of its arrays; `numpy` or `jax.numpy` is its first argument."""

    function: Callable[..., Any]
    shapes: Sequence[tuple[int, ...]]


CASES = {
    "add, 64 x 64": Case(lambda xp, x, y: x + y, [(64, 64)] * 2),
    "ten tanh, 512 x 512": Case(_tanh_chain, [(512, 512)]),
    "MLP of two layers": Case(_mlp, [(128, 256), (256, 512), (512,), (512, 10), (10,)]),
    "softmax, 512 x 512": Case(_softmax, [(512, 512)]),
    **{
        f"transformer, {count}": Case(_layers, [(_ROWS, _COLUMNS), *_SHAPES * count])
        for count in (1, 4, 12)
    },
}
"""The cases, in f32 on both sides."""


class Times(NamedTuple):
    """Seconds of processor time to make one kernel, in total and by phase."""

    total: float
    tracing: float
    ours: float
    upstream: float
    code: float

    @property
    def rest(self) -> float:
        """The time between the passes, and around the kernel."""
        return self.total - self.tracing - self.ours - self.upstream - self.code


def compile_anew(case: Case) -> object:
    """Trace and compile a case as its first call does; return the function with its kernel."""
    arrays = [np.empty(shape, np.float32) for shape in case.shapes]
    function = lx.jit(lambda *operands: case.function(np, *operands))
    function.explain(*arrays)
    return function


def _measured(case: Case, passes: Seconds) -> Times:
    """Compile once, with the time of each pass added to `passes`."""
    start = time.process_time()
    with (
        timed_passes() as pass_times,
        _timed(recording, "record") as tracing,
        _timed(Engine, "__init__", "function") as code,
    ):
        kernel = compile_anew(case)
    total = time.process_time() - start
    del kernel
    gc.collect()
    for name, seconds in pass_times:
        passes[name] += seconds
    own = sum(seconds for name, seconds in pass_times if name.startswith("linalg-ext-"))
    upstream = sum(seconds for _, seconds in pass_times) - own
    return Times(total, sum(tracing.values()), own, upstream, sum(code.values()))


@contextmanager
def _timed(owner: Any, *names: str) -> Iterator[Seconds]:
    """Yield the processor time in seconds that functions take, by their names."""
    seconds: Seconds = defaultdict(float)

    def timed(name: str) -> Any:
        function = getattr(owner, name)

        def measured(*arguments: Any, **options: Any) -> Any:
            start = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                seconds[name] += time.process_time() - start

        return mock.patch.object(owner, name, measured)

    with ExitStack() as stack:
        for name in names:
            stack.enter_context(timed(name))
        yield seconds


def _of_jax(case: Case) -> Callable[[], object] | None:
    if "jax" not in peers.installed():
        return None
    import jax
    import jax.numpy

    arrays = [jax.ShapeDtypeStruct(shape, np.float32) for shape in case.shapes]

    def compile_in_jax() -> object:
        return jax.jit(lambda *xs: case.function(jax.numpy, *xs)).lower(*arrays).compile()

    return compile_in_jax


@contextmanager
def _on_one_core() -> Iterator[None]:
    """Keep this process on one core, where the system can: XLA's threads count, too."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _seconds(work: Callable[[], object]) -> float:
    """Return the processor time of a compilation; earlier ones are forgotten before, not in it."""
    if "jax" in peers.installed():
        import jax

        jax.clear_caches()
    start = time.process_time()
    kernel = work()
    seconds = time.process_time() - start
    del kernel  # an engine compiles its finalizers, to run them
    return seconds


def tables(words: Sequence[str], *, quick: bool = False) -> list[Table]:
    """Return the cases beside JAX with where the time goes, and the costliest passes."""
    cases = {n: c for n, c in CASES.items() if all(word in n for word in words)}
    shown = Table(box=None)
    for header in ("case", "ours, ms", "JAX", "ratio", "trace", "own", "MLIR", "LLVM", "rest"):
        shown.add_column(header, no_wrap=True)
    passes: Seconds = defaultdict(float)
    ratios: list[float] = []
    with cache.off(), _on_one_core():
        for name, case in cases.items():
            theirs = _of_jax(case)
            compile_anew(case)
            rounds = range(2 if quick else 5)
            pairs = [
                (_seconds(partial(compile_anew, case)), theirs and _seconds(theirs)) for _ in rounds
            ]
            ours = min(seconds for seconds, _ in pairs)
            other = min((seconds for _, seconds in pairs if seconds is not None), default=None)
            parts = min(_measured(case, passes) for _ in rounds)
            ratios += [] if other is None else [ours / other]
            shown.add_row(
                name,
                f"{1e3 * ours:.0f}",
                "" if other is None else f"{1e3 * other:.0f}",
                "" if other is None else f"{ratios[-1]:.2f}",
                *(f"{1e3 * part:.1f}" for part in (*parts[1:], parts.rest)),
            )
    if ratios:
        shown.add_row("geometric mean", "", "", f"{statistics.geometric_mean(ratios):.2f}")
    costly = Table("pass", "ms a round, all cases", box=None)
    for name in sorted(passes, key=passes.__getitem__, reverse=True)[:_COSTLIEST]:
        costly.add_row(name, f"{1e3 * passes[name] / len(rounds):.1f}")
    return [shown, costly]


RECORD = Path(__file__).with_suffix(".json")

TARGET = "avx2"
"""The target of the compiles that are counted, whatever this machine is."""

TOLERANCE = 1.05
"""A change of a few calls in a hundred is nothing to speak of."""

_ROOMS = Path(lx.__file__).parent


def calls(case: Case) -> Counter[str]:
    """Count the calls of Python functions of the library that one warm compile makes, by room."""
    counts: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            counts[frame.f_code.co_filename] += 1

    with cache.off(), lx.target.using(TARGET):
        compile_anew(case)
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            compile_anew(case)
        finally:
            sys.setprofile(before)
    rooms: Counter[str] = Counter()
    for name, number in counts.items():
        if (room := _room(Path(name))) is not None:
            rooms[room] += number
    return rooms


def _room(path: Path) -> str | None:
    """Return the room of a file of the library; None for a file of any other."""
    path = path.resolve()
    for folder, depth in ((_ROOMS / "transforms", 1), (_ROOMS, 1)):
        if path.is_relative_to(folder.resolve()):
            parts = path.relative_to(folder.resolve()).with_suffix("").parts
            return "/".join((folder.name, *parts[:depth])).removeprefix("linalg_ext/")
    return None


def recorded() -> dict[str, dict[str, int]]:
    """Return the calls on record: for each case the number in each room."""
    record: dict[str, dict[str, int]] = json.loads(RECORD.read_text())
    return record


def regressions(now: Counter[str], before: dict[str, int]) -> list[str]:
    """Return in a line each room that makes more calls than on record; the sum of all first."""
    pairs = {"all rooms": (now.total(), sum(before.values()))}
    pairs |= {room: (number, before.get(room, 0)) for room, number in now.items()}
    least = 0.02 * sum(before.values())  # a small room may double
    return [
        f"{room}: {number} calls, {known} on record"
        for room, (number, known) in pairs.items()
        if number > TOLERANCE * known and number - known > least
    ]


if __name__ == "__main__":
    if sys.argv[1:] != ["--record"]:
        sys.exit("the only option is --record; the table: python -m benchmarks compiling")
    counted = {name: dict(sorted(calls(case).items())) for name, case in CASES.items()}
    RECORD.write_text(json.dumps(counted, indent=1) + "\n")
