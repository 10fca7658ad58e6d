"""Rows too short for vectors of their own, and what LLVM makes of the loops around them.

It unrolls loops of a few rounds, and puts the rounds of the loop around them into the lanes of
vectors. What lies a few elements apart from round to round it loads as a whole, and takes apart;
what lies farther apart it gathers, element by element.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from linalg_ext.bindings import ir

if TYPE_CHECKING:
    from .loop_nests import Nest

_UNROLLED = 64
"""Rounds of inner loops together that are unrolled."""

_FARTHEST = 8
"""Elements from round to round up to which whole vectors are loaded."""

_GATHERED_BITS = 32
"""Of the narrowest elements that x86 gathers."""


def is_gathered(nest: Nest) -> bool:
    """Whether LLVM would gather what a nest reads, where its innermost loops are short."""
    unrolled: list[int] = []
    for dim in reversed(range(nest.rank)):
        extent = nest.static_extent(dim)
        if extent is None or extent * _rounds(nest, unrolled) > _UNROLLED:
            return any(
                dim in access.dims
                and _rounds(nest, unrolled, access.dims) > _FARTHEST
                and _bits(access.memref.type.element_type) >= _GATHERED_BITS
                for access in nest.reads
            )
        unrolled.append(dim)
    return False


def _bits(element: Any) -> int:
    return 0 if isinstance(element, ir.IndexType) else int(element.width)


def _rounds(nest: Nest, dims: list[int], among: tuple[int | None, ...] | None = None) -> int:
    """How many rounds loops have together, or those of them that index an access."""
    return math.prod(nest.static_extent(dim) or 0 for dim in dims if among is None or dim in among)
