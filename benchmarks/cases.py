"""What is measured, and against whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import linalg_ext as lx
from benchmarks.rewrites import OPS, REWRITES, SECONDS, rewriting
from benchmarks.timing import Work
from linalg_ext.notations.yaml import beyond_yaml
from linalg_ext.opdsl import D, S, StructuredOp, T, TensorDef, structured_op


@dataclass(frozen=True)
class Case:
    """A benchmark: a name, the peer, and what makes the two callables."""

    name: str
    peer: str
    make: Callable[[], tuple[Work, Work]]


@dataclass(frozen=True)
class Budget:
    """Something that must not take longer than so many seconds."""

    name: str
    seconds: float
    work: Work


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


def _declare() -> object:
    @structured_op
    def product(  # type: ignore[no-untyped-def]  # OpDSL declares by defaults
        A=TensorDef(T, S.M, S.K), B=TensorDef(T, S.K, S.N), C=TensorDef(T, S.M, S.N, output=True)
    ):
        C[D.m, D.n] += A[D.m, D.k] * B[D.k, D.n]

    return product


@cache
def _library() -> tuple[object, ...]:
    """Every op of the library that YAML can hold."""
    named = [getattr(lx.ops, name) for name in dir(lx.ops) if not name.startswith("_")]
    ops = [op for op in named if isinstance(op, StructuredOp)]
    beyond = beyond_yaml(ops)
    return tuple(op for op in ops if op.op_name not in beyond)


@cache
def _library_yaml() -> str:
    return lx.to_yaml(*_library())


BUDGETS = (
    Budget("declare an op", 1e-3, _declare),
    Budget("write the YAML of all ops", 1.0, lambda: lx.to_yaml(*_library())),
    Budget("read the YAML of all ops", 1.0, lambda: lx.from_yaml(_library_yaml())),
    *(Budget(f"{name}, {OPS} ops", SECONDS, rewriting(name)) for name in REWRITES),
)

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
