"""Errors of sums against the exact results, compared with NumPy, PyTorch and JAX.

    python -m benchmarks accuracy               # 1,000 to 100,000,000 elements; 3 GB, some minutes
    python -m benchmarks accuracy variance      # reductions whose name contains a word
    python -m benchmarks accuracy --quick       # up to a million elements, one draw

Numbers are drawn from [0, 1) and from [1000, 1001), in f32, with three seeds up to a million
elements, and one for more. An error is relative to the exact result, which is made of sums in f64
and `math.fsum`. The table shows the largest over the draws, and over the elements of a result. Its
unit is 2^-23, the distance from 1 to the next f32. The error of a result that is rounded once is at
most half a unit. Ours is worse than a peer's where it is more than twice as large and more than two
units: smaller differences are chance.

The table goes to `accuracy.md` in the folder for results, for docs/numbers.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import linalg_ext as lx
from benchmarks import peers
from benchmarks.bars.case import jax, torch
from benchmarks.peers import Array

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
QUICK = SIZES[:4]
UNIT = 2.0**-23
LIBRARIES = ("ours", "numpy", "torch", "jax")
_SEEDS, _OFFSETS = (0, 1, 2), (0, 1000)
_MANY = 1_000_000
"""Elements beyond which one seed is enough: their error averages many draws already."""
_CHUNK = 1 << 20
"""Elements that are converted to f64 at once."""


@dataclass(frozen=True)
class Reduction:
    """A reduction and its exact result.

    Attributes:
        name: that of the table.
        exact: of arrays of f32, in f64.
        functions: for each library, of arrays of its own; ours is jitted.
        shapes: of the operands, for a count of elements.
    """

    name: str
    exact: Callable[..., Any]
    functions: Mapping[str, Callable[..., Any]]
    shapes: Callable[[int], Sequence[tuple[int, ...]]] = lambda n: [(n,)]


def largest_error(result: Any, exact: Any) -> float:
    """The largest relative error, in units of the last place of 1."""
    exact = np.asarray(exact)
    worst = 0.0
    for start in range(0, max(1, len(exact) if exact.ndim else 1), _CHUNK):
        part = np.s_[start : start + _CHUNK] if exact.ndim else ()
        numbers, right = np.asarray(result)[part].astype(np.float64), exact[part]
        worst = max(worst, float(np.max(np.abs(numbers - right) / np.abs(right))))
    return worst / UNIT


def is_worse(ours: float, peer_errors: Sequence[float]) -> bool:
    """Return whether an error is more than two units and more than twice the least of the peers."""
    return bool(peer_errors) and ours > 2 * max(1.0, min(peer_errors))


def errors(reduction: Reduction, size: int, seeds: Sequence[int]) -> dict[str, float]:
    """The largest error of each library that is installed."""
    jitted = lx.jit(reduction.functions["ours"])
    largest: dict[str, float] = {}
    for seed in seeds:
        for offset in _OFFSETS:
            draw = np.random.default_rng(seed)
            arrays = [
                draw.random(shape, dtype=np.float32) + np.float32(offset)
                for shape in reduction.shapes(size)
            ]
            exact = reduction.exact(*arrays)
            for name in LIBRARIES:
                if name == "ours":
                    result = jitted(*arrays)
                elif name not in peers.installed():
                    continue
                else:
                    work = peers.work(name, reduction.functions, arrays)
                    result = None if work is None else work()
                if result is not None:
                    largest[name] = max(largest.get(name, 0.0), largest_error(result, exact))
    return largest


def run(words: Sequence[str], *, quick: bool, output: Path) -> int:
    """Print the table, and keep it; 1 where ours is worse somewhere."""
    sizes, seeds = (QUICK, _SEEDS[:1]) if quick else (SIZES, _SEEDS)
    console, lines, worse = Console(), _head(sizes), []
    for reduction in all_reductions():
        if words and not any(word in reduction.name for word in words):
            continue
        columns = [errors(reduction, size, seeds if size <= _MANY else seeds[:1]) for size in sizes]
        for size, column in zip(sizes, columns, strict=True):
            peer_errors = [error for name, error in column.items() if name != "ours"]
            if is_worse(column["ours"], peer_errors):
                worse.append(f"{reduction.name} of {size:,}")
        for name in LIBRARIES:
            if name in columns[0]:
                first = reduction.name if name == "ours" else ""
                cells = [_text(column[name]) for column in columns]
                lines.append(f"| {' | '.join([first, name, *cells])} |")
                console.print(lines[-1], markup=False, highlight=False, soft_wrap=True)
    output.mkdir(parents=True, exist_ok=True)
    (output / "accuracy.md").write_text("\n".join(lines) + "\n")
    for case in worse:
        console.print(f"worse than a peer: {case}")
    return int(bool(worse))


def _head(sizes: Sequence[int]) -> list[str]:
    titles = ["reduction", "library", *(f"{size:,}" for size in sizes)]
    return [f"| {' | '.join(titles)} |", f"|---|---|{'---:|' * len(sizes)}"]


def _text(error: float) -> str:
    return f"{error:.2g}" if error < 100 else f"{error:,.0f}"


def _sum(x: Array) -> float:
    """The sum of all elements, in f64."""
    flat = x.reshape(-1)
    chunks = (flat[start : start + _CHUNK] for start in range(0, flat.size, _CHUNK))
    return math.fsum(float(chunk.sum(dtype=np.float64)) for chunk in chunks)


def _sum_of(function: Callable[..., Any], *arrays: Array) -> float:
    """The sum of a function of elements in f64."""
    chunks = (
        [array.reshape(-1)[start : start + _CHUNK].astype(np.float64) for array in arrays]
        for start in range(0, arrays[0].size, _CHUNK)
    )
    return math.fsum(float(function(*chunk).sum()) for chunk in chunks)


def _variance(x: Array) -> float:
    mean = _sum(x) / x.size
    return _sum_of(lambda values: (values - mean) ** 2, x) / x.size


def _columns(function: Callable[[Array], float], x: Array) -> Array:
    return np.array([function(np.ascontiguousarray(column)) for column in x.T])


def _dot(x: Array, y: Array) -> float:
    return _sum_of(np.multiply, x, y)


def _product(x: Array, y: Array) -> Array:
    columns = [np.ascontiguousarray(column) for column in y.T]
    return np.array([[_dot(row, column) for column in columns] for row in x])


def _softmax(x: Array) -> Array:
    largest = float(x.max())
    total = _sum_of(lambda values: np.exp(values - largest), x)
    result: Array = np.exp(x.astype(np.float64) - largest) / total
    return result


def _running(x: Array) -> Array:
    sums = np.empty(x.size)
    before = 0.0
    for start in range(0, x.size, _CHUNK):
        part = x[start : start + _CHUNK]
        sums[start : start + _CHUNK] = before + np.cumsum(part, dtype=np.float64)
        before = math.fsum([before, float(part.sum(dtype=np.float64))])
    return sums


def _alike(function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return one function for all libraries."""
    return dict.fromkeys(LIBRARIES, function)


