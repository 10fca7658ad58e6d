"""The parameters of a call of `einsum`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linalg_ext.notations.einsum import Semiring, Subscripts
from linalg_ext.runtime.dtypes import DType


@dataclass(frozen=True)
class Request:
    """The parameters of a call of `einsum`, without its operands. `einsum` documents them."""

    subscripts: Subscripts
    kind: Semiring
    dtype: DType | None
    compute_type: DType | None
    casting: str
    optimize: Any
