"""Normalizations of rows: a reduction of each row, then an element-wise operation on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import linalg_ext as lx
from benchmarks.bars.case import Case, jax, torch
from benchmarks.peers import Array

try:
    from numba import prange
except ImportError:  # then no case that needs it runs
    prange = range


def cases() -> Iterator[Case]:
    """Softmax and layer norm."""
    yield Case(
        "softmax 4096x4096",
        ((4096, 4096),),
        lx.jit(_traced_softmax),
        {
            "numpy": _softmax,
            "torch": lambda x: torch().softmax(x, 1),
            "jax": lambda x: (
                jax().exp(x - x.max(1, keepdims=True))
                / jax().exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
            ),
            "numba": _softmax_in_numba,
        },
    )
    yield Case(
        "layer norm 4096x1024",
        ((4096, 1024), (1024,), (1024,)),
        lx.jit(_traced_layer_norm),
        {
            "numpy": lambda x, w, b: _layer_norm(np, x, w, b),
            "torch": lambda x, w, b: torch().nn.functional.layer_norm(x, (1024,), w, b),
            "jax": lambda x, w, b: _layer_norm(jax(), x, w, b),
            "numba": _layer_norm_in_numba,
        },
    )


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    result: Array = e / e.sum(1, keepdims=True)
    return result


def _traced_softmax(x: Any) -> Any:
    e = lx.ops.exp(lx.ops.sub(x, lx.ops.row_max(x), broadcast_rhs=[1]))
    return lx.ops.div(e, lx.ops.row_sum(e), broadcast_rhs=[1])


def _softmax_in_numba(x: Any) -> Any:
    out = np.empty_like(x)
    for row in prange(x.shape[0]):
        largest = x[row].max()
        total = np.float32(0)
        for column in range(x.shape[1]):
            out[row, column] = np.exp(x[row, column] - largest)
            total += out[row, column]
        for column in range(x.shape[1]):
            out[row, column] /= total
    return out


def _layer_norm(library: Any, x: Any, weight: Any, bias: Any) -> Any:
    centred = x - x.mean(1, keepdims=True)
    variance = (centred * centred).mean(1, keepdims=True)
    return centred / library.sqrt(variance + 1e-5) * weight + bias


def _traced_layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    mean = lx.ops.row_mean(x)
    return lx.ops.layer_normalize(x, mean, lx.ops.row_variance(x, mean), weight, bias, 1e-5)


def _layer_norm_in_numba(x: Any, weight: Any, bias: Any) -> Any:
    out = np.empty_like(x)
    count = np.float32(x.shape[1])
    for row in prange(x.shape[0]):
        mean = x[row].sum() / count
        variance = np.float32(0)
        for column in range(x.shape[1]):
            variance += (x[row, column] - mean) ** 2
        scale = np.float32(1) / np.sqrt(variance / count + np.float32(1e-5))
        for column in range(x.shape[1]):
            out[row, column] = (x[row, column] - mean) * scale * weight[column] + bias[column]
    return out
