"""The short ways into native code: for arrays of the right types and sizes, and for numbers.

A short way makes every check of the long way, but only as a question. A call that needs more (the
copy of a large array, a conversion, a look at interleaved views, an error with its reasons) gets
NotImplemented, and goes the long way.

If sizes are open, a call writes sizes and strides into its frame when they differ from those of the
last call. Memory that native code returns becomes an array, or is copied into one.
"""

from __future__ import annotations

import ctypes
import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy import ndarray

from linalg_ext.executable.arguments import (
    Argument,
    ArrayArgument,
    ResultSlot,
    ScalarArgument,
    StridedArgument,
)
from linalg_ext.executable.code_variants import OneThread, SharedWork
from linalg_ext.executable.signature import has_shape
from linalg_ext.runtime.calling_convention import (
    NOT_ALLOCATED,
    STATUS,
    TABLE,
    WORD,
    Descriptor,
    Frame,
    FrameLayout,
    address_of,
    contiguous_strides,
    free,
    take_over,
    word_count,
)
from linalg_ext.runtime.dtypes import to_machine
from linalg_ext.runtime.interrupts import interrupts
from linalg_ext.runtime.pool import SMALLEST
from linalg_ext.runtime.threads import current

READABLE = 0x1 | 0x100
"""NumPy's flags C_CONTIGUOUS and ALIGNED, as in `array.flags.num`."""

WRITABLE = READABLE | 0x400
"""The flags of `READABLE`, and WRITEABLE."""


class Callee(NamedTuple):
    """The compiled function that a call of a kernel runs, and its arguments and results.

    Attributes:
        own: the function, for one thread.
        layout: of its frames, with words for arguments and results.
        slots: the results that are written to memory of the caller, in order.
        shared: the work that several threads can share, if any.
        open_ended: whether a call may take long although another was short.
    """

    own: OneThread
    layout: FrameLayout
    arguments: tuple[Argument, ...]
    slots: tuple[ResultSlot, ...]
    shared: SharedWork | None
    open_ended: bool

    def run(self, frame: Frame, threads: int, arrays: Iterable[Any]) -> None:
        """Run the function on a frame; the arrays are those of the call.

        Raises:
            ExecutionError: the code reported a failure.
        """
        shared = self.shared and self.shared.for_call(threads, arrays)
        frame[STATUS] = shared.context(threads) if shared else 0
        code = shared or self.own
        if code.polls:
            interrupts.watch()
        code.function(ctypes.addressof(frame) + TABLE * WORD)
        if frame[STATUS]:
            code.report(frame[STATUS])


class ShortCall(ABC):
    """The short way into a kernel: the base of the ways for known and for open sizes."""

    def __init__(self, callee: Callee, arguments: Sequence[ArrayArgument | ScalarArgument]) -> None:
        self.callee = callee
        self.arguments = tuple(arguments)
        self._layout = callee.layout
        self._slots = callee.slots
        self._arity = len(arguments)
        numbered = list(enumerate(arguments))
        self._scalars = tuple((i, a) for i, a in numbered if isinstance(a, ScalarArgument))
        self._array_indices = tuple(i for i, a in numbered if isinstance(a, ArrayArgument))
        self._arrays = tuple(a for a in arguments if isinstance(a, ArrayArgument))
        self._written = tuple(i for i, a in enumerate(self._arrays) if a.is_written)
        self._words = tuple(item.word for item in (*self._arrays, *callee.slots))

    @abstractmethod
    def __call__(self, values: tuple[Any, ...], out: Any, threads: int | None = None) -> Any:
        """Return the result of a call, or NotImplemented if it has to go the long way.

        `threads` is the number of threads that may work on it, by default that of `lx.threads`.

        Raises:
            ArgumentError: a number is of the wrong type or range.
            ExecutionError: the code reported a failure.
        """

    def _readable(self, arrays: Sequence[Any], out: Any) -> Sequence[Any] | None:
        """Return arrays as native code reads them: as they are, or small ones copied.

        None where the call writes to memory of the caller, which may be that of a copied array, and
        for large arrays: the long way borrows memory for their copies.
        """
        copied = [array for array in arrays if array.flags.num & READABLE != READABLE]
        if not copied:
            return arrays
        if out is not None or self._written or any(array.nbytes >= SMALLEST for array in copied):
            return None
        return [
            array if array.flags.num & READABLE == READABLE else array.copy() for array in arrays
        ]

    def _run(
        self,
        frame: Frame,
        arrays: Sequence[Any],
        addresses: Sequence[int],
        numbers: Sequence[tuple[ScalarArgument, Any]],
        threads: int | None,
    ) -> None:
        """Run the code on a frame that has the sizes of the arrays, for this call alone.

        The addresses of the arrays are followed by those of the results in memory of the caller;
        `numbers` are prepared.
        """
        for word, address in zip(self._words, addresses):  # noqa: B905  # 0.1 us for strict=
            frame[word] = frame[word + 1] = address
        for scalar, number in numbers:
            scalar.write(frame, number)
        self.callee.run(frame, threads or current(), arrays)


