"""Memref descriptors: how compiled code sees an array.

A ranked memref of rank r is 3 + 2r words of 64 bits: the pointer that was allocated, the pointer
to the (suitably aligned) data, the offset of element 0, r sizes, r strides; offset and strides
count elements (upstream: "Ranked MemRef Descriptor", MLIR's LLVM IR target).
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

NOT_ALLOCATED = 0xDEADBEEF
"""The allocated pointer that upstream writes for a constant, whose memory must not be freed."""


class Descriptor(NamedTuple):
    """The content of one ranked memref descriptor."""

    allocated: int
    aligned: int
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def from_words(cls, words: Sequence[int], rank: int) -> Descriptor:
        """Read the descriptor of a memref of `rank` from its `word_count(rank)` words."""
        sizes, strides = words[3 : 3 + rank], words[3 + rank : 3 + 2 * rank]
        # ctypes reads words as signed; addresses are not.
        allocated, aligned = (word & 0xFFFFFFFFFFFFFFFF for word in words[:2])
        return cls(allocated, aligned, words[2], tuple(sizes), tuple(strides))

    def words(self) -> tuple[int, ...]:
        """The descriptor as it lies in memory."""
        return (self.allocated, self.aligned, self.offset, *self.sizes, *self.strides)

    @property
    def is_contiguous(self) -> bool:
        """Return whether the elements lie in row-major order without gaps."""
        return all(
            size == 1 or stride == expected
            for size, stride, expected in zip(
                self.sizes, self.strides, contiguous_strides(self.sizes), strict=True
            )
        )

    def copy(self, dtype: np.dtype[Any], inner: tuple[int, ...] = ()) -> np.ndarray[Any, Any]:
        """The memory described, copied into a new array of shape `sizes + inner`.

        Args:
            dtype: of one scalar.
            inner: the shape of one element of the memref if it is a vector.
        """
        shape = (*self.sizes, *inner)
        if 0 in shape:
            return np.empty(shape, dtype)
        itemsize = dtype.itemsize * math.prod(inner)
        reach = [(size - 1) * stride for size, stride in zip(self.sizes, self.strides, strict=True)]
        low = sum(step for step in reach if step < 0)
        high = sum(step for step in reach if step > 0)
        raw = (ctypes.c_char * ((high - low + 1) * itemsize)).from_address(
            self.aligned + (self.offset + low) * itemsize
        )
        inner_strides = tuple(stride * dtype.itemsize for stride in contiguous_strides(inner))
        view: np.ndarray[Any, Any] = np.ndarray(
            shape,
            dtype,
            buffer=memoryview(raw),
            offset=-low * itemsize,
            strides=(*(stride * itemsize for stride in self.strides), *inner_strides),
        )
        return view.copy()


def word_count(rank: int) -> int:
    """Return the number of 64-bit words in the descriptor of a memref of `rank`."""
    return 3 + 2 * rank


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides of `shape`, in elements."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def _by_interface(array: np.ndarray[Any, Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


_word_at = ctypes.c_size_t.from_address
DATA = object.__basicsize__
"""The offset of an array's data pointer: `PyArrayObject_fields` of NumPy's C API puts it first."""


def _by_structure(array: np.ndarray[Any, Any]) -> int:
    return _word_at(id(array) + DATA).value


def _quickest_way() -> Callable[[np.ndarray[Any, Any]], int]:
    if sys.implementation.name != "cpython":
        return _by_interface
    probes: list[np.ndarray[Any, Any]] = [
        np.empty(3),
        np.empty((2, 5), np.int8)[1:, ::2],
        np.empty(0),
    ]
    agree = all(_by_structure(probe) == _by_interface(probe) for probe in probes)
    return _by_structure if agree else _by_interface


address_of = _quickest_way()
"""The address of element 0 of an array.

Read from NumPy's own structure, which its C API publishes, after a check that it is right: a tenth
of the cost of `array.__array_interface__`, and each call of a kernel asks it of each array.
"""


def describe(
    array: np.ndarray[Any, Any], *, inner_rank: int = 0, offset: int = 0
) -> Descriptor | None:
    """The descriptor of `array`, or None where its strides are not whole numbers of elements.

    Args:
        array: any strides, any rank.
        inner_rank: how many trailing axes make up one element (a vector); they must be contiguous.
        offset: the element offset to state; the data pointer is moved so that element 0 stays.
    """
    outer = array.ndim - inner_rank
    itemsize = array.itemsize * math.prod(array.shape[outer:])
    if itemsize == 0:
        itemsize = array.itemsize
    if any(stride % itemsize for stride in array.strides[:outer]):
        return None
    address = address_of(array)
    strides = tuple(stride // itemsize for stride in array.strides[:outer])
    return Descriptor(address, address - offset * itemsize, offset, array.shape[:outer], strides)