def _traced_softmax(x: Any) -> Any:
    e = np.exp(x - x.max())
    return e / e.sum()


def all_reductions() -> Iterator[Reduction]:
    """Yield the reductions of the table."""
    rows: Callable[[int], Sequence[tuple[int, ...]]] = lambda n: [(n // 2, 2)]  # noqa: E731
    wide: Callable[[int], Sequence[tuple[int, ...]]] = lambda n: [(n // 100, 100)]  # noqa: E731
    yield Reduction("sum", _sum, _alike(lambda x: x.sum()))
    yield Reduction("mean", lambda x: _sum(x) / x.size, _alike(lambda x: x.mean()))
    yield Reduction(
        "variance",
        _variance,
        {**_alike(lambda x: x.var()), "torch": lambda x: x.var(correction=0)},
    )
    yield Reduction(
        "standard deviation",
        lambda x: math.sqrt(_variance(x)),
        {**_alike(lambda x: x.std()), "torch": lambda x: x.std(correction=0)},
    )
    yield Reduction(
        "norm",
        lambda x: math.sqrt(_sum_of(np.square, x)),
        {
            **_alike(lambda x: np.linalg.norm(x)),
            "torch": lambda x: torch().linalg.norm(x),
            "jax": lambda x: jax().linalg.norm(x),
        },
    )
    yield Reduction(
        "sum, every other",
        lambda x: _sum(np.ascontiguousarray(x[::2])),
        _alike(lambda x: x[::2].sum()),
    )
    yield Reduction("sum, n/2 x 2, axis 0", partial(_columns, _sum), _alike(_along_rows), rows)
    yield Reduction("sum, n/100 x 100, axis 0", partial(_columns, _sum), _alike(_along_rows), wide)
    yield Reduction(
        "variance, n/2 x 2, axis 0",
        partial(_columns, _variance),
        {**_alike(lambda x: x.var(0)), "torch": lambda x: x.var(0, correction=0)},
        rows,
    )
    yield Reduction(
        "sum, 10 x n/10, axis 1",
        lambda x: np.array([_sum(row) for row in x]),
        _alike(lambda x: x.sum(1)),
        lambda n: [(10, n // 10)],
    )
    yield Reduction(
        "softmax",
        _softmax,
        {
            **_alike(_traced_softmax),
            "torch": lambda x: torch().softmax(x, 0),
            "jax": lambda x: jax().exp(x - x.max()) / jax().exp(x - x.max()).sum(),
        },
    )
    yield Reduction(
        "running sum",
        _running,
        {
            **_alike(lambda x: np.cumsum(x)),
            "torch": lambda x: torch().cumsum(x, 0),
            "jax": lambda x: jax().cumsum(x),
        },
    )
    yield Reduction(
        "inner product",
        _dot,
        _alike(lambda x, y: x @ y),
        lambda n: [(n,), (n,)],
    )
    yield Reduction(
        "product, 4 x n/4 by n/4 x 4",
        _product,
        _alike(lambda x, y: x @ y),
        lambda n: [(4, n // 4), (n // 4, 4)],
    )


def _along_rows(x: Any) -> Any:
    return x.sum(0)
