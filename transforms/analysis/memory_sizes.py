"""Sizes of values in memory."""

from __future__ import annotations

import math
from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.transforms.ir_utils.arithmetic import index

MOST_BYTES = 1 << 62
"""More than any machine addresses, with room above for what alignment adds."""

_LARGEST_ELEMENT = 64  # a descriptor of a memref of rank 2


def element_bytes(type_: Any) -> int:
    """An upper bound of the bytes that an element takes in memory."""
    if isinstance(type_, ir.VectorType):
        # A vector is padded to a power of two.
        return _power_of_two(math.prod(type_.shape) * element_bytes(type_.element_type))
    if isinstance(type_, ir.ComplexType):
        return 2 * element_bytes(type_.element_type)
    if isinstance(type_, ir.IntegerType | ir.FloatType):
        return _power_of_two(-(-type_.width // 8))
    if isinstance(type_, ir.IndexType):
        return 8
    return _LARGEST_ELEMENT


def static_elements(type_: Any) -> int:
    """Return the product of the dimensions that are known from the type."""
    return math.prod(
        type_.get_dim_size(at) for at in range(type_.rank) if not type_.is_dynamic_dim(at)
    )


def static_bytes(type_: Any) -> int:
    """Return an upper bound of the bytes of the dimensions that are known from the type."""
    return static_elements(type_) * element_bytes(type_.element_type)


def bytes_at_run_time(allocation: Any) -> Any:
    """Return the bytes of an allocation, as an index at the insertion point."""
    type_ = allocation.results[0].type
    nbytes = index(static_bytes(type_))
    for size in list(allocation.operands)[: sum(map(type_.is_dynamic_dim, range(type_.rank)))]:
        nbytes = arith.muli(nbytes, size)
    return nbytes


def _power_of_two(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()
