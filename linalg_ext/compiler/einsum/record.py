"""`einsum` where nothing runs: recorded under `jit`, built on MLIR values.

Each step of the path is an op of its own, made by `definition_of`: what upstream has as a named op
becomes that, the rest `linalg.generic`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.notations.einsum import Semiring, Subscripts
from linalg_ext.runtime.dtypes import DType


def einsum_on_traced(
    subscripts: Subscripts,
    values: Sequence[Any],
    kind: Semiring,
    dtype: DType | None,
    compute_type: DType | None,
    optimize: Any,
) -> Any:
    """Record an einsum; see `einsum`."""
    raise AssertionError


def einsum_on_values(
    subscripts: Subscripts,
    values: Sequence[Any],
    kind: Semiring,
    dtype: DType | None,
    compute_type: DType | None,
    optimize: Any,
    outs: Any,
) -> Any:
    """Build an einsum; see `einsum`."""
    raise AssertionError
