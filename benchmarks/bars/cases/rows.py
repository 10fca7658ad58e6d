"""What normalizes rows: a reduction of each, and the row again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import linalg_ext as lx
from benchmarks.bars.case import Case, jax, torch
from benchmarks.peers import Array


def cases() -> Iterator[Case]:
    """Softmax."""
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
        },
    )


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    result: Array = e / e.sum(1, keepdims=True)
    return result


def _traced_softmax(x: Any) -> Any:
    e = lx.ops.exp(lx.ops.sub(x, lx.ops.row_max(x), broadcast_rhs=[1]))
    return lx.ops.div(e, lx.ops.row_sum(e), broadcast_rhs=[1])
