"""Functions of NumPy under `jit` beside NumPy, on one thread: `python -m benchmarks.functions`.

    python -m benchmarks functions              # each function, element type and size: 20 minutes
    python -m benchmarks functions sort i8      # names with one of the words
    python -m benchmarks functions --quick      # one size, each case for a short time

The cases are not chosen for being quick here: a function of each kind, on six types, on arrays of
a thousand elements and of 300,000. The table has the slowest first. Both sides make a new result at
each call. A function that NumPy computes inside the kernel (gcd, for one) costs a call more here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

# Before NumPy is loaded: its threads are set then.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table

import linalg_ext as lx
from benchmarks.timing import Comparison, compare

Array = np.ndarray[Any, Any]

DTYPES = ("f4", "f8", "i4", "i8", "u1", "c8")
SIZES = (1_000, 300_000)
SECONDS, QUICK_SECONDS = 0.3, 0.03

_REAL, _NUMBERS, _FLOATS, _INTEGERS = "fiu", "fiuc", "f", "iu"
"""Kinds of the element types of a function."""


@dataclass(frozen=True)
class Function:
    """A function of arrays.

    Attributes:
        call: of arrays of NumPy's, and of traced ones.
        kinds: of the element types that it takes.
        shapes: of its operands, a letter each.
        compared: the part of a result that is NumPy's, too.
    """

    call: Callable[..., Any]
    kinds: str = _NUMBERS
    shapes: str = "nn"
    compared: Callable[[Array], Array] = np.asarray


FUNCTIONS: Mapping[str, Function] = {
    "a + b": Function(lambda a, b: a + b),
    "a * b - a": Function(lambda a, b: a * b - a),
    "a / (b * b + 1)": Function(lambda a, b: a / (b * b + 1)),
    "a // 7": Function(lambda a: a // 7, _REAL, "n"),
    "a % 7": Function(lambda a: a % 7, _REAL, "n"),
    "a == b": Function(lambda a, b: a == b),
    "a & b": Function(lambda a, b: a & b, _INTEGERS),
    "a << 2": Function(lambda a: a << 2, _INTEGERS, "n"),
    "abs": Function(np.abs, _REAL, "n"),
    "sign": Function(np.sign, _REAL, "n"),
    "floor": Function(np.floor, _FLOATS, "n"),
    "sqrt": Function(lambda a: np.sqrt(a * a), _FLOATS, "n"),
    "exp": Function(np.exp, "fc", "n"),
    "log": Function(lambda a: np.log(a * a + 1), "fc", "n"),
    "sin": Function(np.sin, "fc", "n"),
    "tanh": Function(np.tanh, "fc", "n"),
    "power": Function(lambda a: (a * a) ** 1.7, _FLOATS, "n"),
    "arctan2": Function(np.arctan2, _FLOATS),
    "hypot": Function(np.hypot, _FLOATS),
    "maximum": Function(np.maximum, _REAL),
    "clip": Function(lambda a: np.clip(a, 1, 50), _REAL, "n"),
    "where": Function(lambda a, b: np.where(a == b, a, b)),
    "to f4": Function(lambda a: a.astype("f4"), _REAL, "n"),
    "to i4": Function(lambda a: a.astype("i4"), _REAL, "n"),
    "sum": Function(lambda a: a.sum(), shapes="n"),
    "sum of columns": Function(lambda a: a.sum(0), shapes="s"),
    "sum of rows": Function(lambda a: a.sum(1), shapes="s"),
    "prod": Function(lambda a: a.prod(), shapes="n"),
    "mean": Function(lambda a: a.mean(), shapes="n"),
    "var": Function(lambda a: a.var(), "fc", "n"),
    "max": Function(lambda a: a.max(), _REAL, "n"),
    "max of columns": Function(lambda a: a.max(0), _REAL, "s"),
    "argmax": Function(lambda a: a.argmax(), _REAL, "n"),
    "argmin of rows": Function(lambda a: a.argmin(1), _REAL, "s"),
    "any": Function(lambda a: (a == 101).any(), shapes="n"),
    "cumsum": Function(np.cumsum, shapes="n"),
    "cumsum of columns": Function(lambda a: np.cumsum(a, 0), shapes="s"),
    "running maximum": Function(lambda a: np.maximum.accumulate(a), _REAL, "n"),
    "diff": Function(np.diff, shapes="n"),
    "sort": Function(np.sort, _REAL, "n"),
    "sort of columns": Function(lambda a: np.sort(a, 0), _REAL, "s"),
    "argsort": Function(lambda a: np.argsort(a, kind="stable"), _REAL, "n"),
    "ten greatest": Function(lambda a: np.sort(a)[-10:], _REAL, "n"),
    "places of the ten greatest": Function(
        lambda a: np.argsort(a, kind="stable")[-10:], _REAL, "n"
    ),
    "partition": Function(lambda a: np.partition(a, 10), _REAL, "n", np.sort),
    "median": Function(np.median, _REAL, "n"),
    "percentile": Function(lambda a: np.percentile(a, 30), _FLOATS, "n"),
    "searchsorted": Function(lambda a, b: np.searchsorted(a, b), _REAL, "on"),
    "interp": Function(lambda a, b: np.interp(a, b, b), _FLOATS, "no"),
    "histogram": Function(lambda a: np.histogram(a, 20)[0], _FLOATS, "n"),
    "bincount": Function(lambda a: np.bincount(abs(a), minlength=256), _INTEGERS, "n"),
    "take": Function(lambda a, i: a[i], shapes="np"),
    "take rows": Function(lambda a, i: a[i], shapes="sr"),
    "transpose": Function(lambda a: np.ascontiguousarray(a.T), shapes="s"),
    "roll": Function(lambda a: np.roll(a, 7, 0), shapes="s"),
    "reverse": Function(lambda a: np.ascontiguousarray(a[::-1]), shapes="n"),
    "tile": Function(lambda a: np.tile(a, 3), shapes="n"),
    "repeat": Function(lambda a: np.repeat(a, 3), shapes="n"),
    "concatenate": Function(lambda a, b: np.concatenate([a, b])),
    "stack along the last axis": Function(lambda a, b: np.stack([a, b], 1)),
    "pad": Function(lambda a: np.pad(a, 3), shapes="s"),
    "tril": Function(np.tril, shapes="s"),
    "diag": Function(np.diag, shapes="h"),
    "outer": Function(np.outer, shapes="hh"),
    "dot": Function(lambda a, b: a @ b),
    "matrix by matrix": Function(lambda a, b: a @ b, shapes="ss"),
    "matrix by vector": Function(lambda a, b: a @ b, shapes="sh"),
    "vector by matrix": Function(lambda a, b: a @ b, shapes="hs"),
    "convolve": Function(lambda a, b: np.convolve(a, b), _FLOATS, "nk"),
    "covariance": Function(np.cov, _FLOATS, "q"),
}
"""By name. Of shapes, n is a vector, o one in order, p the places of its elements, k a short one; s
is a square matrix of about as many elements, h one of its rows, r the places of its rows, q a
quarter of them."""


@dataclass(frozen=True)
class Case:
    """A function on arrays of one type and size."""

    name: str
    function: Function
    dtype: str
    size: int

    def operands(self) -> list[Array]:
        """Random arrays, always the same: floats around zero, integers of at most 100."""
        random, side = np.random.default_rng(0), int(self.size**0.5)
        numbers = partial(_numbers, random, np.dtype(self.dtype))
        by_letter: dict[str, Callable[[], Array]] = {
            "n": lambda: numbers(self.size),
            "o": lambda: np.sort(numbers(self.size)),
            "p": lambda: random.integers(0, self.size, self.size),
            "k": lambda: numbers(31),
            "s": lambda: numbers(side, side),
            "h": lambda: numbers(side),
            "r": lambda: random.integers(0, side, side),
            "q": lambda: numbers(max(2, side // 4), side),
        }
        return [by_letter[letter]() for letter in self.function.shapes]


def _numbers(random: np.random.Generator, dtype: np.dtype[Any], *shape: int) -> Array:
    if dtype.kind == "c":
        parts = random.standard_normal((2, *shape))
        numbers: Array = (parts[0] + 1j * parts[1]).astype(dtype)
        return numbers
    if dtype.kind == "f":
        floats: Array = random.standard_normal(shape).astype(dtype)
        return floats
    return random.integers(0 if dtype.kind == "u" else -100, 101, shape).astype(dtype)


def cases(words: Sequence[str], sizes: Sequence[int] = SIZES) -> Iterator[Case]:
    """The cases whose names have one of the words, or whose types are one; all without words."""
    for name, function in FUNCTIONS.items():
        for dtype in DTYPES:
            if np.dtype(dtype).kind not in function.kinds:
                continue
            if not words or any(word in name or word == dtype for word in words):
                yield from (Case(name, function, dtype, size) for size in sizes)


def measured(case: Case, seconds: float) -> Comparison:
    """Time a case in turn with NumPy, after a comparison of the results."""
    operands, jitted = case.operands(), lx.jit(case.function.call)
    with np.errstate(all="ignore"):
        expected = case.function.call(*operands)
        exact = expected.dtype.kind in "iub"
        tolerance = 0 if exact else 1e3 * float(np.finfo(expected.dtype).eps)
        scale = float(np.max(np.abs(expected), initial=0, where=np.isfinite(expected)))
        compared = case.function.compared
        np.testing.assert_allclose(
            compared(jitted(*operands)),
            compared(expected),
            rtol=tolerance,
            atol=tolerance * scale,
        )
        return compare(
            partial(jitted, *operands), partial(case.function.call, *operands), seconds=seconds
        )


def run(words: Sequence[str], *, quick: bool = False) -> int:
    """Print a table of the cases, the slowest beside NumPy first."""
    rows: list[tuple[Case, Comparison]] = []
    with lx.threads.using(1):
        for case in cases(words, SIZES[-1:] if quick else SIZES):
            rows.append((case, measured(case, QUICK_SECONDS if quick else SECONDS)))
    rows.sort(key=lambda row: row[1].ratio)
    table = Table("function", "type", "elements", "ours us", "NumPy's us", "ratio")
    for case, times in rows:
        table.add_row(
            case.name,
            case.dtype,
            f"{case.size:,}",
            f"{times.ours * 1e6:.3g}",
            f"{times.theirs * 1e6:.3g}",
            f"{times.ratio:.2f}",
        )
    Console().print(table)
    if rows:
        mean = float(np.exp(np.mean(np.log([times.ratio for _, times in rows]))))
        behind = sum(times.ratio < 0.9 for _, times in rows)
        Console().print(f"geometric mean {mean:.2f}; {behind} of {len(rows)} below 0.9")
    return 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(run([word for word in arguments if word != "--quick"], quick="--quick" in arguments))
