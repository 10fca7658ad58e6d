"""Attention: a softmax between two products, of whose scores nothing need be kept."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import linalg_ext as lx
from benchmarks.bars.case import Case, jax, torch
from linalg_ext.opdsl import D, ReduceFn, S, T, TensorDef, TernaryFn, index, structured_op


def cases() -> Iterator[Case]:
    """By heads, the length of the sequence, and that of a head's vectors."""
    yield _attention(8, 512, 64)
    yield _attention(8, 512, 64, causal=True)
    yield _attention(12, 1024, 64)
    yield _attention(32, 128, 32)


def _attention(heads: int, length: int, depth: int, *, causal: bool = False) -> Case:
    name = f"{'causal ' if causal else ''}attention {heads}x{length}x{depth}"
    scale = 1 / math.sqrt(depth)
    return Case(
        name,
        ((heads, length, depth),) * 3,
        lx.jit(lambda q, k, v: _traced(q, k, v, scale=scale, causal=causal)),
        {
            "numpy": partial(_plain, np, scale=scale, causal=causal),
            "torch": lambda q, k, v: torch().nn.functional.scaled_dot_product_attention(
                q[None], k[None], v[None], is_causal=causal
            )[0],
            "jax": lambda q, k, v: _plain(jax(), q, k, v, scale=scale, causal=causal),
        },
        flops=4 * heads * length * length * depth,
    )


def _plain(xp: Any, query: Any, key: Any, value: Any, *, scale: float, causal: bool) -> Any:
    scores = query @ key.transpose(0, 2, 1) * np.float32(scale)
    if causal:
        mask = np.tril(np.ones(scores.shape[1:], bool))
        scores = xp.where(mask, scores, np.float32(-np.inf))
    exponentials = xp.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True) @ value


@structured_op
def _largest(  # type: ignore[no-untyped-def]  # OpDSL declares by defaults
    X=TensorDef(T, S.B, S.M, S.N), R=TensorDef(T, S.B, S.M, output=True)
):
    R[D.b, D.m] = ReduceFn.max_signed[D.n](X[D.b, D.m, D.n])


@structured_op
def _total(  # type: ignore[no-untyped-def]  # OpDSL declares by defaults
    X=TensorDef(T, S.B, S.M, S.N), R=TensorDef(T, S.B, S.M, output=True)
):
    R[D.b, D.m] += X[D.b, D.m, D.n]


@structured_op
def _masked(  # type: ignore[no-untyped-def]  # OpDSL declares by defaults
    X=TensorDef(T, S.B, S.M, S.N), R=TensorDef(T, S.B, S.M, S.N, output=True)
):
    is_attended = index(D.n) <= index(D.m)
    R[D.b, D.m, D.n] = TernaryFn.select(is_attended, X[D.b, D.m, D.n], float("-inf"))


def _traced(query: Any, key: Any, value: Any, *, scale: float, causal: bool) -> Any:
    scores = lx.einsum("hqd,hkd->hqk", query, key) * np.float32(scale)
    if causal:
        scores = _masked(scores)
    exponentials = lx.ops.exp(lx.ops.sub(scores, _largest(scores), broadcast_rhs=[2]))
    weights = lx.ops.div(exponentials, _total(exponentials), broadcast_rhs=[2])
    return lx.einsum("hqk,hkd->hqd", weights, value)
