"""Chains of element-wise functions on arrays that no cache holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import linalg_ext as lx
from benchmarks.bars.case import Case, jax, same, torch
from benchmarks.peers import Function

_LARGE = 16 << 20


def cases() -> Iterator[Case]:
    """By rising arithmetic."""
    yield _pointwise(
        "a*b+c, 16M",
        lambda a, b, c: a * b + c,
        {**same(lambda a, b, c: a * b + c), "numba": lambda a, b, c: a * b + c},
        3,
        {
            "numpy": lambda a, b, c, out: np.add(np.multiply(a, b, out=out), c, out=out),
            "torch": lambda a, b, c, out: torch().addcmul(c, a, b, out=out),
        },
    )
    yield _pointwise(
        "gelu (tanh), 16M",
        lambda x: _gelu(lx.ops.tanh, x),
        {
            "numpy": lambda x: _gelu(np.tanh, x),
            "torch": lambda x: torch().nn.functional.gelu(x, approximate="tanh"),
            "jax": lambda x: _gelu(jax().tanh, x),
            "numba": _gelu_in_numba,
        },
        1,
    )
    yield _pointwise(
        "sigmoid(x)*y, 16M",
        lambda x, y: y / (1.0 + lx.ops.exp(-x)),
        {
            "numpy": lambda x, y: y / (1.0 + np.exp(-x)),
            "torch": lambda x, y: torch().sigmoid(x) * y,
            "jax": lambda x, y: y / (1.0 + jax().exp(-x)),
            "numba": lambda x, y: y / (_ONE + np.exp(-x)),
        },
        2,
    )


def _pointwise(
    name: str,
    traced: Callable[..., Any],
    functions: Mapping[str, Function],
    operands: int,
    reused: Mapping[str, Function] | None = None,
) -> Case:
    return Case(name, ((_LARGE,),) * operands, lx.jit(traced), functions, reused=reused or {})


def _gelu(tanh: Callable[[Any], Any], x: Any) -> Any:
    return 0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


_ONE, _HALF, _ROOT, _CUBIC = map(np.float32, (1.0, 0.5, 0.7978845608, 0.044715))
"""In numba a number of Python's makes float64 of float32."""


def _gelu_in_numba(x: Any) -> Any:
    return _HALF * x * (_ONE + np.tanh(_ROOT * (x + _CUBIC * x * x * x)))
