"""Einsums traced and compiled for the shapes of their operands, as `jit` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from linalg_ext.compiler.einsum.algebra import Array
from linalg_ext.compiler.einsum.request import Request
from linalg_ext.errors import ArgumentError
from linalg_ext.tracing.contractions import einsum_on_traced
from linalg_ext.tracing.jit_function import JitFunction
from linalg_ext.tuning import Tuning


def on_arrays(asked: Request, arrays: Sequence[Array]) -> Array:
    """Return the result of one kernel, as an array; what is asked for can be hashed."""
    return np.asarray(_function(asked, None)(*arrays))


def tuned_on_arrays(asked: Request, arrays: Sequence[Array], out: Any, tuning: Tuning) -> Any:
    """Return the result of the fastest kernel that was found for these shapes and dtypes.

    Raises:
        ArgumentError: what is asked for cannot be the key of a cache: a path as a list, say.
    """
    try:
        function = _function(asked, tuning)
    except TypeError:
        raise ArgumentError(
            "einsum: tune= with an order of contraction that is a list",
            hint="give optimize= by name, or tune a function of yours: lx.jit(f, tune=True)",
        ) from None
    result = function(*arrays, out=out)
    return result if out is not None or result.ndim else result[()]


@lru_cache(maxsize=1024)
def _function(asked: Request, tuning: Tuning | None) -> JitFunction[..., Any]:
    return JitFunction(_recorded(asked), tuning=tuning)


def _recorded(asked: Request) -> Callable[..., Any]:
    def einsum(*operands: Any) -> Any:
        return einsum_on_traced(asked, list(operands))

    return einsum
