"""Attention written with the ops of the library, under `jit`: one nest, whatever its mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.opdsl import D, ReduceFn, S, T, TensorDef, structured_op

Array = np.ndarray[Any, np.dtype[Any]]


@structured_op
def largest(X=TensorDef(T, S.B, S.H, S.M, S.N), R=TensorDef(T, S.B, S.H, S.M, output=True)):
    R[D.b, D.h, D.m] = ReduceFn.max_signed[D.n](X[D.b, D.h, D.m, D.n])


@structured_op
def total(X=TensorDef(T, S.B, S.H, S.M, S.N), R=TensorDef(T, S.B, S.H, S.M, output=True)):
    R[D.b, D.h, D.m] += X[D.b, D.h, D.m, D.n]


def traced(change: Callable[..., Any]) -> Any:
    """Attention whose scores go through `change`, with what else is given."""

    @lx.jit
    def attention(query: Any, key: Any, value: Any, *others: Any) -> Any:
        scores = change(lx.ops.attention_scores(query, key), *others)
        exponentials = lx.ops.exp(lx.ops.sub(scores, largest(scores), broadcast_rhs=[3]))
        weights = lx.ops.div(exponentials, total(exponentials), broadcast_rhs=[3])
        return lx.ops.attention_values(weights, value)

    return attention


def plain(change: Callable[..., Array], query: Array, key: Array, value: Array) -> Array:
    scores = change(query @ key.transpose(0, 1, 3, 2))
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    result: Array = exponentials / exponentials.sum(-1, keepdims=True) @ value
    return result


LENGTH = 50
BEHIND = np.arange(LENGTH)[:, None] - np.arange(LENGTH)
SEEN = np.random.default_rng(1).random((2, 3, LENGTH, LENGTH)) < 0.8
SLOPES = np.array([0.5, 0.25, 0.125], np.float32)


@pytest.mark.parametrize(
    ("change", "others", "expected"),
    [
        (lambda s: s / 3.0, (), lambda s: s / 3),
        (lambda s: lx.ops.causal_mask_scores(s * 0.5, -np.inf), (),
         lambda s: np.where(BEHIND >= 0, s / 2, -np.inf)),
        (lambda s: lx.ops.sliding_window_mask_scores(s, 7, -np.inf), (),
         lambda s: np.where((BEHIND >= 0) & (BEHIND < 7), s, -np.inf)),
        (lambda s, seen: lx.ops.mask_scores(s, seen, -np.inf), (SEEN,),
         lambda s: np.where(SEEN, s, -np.inf)),
        (lambda s, slopes: lx.ops.linear_bias_scores(s, slopes), (SLOPES,),
         lambda s: s - SLOPES[:, None, None] * BEHIND),
        (lambda s: 5 * lx.ops.tanh(s / 5), (), lambda s: 5 * np.tanh(s / 5)),
    ],
    ids=["scale", "causal", "window", "booleans", "linear bias", "soft cap"],
)  # fmt: skip
def test_changes_of_scores(
    change: Callable[..., Any], others: tuple[Array, ...], expected: Callable[..., Array]
) -> None:
    random = np.random.default_rng(0)
    operands = [random.standard_normal((2, 3, LENGTH, 24)).astype(np.float32) for _ in range(3)]
    attention = traced(change)
    got = attention(*operands, *others)
    np.testing.assert_allclose(got, plain(expected, *operands), rtol=1e-4, atol=1e-5)
    loops = attention.lower(*operands, *others).compile().as_text("loops")
    assert "linalg_ext_attention" in loops
