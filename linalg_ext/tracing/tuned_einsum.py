"""An einsum whose plans were measured: traced and compiled for the shapes of its operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from linalg_ext.compiler.einsum.algebra import Array
from linalg_ext.compiler.einsum.request import Request
from linalg_ext.errors import ArgumentError
from linalg_ext.tracing.contractions import einsum_on_traced
from linalg_ext.tracing.jit_function import JitFunction
from linalg_ext.tuning import Tuning


def on_arrays(asked: Request, arrays: Sequence[Array], out: Any, tuning: Tuning) -> Any:
    """The result, by the fastest kernel that was found for these shapes and dtypes.

    Raises:
        ArgumentError: what is asked for cannot be the key of a cache: a path as a list, say.
    """
    try:
        function = _function(asked, tuning)
    except TypeError:
        raise ArgumentError(
            "einsum: tune= with an order of contraction that is a list",
            cure="give optimize= by name, or tune a function of yours: lx.jit(f, tune=True)",
        ) from None
    result = function(*arrays, out=out)
    return result if out is not None or result.ndim else result[()]


@lru_cache(maxsize=1024)
def _function(asked: Request, tuning: Tuning) -> JitFunction:
    return JitFunction(_recorded(asked), tuning=tuning)


def _recorded(asked: Request) -> Callable[..., Any]:
    def einsum(*operands: Any) -> Any:
        return einsum_on_traced(asked, list(operands))

    return einsum
