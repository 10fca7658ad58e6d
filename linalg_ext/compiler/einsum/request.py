"""What a call of `einsum` asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linalg_ext.notations.einsum import Semiring, Subscripts
from linalg_ext.runtime.dtypes import DType


@dataclass(frozen=True)
class Request:
    """What a call of `einsum` asks for, but for its operands; see there."""

    subscripts: Subscripts
    kind: Semiring
    dtype: DType | None
    compute_type: DType | None
    casting: str
    optimize: Any
