"""Products of matrices: square ones, thin ones, many small ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

import linalg_ext as lx
from benchmarks.bars.case import Case, same, torch
from benchmarks.peers import Function

_INTO: Mapping[str, Function] = {
    "numpy": lambda a, b, out: np.matmul(a, b, out=out),
    "torch": lambda a, b, out: torch().matmul(a, b, out=out),
}


def cases() -> Iterator[Case]:
    """Matmuls by size, then batched ones."""
    for n in (64, 100, 128, 256, 512, 1000, 1024, 2048):
        yield _matmul(n, n, n)
    yield _matmul(2048, 2048, 64)
    yield _matmul(16, 4096, 4096)
    yield _matmul(1024, 1024, 1024, "f8")
    yield _matmul(512, 512, 512, "c8")
    yield _matmul(1000, 1, 1000, "c8")
    yield _batched(32, 256)
    yield _batched(1000, 16)


def _matmul(m: int, n: int, k: int, dtype: str = "f4") -> Case:
    return Case(
        f"matmul {m}x{n}x{k} {dtype}",
        ((m, k), (k, n)),
        lx.ops.matmul,
        same(lambda a, b: a @ b),
        dtype,
        (8 if dtype == "c8" else 2) * m * n * k,
        _INTO,
    )


def _batched(batch: int, n: int) -> Case:
    return Case(
        f"batched {batch} x {n}^3",
        ((batch, n, n), (batch, n, n)),
        lx.ops.batch_matmul,
        same(lambda a, b: a @ b),
        flops=2 * batch * n**3,
        reused=_INTO,
    )
