"""The short way into native code whose sizes are open: as `direct_call`, by what each array is.

Sizes and strides are written into a frame when they are others than those of its last call, and
what native code returns is looked at for what it is.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from linalg_ext.executable.arrays import ArrayArgument
from linalg_ext.executable.description.signature import has_shape
from linalg_ext.executable.direct_call import (
    READABLE,
    WRITABLE,
    Callee,
    ShortCall,
    has_arrays,
    is_taken,
    may_write,
    shares_memory,
)
from linalg_ext.executable.results import ResultSlot
from linalg_ext.executable.scalars import ScalarArgument
from linalg_ext.runtime.buffers import free, take_over
from linalg_ext.runtime.call_frame import Frame
from linalg_ext.runtime.descriptors import (
    NOT_ALLOCATED,
    Descriptor,
    address_of,
    contiguous_strides,
    word_count,
)

_COPIED = 1 << 14
"""Bytes up to which it is quicker to copy a result than to have an array look after its memory."""


_Shapes = list[tuple[int, ...]]


class OpenCall(ShortCall):
    """The short way into one kernel of open sizes."""

    def __init__(
        self,
        callee: Callee,
        arguments: Sequence[ArrayArgument | ScalarArgument],
        returned: Sequence[ResultSlot],
    ) -> None:
        """Made by `open_call`."""
        super().__init__(callee, arguments)
        self._dtypes = tuple(argument.dtypes for argument in self._arrays)
        places = zip(returned, callee.layout.results, strict=True)
        self._returned = tuple(_Returned(slot, word) for slot, word in places)
        self._count = len(callee.slots) + len(returned)
        self._frames: list[tuple[Frame, _Shapes]] = []
        """Those that no call has now, and the shapes that are written in each."""

    def __call__(self, values: tuple[Any, ...], out: Any, threads: int | None = None) -> Any:
        """See `ShortCall.__call__`."""
        if len(values) != self._arity or not (out is None or self._may_take(out)):
            return NotImplemented
        arrays: Sequence[Any] = values
        numbers: Sequence[tuple[ScalarArgument, Any]] = ()
        if self._scalars:
            arrays = [values[at] for at in self._places]
            numbers = [(scalar, scalar.prepare(values[at])) for at, scalar in self._scalars]
        shapes, addresses = [], []
        for array, dtypes in zip(arrays, self._dtypes):  # noqa: B905  # 0.1 us for strict=
            if (
                type(array) is not ndarray
                or array.dtype not in dtypes
                or array.flags.num & READABLE != READABLE
            ):
                return NotImplemented
            shapes.append(array.shape)
            addresses.append(address_of(array))
        if self._written and not may_write(self._written, arrays, addresses):
            return NotImplemented
        if out is not None and shares_memory(out, arrays, addresses):
            return NotImplemented
        try:
            frame, written = self._frames.pop()
        except IndexError:
            frame, written = self._layout.take(), []
        if shapes != written:
            if not self._are_right(shapes):
                self._frames.append((frame, written))
                return NotImplemented
            for argument, shape in zip(self._arrays, shapes, strict=True):
                start = argument.word + 2
                frame[start : start + 1 + 2 * argument.rank] = list(_layout(shape))
        try:
            results: list[Any] = [None] * self._count
            for slot in self._slots:
                results[slot.position] = made = slot.prepare(None)
                addresses.append(address_of(made))
            self._run(frame, arrays, addresses, numbers, threads)
            self._collect(frame, addresses, results)
        finally:
            self._frames.append((frame, shapes))
        if out is not None:
            (returned,) = self._returned
            returned.slot.check_shape(out, results[0].shape)
            return returned.slot.finish(results[0], out)
        if self._count == 1:
            return results[0]
        return tuple(results) if results else None

    def _may_take(self, out: Any) -> bool:
        """Return whether an array is fit for the only result, but perhaps for its sizes."""
        if type(out) is not ndarray or self._count != 1 or len(self._returned) != 1:
            return False
        slot = self._returned[0].slot
        is_fit = out.dtype in slot.dtypes and out.ndim == slot.rank and not slot.is_scalar
        return is_fit and out.flags.num & WRITABLE == WRITABLE

    def _are_right(self, shapes: _Shapes) -> bool:
        return all(
            has_shape(shape, argument.shape)
            for argument, shape in zip(self._arrays, shapes, strict=True)
        )

    def _collect(self, frame: Frame, addresses: list[int], results: list[Any]) -> None:
        for slot in self._slots:
            results[slot.position] = slot.finish(results[slot.position], None)
        copied: list[int] = []
        for returned in self._returned:
            results[returned.position] = returned.array(frame, addresses, copied)
        for address in copied:
            free(address)


class _Returned:
    """A result whose memory native code gives."""

    def __init__(self, slot: ResultSlot, word: int) -> None:
        self.slot = slot
        self.position = slot.position
        self._dtype = slot.result.dtype
        self._rank = slot.rank
        self._start, self._end = word, word + word_count(slot.rank)
        self._last = _Form([], (), 0)

    def array(self, frame: Frame, borrowed: list[int], copied: list[int]) -> Any:
        """The array that a call gave.

        Args:
            frame: of the call.
            borrowed: the memory that is not ours to free; that of the result comes to it.
            copied: gets the memory that is to be freed once all results are there: other results
                may lie in it, too.
        """
        words = frame[self._start : self._end]
        allocated, start = words[0], words[1]
        last = self._last
        if words[2:] != last.words:
            last = self._last = self._form(words)
        if not last.nbytes or allocated == NOT_ALLOCATED or allocated in borrowed:
            found = take_over(Descriptor.from_words(words, self._rank), self._dtype, (), borrowed)
        else:
            found = np.empty(last.shape, self._dtype)
            ctypes.memmove(address_of(found), start, last.nbytes)
            copied.append(allocated)
        borrowed.append(allocated)
        return found

    def _form(self, words: list[int]) -> _Form:
        shape = tuple(words[3 : 3 + self._rank])
        nbytes = self._dtype.itemsize * math.prod(shape)
        is_plain = min(shape, default=1) > 0 and tuple(words[2:]) == _layout(shape)
        return _Form(words[2:], shape, nbytes if is_plain and nbytes <= _COPIED else 0)


class _Form(NamedTuple):
    """The memory layout of a result.

    Attributes:
        words: its offset, sizes and strides.
        shape: its sizes.
        nbytes: of its elements, if they are copied in one block; else 0.
    """

    words: list[int]
    shape: tuple[int, ...]
    nbytes: int


def open_call(callee: Callee, returned: Sequence[ResultSlot]) -> OpenCall | None:
    """The short way into a kernel with open sizes; None if absent.

    Args:
        callee: what its calls run.
        returned: the results whose memory native code gives.
    """
    taken = [each for each in callee.arguments if is_taken(each, static=False)]
    slots = (*callee.slots, *returned)
    if len(taken) < len(callee.arguments) or any(slot.vector for slot in slots):
        return None
    return OpenCall(callee, taken, returned) if has_arrays(taken) else None


@functools.lru_cache(maxsize=1 << 10)
def _layout(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the offset, sizes and strides in the descriptor of an array in row-major order."""
    return 0, *shape, *contiguous_strides(shape)