class DirectCall(ShortCall):
    """The short way into a kernel of known sizes that writes to memory of the caller."""

    def __init__(self, callee: Callee, arguments: Sequence[ArrayArgument | ScalarArgument]) -> None:
        """Made by `direct_call`."""
        super().__init__(callee, arguments)
        self._inputs = tuple((argument.shape, argument.dtypes) for argument in self._arrays)
        self._elements = tuple(
            (index, argument.type.element)
            for index, argument in enumerate(self._arrays)
            if argument.type.element.is_sub_byte
        )
        """Arrays whose bytes have unused bits, which must be zero, with their element types."""

    def __call__(self, values: tuple[Any, ...], out: Any, threads: int | None = None) -> Any:
        """See `ShortCall.__call__`."""
        if len(values) != self._arity:
            return NotImplemented
        arrays = values
        if self._scalars:
            arrays = tuple([values[index] for index in self._array_indices])
        for array, (shape, dtypes) in zip(arrays, self._inputs):  # noqa: B905  # 0.1 us for strict=
            if type(array) is not ndarray or array.shape != shape or array.dtype not in dtypes:
                return NotImplemented
        if out is not None:
            if type(out) is not ndarray or len(self._slots) != 1:
                return NotImplemented
            (slot,) = self._slots
            if out.shape != slot.shape or out.dtype not in slot.dtypes:
                return NotImplemented
        return self.on_known(values, out, threads)

    def on_known(self, values: Sequence[Any], out: Any, threads: int | None = None) -> Any:
        """Call the kernel on arrays whose number, shapes and dtypes are known to be right.

        `out` is an array for the only result, or None.
        """
        arrays = values
        numbers: Sequence[tuple[ScalarArgument, Any]] = ()
        if self._scalars:
            arrays = [values[index] for index in self._array_indices]
            numbers = [(scalar, scalar.prepare(values[index])) for index, scalar in self._scalars]
        read = self._readable(arrays, out)
        if read is None:
            return NotImplemented
        arrays = read
        for index, element in self._elements:
            if to_machine(arrays[index], element) is not arrays[index]:
                return NotImplemented
        addresses = list(map(address_of, arrays))
        if self._written and not may_write(self._written, arrays, addresses):
            return NotImplemented
        if out is None:
            results = [slot.prepare(None) for slot in self._slots]
            addresses += map(address_of, results)
        else:
            if out.flags.num & WRITABLE != WRITABLE:
                return NotImplemented
            if shares_memory(out, arrays, addresses):
                return NotImplemented
            addresses.append(address_of(out))
        frame = self._layout.take()
        try:
            self._run(frame, arrays, addresses, numbers, threads)
        finally:
            self._layout.give_back(frame)
        if out is not None:
            return out
        if len(results) == 1:
            return self._slots[0].finish(results[0], None)
        if not results:
            return None
        return tuple(map(ResultSlot.finish, self._slots, results, [None] * len(results)))


def shares_memory(out: Any, arrays: Sequence[Any], addresses: Sequence[int]) -> bool:
    """Return whether an array shares memory with others that begin at these addresses.

    All are contiguous: each takes one range of addresses, and no other array's may meet it.
    """
    start = address_of(out)
    end = start + out.nbytes
    for array, address in zip(arrays, addresses):  # noqa: B905  # 0.1 us for strict=
        if address < end and start < address + array.nbytes:
            return True
    return False


