"""The time to trace and compile a function for new shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import numpy as np

import linalg_ext as lx

SECONDS = 0.1
"""For a product of matrices, a bias and an activation, once the library is warm."""

_SIZES = (1024, 1000, 960, 1008, 992, 1020, 1010)
"""Each is new to the function that is compiled."""


def _biased(a: Any, b: Any, c: Any) -> Any:
    return lx.ops.relu(lx.ops.add(lx.ops.matmul(a, b), c, broadcast_rhs=[0]))


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + lx.ops.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _fresh(function: Callable[..., Any], *ranks: int) -> Callable[[], object]:
    """Compiles a function for another size at every call."""
    sizes: Iterator[int] = cycle(_SIZES)

    def compile_anew() -> object:
        size = next(sizes)
        # Nothing is written to them: no page of theirs is ever there.
        arrays = [np.empty((size,) * rank, np.float32) for rank in ranks]
        return lx.jit(function).explain(*arrays)

    compile_anew()
    return compile_anew


WORKS: dict[str, Callable[[], Callable[[], object]]] = {
    "compile matmul + bias + relu, a second shape": lambda: _fresh(_biased, 2, 2, 1),
    "compile gelu (tanh), a second shape": lambda: _fresh(_gelu, 1),
    "compile einsum mk,kn->mn, a second shape": lambda: _fresh(
        lambda a, b: lx.einsum("mk,kn->mn", a, b), 2, 2
    ),
}
"""Functions that make each work; making it compiles the first shape."""
