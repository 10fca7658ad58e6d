"""The cases of the grouping benchmark: functions, and modules that PyTorch exported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

import linalg_ext as lx
from benchmarks import MODULES

Array = np.ndarray[Any, np.dtype[Any]]

Formula: TypeAlias = "tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]"
"""A function and the shapes of its arguments."""


@dataclass(frozen=True)
class Case:
    """A module and its arguments."""

    name: str
    module: lx.Module
    arrays: tuple[Array, ...]


def functions(formulas: Mapping[str, Formula]) -> Iterator[Case]:
    """Functions, on random arrays."""
    rng = np.random.default_rng(0)
    for name, (function, shapes) in formulas.items():
        arrays = tuple(rng.standard_normal(shape, np.float32) for shape in shapes)
        yield Case(name, lx.jit(function).lower(*arrays).module, arrays)


def exported(names: tuple[str, ...] | None = None) -> Iterator[Case]:
    """Yield modules that PyTorch exported; all of them where none is named."""
    known = (path.stem for path in sorted(MODULES.glob("*.mlir")))
    for path in (MODULES / f"{name}.mlir" for name in names or known):
        with np.load(path.with_suffix(".npz"), allow_pickle=False) as data:
            arrays = tuple(data[name] for name in data.files if name.startswith("in"))
        yield Case(path.stem, lx.parse(path.read_text(), trusted=True), arrays)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _normed(x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def attention(q: Any, k: Any, v: Any) -> Any:
    """Scaled dot products."""
    return _softmax((q @ k.T) * 0.125) @ v


def norm_linear(x: Any, w: Any, b: Any) -> Any:
    """Layer norm, a linear layer, GELU."""
    return _gelu(_normed(x) @ w + b)


def mlp(x: Any, u: Any, v: Any, w: Any) -> Any:
    """Three linear layers."""
    return np.maximum(np.maximum(x @ u, 0.0) @ v, 0.0) @ w


def dropout(x: Any, mask: Any, w: Any) -> Any:
    """Softmax, a mask, a linear layer."""
    return (_softmax(x) * mask * 1.25) @ w


def chain(x: Any, y: Any) -> Any:
    """Element by element."""
    a = np.exp(-x * x) + y
    b = np.tanh(a) * x - y
    return np.sqrt(np.abs(b) + 1.0) * a


def row_statistics(x: Any) -> Any:
    """Logarithms of sums, and maxima."""
    scaled = _normed(x) * 2.0 + 1.0
    return np.log(np.exp(scaled).sum(axis=-1)) + scaled.max(axis=-1)


def _classes(x: Any, w: Any) -> Any:
    return _softmax(x @ w)


def _log_likelihood(x: Any, w: Any) -> Any:
    scores = x @ w
    most = scores.max(axis=-1, keepdims=True)
    return np.log(np.exp(scores - most).sum(axis=-1)) + most[:, 0]


def _nearest(x: Any, centres: Any) -> Any:
    lengths = (x * x).sum(axis=-1, keepdims=True) + (centres * centres).sum(axis=-1)
    return (lengths - 2.0 * (x @ centres.T)).min(axis=-1)


def _linear_norm(x: Any, w: Any, b: Any) -> Any:
    return _normed(_gelu(x @ w + b))


def _relu_attention(q: Any, k: Any, v: Any) -> Any:
    return np.maximum(q @ k.T, 0.0) @ v


def _batched(x: Any, y: Any) -> Any:
    return np.tanh(x @ np.swapaxes(y, -1, -2)).sum(axis=-1)


def _pooled(x: Any, w: Any) -> Any:
    window = np.ones((2, 2), np.float32)
    convolved = np.maximum(lx.ops.conv_2d_nchw_fchw(x, w), 0.0)
    return lx.ops.pooling_nchw_max(convolved, window, strides=(2, 2))


def _stencil(x: Any) -> Any:
    for _ in range(3):
        sides = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
        x = 0.2 * (x[1:-1, 1:-1] + sides)
    return x


LARGE: Mapping[str, Formula] = {
    "classes": (_classes, ((8192, 64), (64, 512))),
    "log of a likelihood": (_log_likelihood, ((8192, 64), (64, 1024))),
    "nearest centre": (_nearest, ((16384, 32), (256, 32))),
    "linear, gelu, layer norm": (_linear_norm, ((16384, 64), (64, 256), (256,))),
    "attention by relu": (_relu_attention, ((2048, 64), (2048, 64), (2048, 64))),
    "products of a batch, sums": (_batched, ((16, 512, 64), (16, 512, 64))),
    "convolution, relu, pooling": (_pooled, ((1, 3, 450, 450), (64, 3, 3, 3))),
    "three stencils": (_stencil, ((2048, 2048),)),
}
"""Functions that hand on more than the near caches hold."""