def direct_call(callee: Callee) -> DirectCall | None:
    """Return the short way into a kernel that returns no memory itself; None if absent."""
    arguments = _direct_arguments(callee, callee.slots, static=True)
    return None if arguments is None else DirectCall(callee, arguments)


def _direct_arguments(
    callee: Callee, slots: Iterable[ResultSlot], *, static: bool
) -> list[ArrayArgument | ScalarArgument] | None:
    """Return the arguments of a kernel, some arrays among them, if all may come the short way."""
    arguments = [argument for argument in callee.arguments if _is_direct(argument, static=static)]
    if len(arguments) < len(callee.arguments) or any(slot.vector for slot in slots):
        return None
    return arguments if any(isinstance(a, ArrayArgument) for a in arguments) else None


def _is_direct(argument: Argument, *, static: bool) -> TypeGuard[ArrayArgument | ScalarArgument]:
    """Return whether an argument may come the short way, with `static` one of known sizes.

    Unused bits are only cleared for arguments of known sizes.
    """
    if isinstance(argument, ScalarArgument):
        return True
    if not isinstance(argument, ArrayArgument) or isinstance(argument, StridedArgument):
        return False
    type_ = argument.type
    # Unused bits of an array that the code writes cannot be cleared in a copy.
    is_clear = not (type_.element.is_sub_byte and (argument.is_written or not static))
    return is_clear and not type_.vector and (type_.is_static or not static)


def may_write(written: Sequence[int], arrays: Sequence[Any], addresses: Sequence[int]) -> bool:
    """Return whether the arrays that the code writes are writable, and meet no other argument.

    All are in row-major order; `written` are the indices of those that it writes.
    """
    ranges = [
        (address, address + array.nbytes) for array, address in zip(arrays, addresses, strict=True)
    ]
    for index in written:
        if not arrays[index].flags.writeable:
            return False
        start, end = ranges[index]
        rest = ranges[:index] + ranges[index + 1 :]
        if any(start < other_end and other_start < end for other_start, other_end in rest):
            return False
    return True


_COPIED = 1 << 14
"""Bytes up to which it is quicker to copy a result than to have an array own its memory."""


_Shapes = list[tuple[int, ...]]


