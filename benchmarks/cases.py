"""Benchmarks, each with its peer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import linalg_ext as lx
from benchmarks import compiling, schedules
from benchmarks.rewrites import OPS, REWRITES, SECONDS, rewriting
from benchmarks.timing import Work
from linalg_ext.notations.yaml import beyond_yaml
from linalg_ext.opdsl import D, S, StructuredOp, T, TensorDef, structured_op


@dataclass(frozen=True)
class Case:
    """A benchmark: a name, the peer, and the maker of the two callables."""

    name: str
    peer: str
    make: Callable[[], tuple[Work, Work]]


@dataclass(frozen=True)
class Budget:
    """Work that has a limit in seconds."""

    name: str
    seconds: float
    work: Work


def _compiling(name: str) -> Work:
    """Return work that is made by its first call."""
    make = cache(compiling.WORKS[name])
    return lambda: make()()


_LARGE = 1 << 24
"""Elements of arrays that no cache holds."""


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


def _multiply_add(*, reuse: bool) -> tuple[Work, Work]:
    kernel = lx.jit(lambda a, b, c: a * b + c)
    a, b, c = _random(_LARGE), _random(_LARGE), _random(_LARGE)
    if not reuse:
        return lambda: kernel(a, b, c), lambda: np.add(product := a * b, c, out=product)
    out, other = np.empty_like(a), np.empty_like(a)
    return (
        lambda: kernel(a, b, c, out=out),
        lambda: np.add(np.multiply(a, b, out=other), c, out=other),
    )


def _gelu() -> tuple[Work, Work]:
    x = _random(_LARGE) * 6 - 3
    out, other = np.empty_like(x), np.empty_like(x)
    root, cubic, half = np.float32(0.79788456), np.float32(0.044715), np.float32(0.5)

    def in_numpy() -> object:
        np.multiply(x, x, out=other)
        np.multiply(other, x, out=other)
        np.multiply(other, cubic, out=other)
        np.add(other, x, out=other)
        np.multiply(other, root, out=other)
        np.tanh(other, out=other)
        np.add(other, 1, out=other)
        np.multiply(other, x, out=other)
        return np.multiply(other, half, out=other)

    return lambda: lx.ops.gelu_tanh(x, out=out), in_numpy


def _gated() -> tuple[Work, Work]:
    kernel = lx.jit(lambda x, y: lx.ops.sigmoid(x) * y)
    x, y = _random(_LARGE) * 6 - 3, _random(_LARGE)
    out, other = np.empty_like(x), np.empty_like(x)

    def in_numpy() -> object:
        np.negative(x, out=other)
        np.exp(other, out=other)
        np.add(other, 1, out=other)
        return np.divide(y, other, out=other)

    return lambda: kernel(x, y, out=out), in_numpy


def _softmax(rows: int, columns: int) -> tuple[Work, Work]:
    @lx.jit
    def softmax(x: Any) -> Any:
        exponentials = lx.ops.softmax_exponentials(x, lx.ops.row_max(x))
        return lx.ops.softmax_normalize(exponentials, lx.ops.row_sum(exponentials))

    x = _random(rows, columns)
    out, other = np.empty_like(x), np.empty_like(x)

    def in_numpy() -> object:
        np.subtract(x, x.max(1, keepdims=True), out=other)
        np.exp(other, out=other)
        return np.divide(other, other.sum(1, keepdims=True), out=other)

    return lambda: softmax(x, out=out), in_numpy


def _layer_norm(rows: int, columns: int) -> tuple[Work, Work]:
    @lx.jit
    def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
        mean = lx.ops.row_mean(x)
        variance = lx.ops.row_variance(x, mean)
        return lx.ops.layer_normalize(x, mean, variance, weight, bias, 1e-5)

    x, weight, bias = _random(rows, columns), _random(columns), _random(columns)
    out, other = np.empty_like(x), np.empty_like(x)

    def in_numpy() -> object:
        np.subtract(x, x.mean(1, keepdims=True), out=other)
        scale = np.sqrt(x.var(1, keepdims=True) + np.float32(1e-5))
        np.divide(other, scale, out=other)
        np.multiply(other, weight, out=other)
        return np.add(other, bias, out=other)

    return lambda: layer_norm(x, weight, bias, out=out), in_numpy


def _sum(op: str, axis: int) -> tuple[Work, Work]:
    x = _random(4096, 4096)
    return lambda: getattr(lx.ops, op)(x), lambda: x.sum(axis)


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
    *(Budget(name, compiling.SECONDS, _compiling(name)) for name in compiling.WORKS),
    *(Budget(f"{name}, {OPS} ops", SECONDS, rewriting(name)) for name in REWRITES),
    Budget(f"schedules: ten steps, {OPS} ops", schedules.SECONDS, schedules.scheduling),
)

CASES = (
    Case("call: add, 4 elements, out=", "np.add", _call),
    Case("element-wise chain, 1M f32", "NumPy", _chain),
    Case("a * b + c, 16M f32", "NumPy", lambda: _multiply_add(reuse=False)),
    Case("a * b + c, 16M f32, out=", "NumPy", lambda: _multiply_add(reuse=True)),
    Case("gelu (tanh), 16M f32, out=", "NumPy", _gelu),
    Case("sigmoid(x) * y, 16M f32, out=", "NumPy", _gated),
    Case("softmax, 4096 x 4096, out=", "NumPy", lambda: _softmax(4096, 4096)),
    Case("layer norm, 4096 x 1024, out=", "NumPy", lambda: _layer_norm(4096, 1024)),
    Case("sums of rows, 4096 x 4096", "NumPy", lambda: _sum("row_sum", 1)),
    Case("sums of columns, 4096 x 4096", "NumPy", lambda: _sum("column_sum", 0)),
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
