"""The C interface of compiled code: memref descriptors, argument blocks and returned buffers.

A ranked memref of rank r is 3 + 2r words of 64 bits: the pointer that was allocated, the pointer
to the (suitably aligned) data, the offset of element 0, r sizes, r strides; offset and strides
count elements (upstream: "Ranked MemRef Descriptor", MLIR's LLVM IR target).

The execution engine's packed calling convention takes one pointer to a table of pointers, one for
each argument, each to the argument's value. The value of a memref is a pointer to its descriptor.
A `FrameLayout` puts table, pointers, descriptors and scalars into one block:

    status   table[0..n)   cells[0..n)   descriptors and scalars ...

Blocks are reused, never shared: a call takes one from the pool, or makes one, and puts it back, so
calls may overlap in any number of threads.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from linalg_ext.errors import ExecutionError

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

    def view(self, dtype: np.dtype[Any], inner: tuple[int, ...] = ()) -> np.ndarray[Any, Any]:
        """The memory described, as an array of shape `sizes + inner` that does not own it.

        `dtype` is of one scalar; `inner` the shape of one element of a memref of vectors.
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
        return np.ndarray(
            shape,
            dtype,
            buffer=memoryview(raw),
            offset=-low * itemsize,
            strides=(*(stride * itemsize for stride in self.strides), *inner_strides),
        )


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

    The `inner_rank` trailing axes, contiguous, make up one element (a vector). The data pointer is
    moved so that element 0 stays at the stated `offset`.
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
    has another owner (a constant, an input, another result: their pointers are `borrowed`), or no
    layout of an array. `inner` is the shape of one element of a memref of vectors.

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
    array = descriptor.view(dtype, inner).copy()
    if is_ours:
        free(allocated)
    return array


def _is_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Return whether an array without elements can have a shape: NumPy counts 0 as 1."""
    return 0 in shape and dtype.itemsize * math.prod(size or 1 for size in shape) < 1 << 63


WORD = 8
SCALAR_WORDS = 2
"""Room for one scalar: complex<f64> is the widest."""

STATUS = 0
"""The word that the call's status is read from.

Before the call write 0, or for code that shares loops the number that `threads.context` gives.
"""

TABLE = 1
"""The word at which the table starts: its address is the argument of a packed function."""

Frame = ctypes.Array[ctypes.c_int64]


class FrameTemplate(NamedTuple):
    """The common content of all blocks of a layout.

    Attributes:
        words: of a block. Those that hold addresses within it hold offsets in bytes.
        places: the indices of the words that hold addresses.
    """

    words: tuple[int, ...]
    places: tuple[int, ...]


class FrameLayout:
    """The position of each argument of a packed call in the block, in words.

    The last argument is the status, a memref<1xi64>: its one element is the block's first word.

    Attributes:
        slots: for each argument but the status the word at which its descriptor or scalar starts.
        size: words of a block.
        results: for each memref that the function returns, the word of its descriptor.
    """

    def __init__(self, arguments: Sequence[int | None], results: Sequence[int]) -> None:
        """Lay out the call.

        Args:
            arguments: for each argument but the status the rank of a memref, or None for a scalar.
            results: the rank of each memref that the function returns.
        """
        # All results come back through one struct, passed by pointer ahead of the arguments.
        pointers = bool(results) + len(arguments) + 1
        position = TABLE + 2 * pointers
        self.results: list[int] = []
        for rank in results:
            self.results.append(position)
            position += word_count(rank)
        self.slots: list[int] = []
        for argument in arguments:
            self.slots.append(position)
            position += SCALAR_WORDS if argument is None else word_count(argument)
        self._status = position
        self.size = position + word_count(1)
        values = [
            (word, argument is None) for word, argument in zip(self.slots, arguments, strict=True)
        ]
        self._values = [(self.results[0], False)] if results else []
        self._values += [*values, (self._status, False)]
        self._template: dict[int, int] = {}
        self._pool: list[Frame] = []

    def preset(self, word: int, values: Sequence[int]) -> None:
        """Write `values` from `word` on into every block: words that no call changes."""
        for position, value in enumerate(values, word):
            self._template[position] = value

    def take(self) -> Frame:
        """A block of one's own."""
        try:
            return self._pool.pop()
        except IndexError:
            return self._new()

    def give_back(self, frame: Frame) -> None:
        """Let the next call have `frame`."""
        self._pool.append(frame)

    def template(self, spare: int = 0) -> FrameTemplate:
        """Return the common content of all blocks, with `spare` more words at the end."""
        words = [0] * (self.size + spare)
        for position, value in self._template.items():
            words[position] = value
        places = []
        for index, (word, is_scalar) in enumerate(self._values, TABLE):
            words[index] = word * WORD
            if not is_scalar:
                cell = index + len(self._values)
                words[index], words[cell] = cell * WORD, word * WORD
                places.append(cell)
            places.append(index)
        words[self._status : self._status + word_count(1)] = [0, 0, 0, 1, 1]
        return FrameTemplate(tuple(words), (*places, self._status, self._status + 1))

    def _new(self) -> Frame:
        template = self.template()
        frame = (ctypes.c_int64 * self.size)(*template.words)
        base = ctypes.addressof(frame)
        for place in template.places:
            frame[place] += base
        return frame
