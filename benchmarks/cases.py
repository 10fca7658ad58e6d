"""What is measured, and against whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import linalg_ext as lx
from benchmarks.timing import Work


@dataclass(frozen=True)
class Case:
    """A benchmark: a name, the peer, and what makes the two callables."""

    name: str
    peer: str
    make: Callable[[], tuple[Work, Work]]


def _random(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(0).random(shape, dtype=np.float32)


def _call() -> tuple[Work, Work]:
    a, b, out = _random(4), _random(4), _random(4)
    return lambda: lx.ops.add(a, b, out=out), lambda: np.add(a, b, out=out)


def _chain() -> tuple[Work, Work]:
    @lx.jit
    def chain(a: Any, b: Any, c: Any) -> Any:
        return (a * b + c) * a - b

    a, b, c = _random(1 << 20), _random(1 << 20), _random(1 << 20)
    return lambda: chain(a, b, c), lambda: (a * b + c) * a - b


def _matmul(size: int) -> tuple[Work, Work]:
    a, b = _random(size, size), _random(size, size)
    return lambda: lx.ops.matmul(a, b), lambda: a @ b


def _distance() -> tuple[Work, Work]:
    x, y = _random(256, 32), _random(192, 32)
    op = lx.ops.pairwise_squared_euclidean_distance
    return lambda: op(x, y), lambda: ((x[:, None] - y[None]) ** 2).sum(-1)


def _tiny_einsum() -> tuple[Work, Work]:
    a, b = _random(3, 4), _random(4, 5)
    return lambda: lx.einsum("ij,jk->ik", a, b), lambda: np.einsum("ij,jk->ik", a, b)


def _einsum(text: str, *shapes: tuple[int, ...], dtype: str = "f4") -> tuple[Work, Work]:
    arrays = [(100 * _random(*shape)).astype(dtype) for shape in shapes]
    for _ in range(50):  # until a kernel pays
        lx.einsum(text, *arrays)
    return lambda: lx.einsum(text, *arrays), lambda: np.einsum(text, *arrays, optimize=True)


_CHAIN = ((128, 512), (512, 256), (256, 64))

CASES = (
    Case("call: add, 4 elements, out=", "np.add", _call),
    Case("element-wise chain, 1M f32", "NumPy", _chain),
    Case("matmul 64, f32", "NumPy", lambda: _matmul(64)),
    Case("matmul 256, f32", "NumPy", lambda: _matmul(256)),
    Case("pairwise distance 256 x 192 x 32", "NumPy", _distance),
    Case("call: einsum ij,jk->ik, 3 x 4 x 5", "np.einsum", _tiny_einsum),
    Case(
        "einsum ij,jk,kl->il, 128 x 512 x 256 x 64",
        "np.einsum, optimize",
        lambda: _einsum("ij,jk,kl->il", *_CHAIN),
    ),
    Case(
        "einsum ij,jk->ik, 512, int8",
        "np.einsum, optimize",
        lambda: _einsum("ij,jk->ik", (512, 512), (512, 512), dtype="i1"),
    ),
)
