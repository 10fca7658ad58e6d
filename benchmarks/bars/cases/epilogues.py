"""Products of matrices with element-wise ops on their results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import linalg_ext as lx
from benchmarks.bars.case import Case, jax, torch


def cases() -> Iterator[Case]:
    """A bias and an activation."""
    yield Case(
        "matmul 1024 + bias + relu",
        ((1024, 1024), (1024, 1024), (1024,)),
        lx.jit(_biased),
        {
            "numpy": lambda a, b, c: np.maximum(a @ b + c, 0),
            "torch": lambda a, b, c: torch().relu(torch().addmm(c, a, b)),
            "jax": lambda a, b, c: jax().maximum(a @ b + c, 0),
        },
        flops=2 * 1024**3,
    )


def _biased(a: Any, b: Any, c: Any) -> Any:
    return lx.ops.relu(lx.ops.add(lx.ops.matmul(a, b), c, broadcast_rhs=[0]))
