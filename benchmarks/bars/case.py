"""One piece of work, as this project and each of its peers write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

import linalg_ext as lx
from benchmarks.peers import Array, Function
from linalg_ext.opdsl import StructuredOp
from linalg_ext.tracing.jit_function import JitFunction


@dataclass(frozen=True)
class Case:
    """One piece of work.

    Attributes:
        name: of the case.
        shapes: of the operands.
        ours: a function of the operands, and of `out` where results are reused.
        functions: the same for each peer, NumPy's first.
        dtype: of the operands: one for all, or one for each; `bfloat16` is one.
        flops: additions and multiplications, where these bound the time.
        reused: for the peers that can, a function of the operands that writes to its last one.
        tolerance: how far a result may be from NumPy's, relative and absolute.
        traced: the function for `jit`, where `ours` is neither an op nor a jitted function.
        compared: the part of a result that is compared with NumPy's.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    ours: Callable[..., Any]
    functions: Mapping[str, Function]
    dtype: str | tuple[str, ...] = "f4"
    flops: int = 0
    reused: Mapping[str, Function] = field(default_factory=dict)
    tolerance: float = 2e-3
    traced: Callable[..., Any] | None = None
    compared: Callable[[Array], Array] = np.asarray

    @property
    def peers(self) -> dict[str, Function]:
        """The function of each peer; IREE's is the trace of ours, as plain linalg on tensors."""
        traced = self.traced or self.ours
        if not isinstance(traced, JitFunction | StructuredOp) and self.traced is None:
            return dict(self.functions)
        return {"iree": lambda *arrays: _module(traced, arrays), **self.functions}

    def operands(self) -> list[Array]:
        """Random operands: numbers around zero, integers of all their range; always the same."""
        random = np.random.default_rng(0)
        dtypes = (self.dtype,) * len(self.shapes) if isinstance(self.dtype, str) else self.dtype
        return [
            _random(random, shape, name) for shape, name in zip(self.shapes, dtypes, strict=True)
        ]


def same(function: Callable[..., Any]) -> dict[str, Function]:
    """One spelling that NumPy, PyTorch and JAX share."""
    return dict.fromkeys(("numpy", "torch", "jax"), function)


def _module(traced: Callable[..., Any], arrays: Sequence[Array]) -> str:
    function = traced if isinstance(traced, JitFunction) else lx.jit(traced)
    module = function.lower(*arrays).module
    # The syntax of named ops differs from version to version.
    lx.transforms.generalize(module)
    return str(module)


def torch() -> Any:
    """PyTorch, where a function of it runs: it need not be installed before."""
    import torch

    return torch


def jax() -> Any:
    """`jax.numpy`, where a function of it runs."""
    import jax.numpy

    return jax.numpy


def _random(random: np.random.Generator, shape: Sequence[int], name: str) -> Array:
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, tuple(shape), dtype, endpoint=True)
    if dtype.kind == "c":
        shape = (*shape, 2)
        return (random.random(shape) - 0.5).astype(f"f{dtype.itemsize // 2}").view(dtype)[..., 0]
    return (random.random(tuple(shape)) - 0.5).astype(dtype)
