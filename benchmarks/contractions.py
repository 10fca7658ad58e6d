"""Contractions beside NumPy, on one thread: `python -m benchmarks.contractions [words]`.

Products of matrices and of tensors, each timed in turn with NumPy in one process, with reused
results: the time of the kernel, not that of fresh pages. NumPy runs `matmul` for matrix products,
and else `einsum` with `optimize=True`, as a user would. The limit is the roofline's: the peak of
the units, or the bandwidth of a copy times the operations for each byte.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

# Before NumPy is loaded: its threads are set then.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import linalg_ext as lx
from benchmarks import TCCG, limits
from benchmarks.timing import compare

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Contraction:
    """A case: its name, einsum string and sizes.

    Attributes:
        name: of the case.
        text: the subscripts.
        sizes: of each label.
        dtype: of the operands.
        transposed: operands that lie in memory with their axes reversed, by number.
    """

    name: str
    text: str
    sizes: dict[str, int]
    dtype: str = "f4"
    transposed: tuple[int, ...] = ()

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return 2 * math.prod(self.sizes.values())

    @property
    def moved(self) -> int:
        """Bytes of the operands and of the result, each once."""
        inputs, output = self.text.split("->")
        elements = sum(
            math.prod(self.sizes[label] for label in labels)
            for labels in (*inputs.split(","), output)
        )
        return elements * np.dtype(self.dtype).itemsize

    def operands(self) -> list[Array]:
        """Random operands."""
        random = np.random.default_rng(0)
        arrays = []
        for number, labels in enumerate(self.text.partition("->")[0].split(",")):
            shape = [self.sizes[label] for label in labels]
            if number in self.transposed:
                shape.reverse()
            array = (random.random(shape) - 0.5).astype(self.dtype)
            arrays.append(array.T if number in self.transposed else array)
        return arrays


def _matmul(m: int, n: int, k: int, **more: Any) -> Contraction:
    letters = "".join("NT"[index in more.get("transposed", ())] for index in (0, 1))
    name = f"{m} x {n} x {k} {letters} {more.get('dtype', 'f4')}"
    return Contraction(name, "mk,kn->mn", {"m": m, "n": n, "k": k}, **more)


def _cases() -> Iterator[Contraction]:
    for n in (64, 100, 128, 256, 512, 1000, 1024):
        yield _matmul(n, n, n)
    for n in (256, 1024):
        for transposed in ((0,), (1,), (0, 1)):
            yield _matmul(n, n, n, transposed=transposed)
    yield _matmul(2048, 2048, 64)
    yield _matmul(16, 4096, 4096)
    yield _matmul(1024, 1024, 1024, dtype="f8")
    yield _matmul(1, 4096, 4096)
    yield _matmul(4096, 1, 4096)
    for batch, n in ((32, 256), (1000, 16)):
        sizes = {"b": batch, "m": n, "n": n, "k": n}
        yield Contraction(f"{batch} x {n}^3", "bmk,bkn->bmn", sizes)


def _tensors() -> Iterator[Contraction]:
    """Yield the tensor contractions of the TCCG set."""
    for case in json.loads(TCCG.read_text()):
        yield Contraction(f"{case['id']} {case['spec']}", case["spec"], case["dims"])


def _works(case: Contraction) -> tuple[Callable[[], object], Callable[[], object]]:
    operands = case.operands()
    text = case.text
    peer = np.matmul if text in ("mk,kn->mn", "bmk,bkn->bmn") else None
    expected = np.einsum(text, *operands, optimize=True)
    out, theirs = np.empty(expected.shape, case.dtype), np.empty(expected.shape, case.dtype)
    for _ in range(70):  # until it is compiled for itself
        lx.einsum(text, *operands, out=out)
        if case.operations > 1 << 27:
            break
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-3)

    def ours() -> object:
        return lx.einsum(text, *operands, out=out)

    def other() -> object:
        if peer is not None:
            return peer(operands[0], operands[1], out=theirs)
        return np.einsum(text, *operands, out=theirs, optimize=True)

    return ours, other


def main(words: list[str]) -> None:
    """Run the cases whose name has one of the words, or all, and print their ratios."""
    ratios, fractions = [], []
    for case in (*_cases(), *_tensors()):
        if words and not any(word in case.name for word in words):
            continue
        ours, theirs = _works(case)
        measured = compare(ours, theirs, seconds=0.5)
        ratios.append(measured.ratio)
        dtype = {"f4": "f32", "f8": "f64"}[case.dtype]
        least = limits.measured().seconds(flops=case.operations, moved=case.moved, dtype=dtype)
        fractions.append(least / measured.ours)
        print(
            f"{case.name:34} {case.operations / measured.ours / 1e9:8.1f} GFLOP/s   "
            f"NumPy {case.operations / measured.theirs / 1e9:8.1f}   ratio {measured.ratio:6.2f}   "
            f"{fractions[-1]:4.0%} of the limit",
            flush=True,
        )
    if ratios:
        print(
            f"geometric means: ratio {statistics.geometric_mean(ratios):.2f}, "
            f"{statistics.geometric_mean(fractions):.0%} of the limit"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
