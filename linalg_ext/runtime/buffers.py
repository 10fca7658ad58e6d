"""Buffers that compiled code allocated and handed over."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Collection
from typing import Any

import numpy as np

from linalg_ext.errors import ExecutionError
from linalg_ext.runtime.descriptors import NOT_ALLOCATED, Descriptor

_ADDRESS_SPACE = 1 << 56
"""More bytes than any machine of today can address."""

_libc = ctypes.CDLL(None)
free = _libc.free
free.argtypes = [ctypes.c_void_p]
free.restype = None


class _Allocation:
    """Memory from malloc, freed with the last array that looks at it."""

    def __init__(self, allocated: int, start: int, nbytes: int) -> None:
        self._allocated = allocated
        self.__array_interface__ = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (start, False),
        }

    def __del__(self, free: Any = free) -> None:
        free(self._allocated)


def take_over(
    descriptor: Descriptor,
    dtype: np.dtype[Any],
    inner: tuple[int, ...],
    borrowed: Collection[int],
) -> np.ndarray[Any, Any]:
    """The array of a memref that compiled code returned.

    It is a view of the returned memory, which it frees at the end. It is a copy where the memory
    has another owner (a constant, an input, another result), or no layout of an array.

    Args:
        descriptor: as it came back.
        dtype: of one scalar.
        inner: the shape of one element if it is a vector.
        borrowed: allocated pointers that are not ours to free.

    Raises:
        ExecutionError: no memory can have that shape.
    """
    allocated = descriptor.allocated
    is_ours = allocated not in (0, NOT_ALLOCATED) and allocated not in borrowed
    shape = (*descriptor.sizes, *inner)
    itemsize = dtype.itemsize * math.prod(inner)
    nbytes = dtype.itemsize * math.prod(shape)
    if min(shape, default=0) < 0 or not (0 < nbytes < _ADDRESS_SPACE or _is_empty(shape, dtype)):
        raise ExecutionError(
            f"the code returned an array of the impossible shape {shape}",
            hint="a dimension that it computes is negative, or overflows",
        )
    if is_ours and nbytes and descriptor.is_contiguous:
        start = descriptor.aligned + descriptor.offset * itemsize
        memory = np.asarray(_Allocation(allocated, start, nbytes))
        return memory.view(dtype).reshape(shape)
    array = descriptor.copy(dtype, inner)
    if is_ours:
        free(allocated)
    return array


def _is_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Return whether an array without elements can have a shape: NumPy counts 0 as 1."""
    return 0 in shape and dtype.itemsize * math.prod(size or 1 for size in shape) < 1 << 63
