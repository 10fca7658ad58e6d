"""Products of narrow elements: bf16 and f16 to f32, int8 to int32, quantized layers.

Each peer gives the same type of result where it can: NumPy converts first, int8 to float64, which
is exact; JAX is asked for float32 or int32; PyTorch has int8 to int32, and rounds products of
narrow floats to their own type, which saves it half of the writing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import linalg_ext as lx
from benchmarks.bars.case import Case, jax, torch
from benchmarks.peers import Function


def cases() -> Iterator[Case]:
    """Square products of each type, then layers that go on from them."""
    for n in (256, 1000, 1024):
        yield _floats("bfloat16", n)
        yield _floats("f2", n)
        yield _integers("i1", n)
    yield _dequantized(1024)


def _floats(dtype: str, n: int) -> Case:
    functions: Mapping[str, Function] = {
        "numpy": lambda a, b: a.astype(np.float32) @ b.astype(np.float32),
        "torch": lambda a, b: a @ b,
        "jax": lambda a, b: jax().matmul(a, b, preferred_element_type=np.float32),
    }
    name = {"f2": "f16", "bfloat16": "bf16"}[dtype]
    # Sums of n products of factors below a half, which PyTorch rounds to 8 or 11 bits.
    return Case(
        f"matmul {n} {name} -> f32",
        ((n, n), (n, n)),
        lx.jit(_to_float32),
        functions,
        dtype,
        2 * n**3,
    )


def _to_float32(a: Any, b: Any) -> Any:
    return lx.einsum("mk,kn->mn", a, b, dtype=np.float32)


def _integers(dtype: str, n: int) -> Case:
    functions: Mapping[str, Function] = {
        "numpy": lambda a, b: (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int32),
        "torch": lambda a, b: torch()._int_mm(a, b),
        "jax": lambda a, b: jax().matmul(a, b, preferred_element_type=np.int32),
    }
    return Case(
        f"matmul {n} i8 -> i32",
        ((n, n), (n, n)),
        lx.jit(_to_int32),
        functions,
        dtype,
        2 * n**3,
        tolerance=0,
    )


def _to_int32(a: Any, b: Any) -> Any:
    return lx.einsum("mk,kn->mn", a, b, dtype=np.int32)


def _dequantized(n: int) -> Case:
    scale = np.float32(2.0**-7)

    def ours(a: Any, b: Any, bias: Any) -> Any:
        weights = lx.ops.dequantize(b, scale, np.int32(3))
        sums = lx.ops.add(lx.einsum("mk,kn->mn", a, weights), bias, broadcast_rhs=[0])
        return lx.ops.silu(sums)

    def numpy(a: Any, b: Any, bias: Any) -> Any:
        x = a @ ((b.astype(np.float32) - np.float32(3)) * scale) + bias
        return x / (1 + np.exp(-x))

    return Case(
        f"f32 x dequantized i8 {n} + bias + silu",
        ((n, n), (n, n), (n,)),
        lx.jit(ours),
        {
            "numpy": numpy,
            "torch": lambda a, b, c: torch().nn.functional.silu(
                torch().addmm(c, a, (b.float() - 3) * float(scale))
            ),
            "jax": lambda a, b, c: (
                lambda x: x / (1 + jax().exp(-x))
            )(a @ ((b.astype(np.float32) - 3) * scale) + c),
        },
        ("f4", "i1", "f4"),
        2 * n**3,
    )  # fmt: skip