class OpenCall(ShortCall):
    """The short way into a kernel of open sizes."""

    def __init__(
        self,
        callee: Callee,
        arguments: Sequence[ArrayArgument | ScalarArgument],
        returned: Sequence[ResultSlot],
    ) -> None:
        """Made by `open_call`."""
        super().__init__(callee, arguments)
        self._dtypes = tuple(argument.dtypes for argument in self._arrays)
        self._shapes = tuple(argument.shape for argument in self._arrays)
        results = zip(returned, callee.layout.results, strict=True)
        self._returned = tuple(_Returned(slot, word) for slot, word in results)
        self._count = len(callee.slots) + len(returned)
        self._free_frames: list[tuple[Frame, _Shapes]] = []
        """Frames that no call uses, and the shapes that are written in each."""

    def __call__(self, values: tuple[Any, ...], out: Any, threads: int | None = None) -> Any:
        """See `ShortCall.__call__`."""
        if len(values) != self._arity or not (out is None or self._may_take(out)):
            return NotImplemented
        arrays: Sequence[Any] = values
        numbers: Sequence[tuple[ScalarArgument, Any]] = ()
        if self._scalars:
            arrays = [values[index] for index in self._array_indices]
            numbers = [(scalar, scalar.prepare(values[index])) for index, scalar in self._scalars]
        for array, dtypes in zip(arrays, self._dtypes):  # noqa: B905  # 0.1 us for strict=
            if type(array) is not ndarray or array.dtype not in dtypes:
                return NotImplemented
        read = self._readable(arrays, out)
        if read is None:
            return NotImplemented
        arrays = read
        shapes = [array.shape for array in arrays]
        addresses = list(map(address_of, arrays))
        if self._written and not may_write(self._written, arrays, addresses):
            return NotImplemented
        if out is not None and shares_memory(out, arrays, addresses):
            return NotImplemented
        try:
            frame, written = self._free_frames.pop()
        except IndexError:
            frame, written = self._layout.take(), []
        if shapes != written:
            if not all(map(has_shape, shapes, self._shapes)):
                self._free_frames.append((frame, written))
                return NotImplemented
            for argument, shape in zip(self._arrays, shapes, strict=True):
                start = argument.word + 2
                frame[start : start + 1 + 2 * argument.rank] = list(_layout(shape))
        try:
            results: list[Any] = [None] * self._count
            for slot in self._slots:
                results[slot.position] = slot.prepare(None)
                addresses.append(address_of(results[slot.position]))
            self._run(frame, arrays, addresses, numbers, threads)
            self._collect(frame, addresses, results)
        finally:
            self._free_frames.append((frame, shapes))
        if out is not None:
            (returned,) = self._returned
            returned.slot.check_shape(out, results[0].shape)
            return returned.slot.finish(results[0], out)
        if self._count == 1:
            return results[0]
        return tuple(results) if results else None

    def _may_take(self, out: Any) -> bool:
        """Return whether an array fits the only result, apart from its sizes."""
        if type(out) is not ndarray or self._count != 1 or len(self._returned) != 1:
            return False
        slot = self._returned[0].slot
        is_fit = out.dtype in slot.dtypes and out.ndim == slot.rank and not slot.is_scalar
        return is_fit and out.flags.num & WRITABLE == WRITABLE

    def _collect(self, frame: Frame, addresses: list[int], results: list[Any]) -> None:
        for slot in self._slots:
            results[slot.position] = slot.finish(results[slot.position], None)
        copied: list[int] = []
        for returned in self._returned:
            results[returned.position] = returned.array(frame, addresses, copied)
        for address in copied:
            free(address)


class _Returned:
    """A result whose memory native code allocates."""

    def __init__(self, slot: ResultSlot, word: int) -> None:
        self.slot = slot
        self.position = slot.position
        self._dtype = slot.result.dtype
        self._rank = slot.rank
        self._start, self._end = word, word + word_count(slot.rank)
        self._last = _Form([], (), 0)

    def array(self, frame: Frame, borrowed: list[int], copied: list[int]) -> Any:
        """Return the array that a call gave; its memory is added to `borrowed`, which is not freed.

        `copied` gets memory that is freed after all results were read, which may share it.
        """
        words = frame[self._start : self._end]
        allocated, start = words[0], words[1]
        last = self._last
        if words[2:] != last.words:
            last = self._last = self._form(words)
        if not last.nbytes or allocated == NOT_ALLOCATED or allocated in borrowed:
            array = take_over(Descriptor.from_words(words, self._rank), self._dtype, (), borrowed)
        else:
            array = np.empty(last.shape, self._dtype)
            ctypes.memmove(address_of(array), start, last.nbytes)
            copied.append(allocated)
        borrowed.append(allocated)
        return array

    def _form(self, words: list[int]) -> _Form:
        shape = tuple(words[3 : 3 + self._rank])
        nbytes = self._dtype.itemsize * math.prod(shape)
        is_plain = min(shape, default=1) > 0 and tuple(words[2:]) == _layout(shape)
        return _Form(words[2:], shape, nbytes if is_plain and nbytes <= _COPIED else 0)


class _Form(NamedTuple):
    """The words, sizes and bytes of a result in memory; no bytes if not copied in one block."""

    words: list[int]
    shape: tuple[int, ...]
    nbytes: int


def open_call(callee: Callee, returned: Sequence[ResultSlot]) -> OpenCall | None:
    """Return the short way into a kernel with open sizes; None if absent.

    Native code allocates the memory of the `returned` results.
    """
    arguments = _direct_arguments(callee, (*callee.slots, *returned), static=False)
    return None if arguments is None else OpenCall(callee, arguments, returned)


@functools.lru_cache(maxsize=1 << 10)
def _layout(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the offset, sizes and strides in the descriptor of an array in row-major order."""
    return 0, *shape, *contiguous_strides(shape)
