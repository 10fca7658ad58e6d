"""What native code must know of a call: which arguments fit, where they go, and what is run.

A record is data for `caller.mlir`, where its words are listed. It lives as long as a list holds it
or a call is under way, and keeps alive all that it points to.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.runtime.call_frame import FrameTemplate
from linalg_ext.runtime.dtypes import DType

CONTIGUOUS, ALIGNED, WRITABLE = 0x1, 0x100, 0x400
"""NumPy's flags, as in `array.flags.num`."""

MOST_ARGUMENTS = 31
MOST_WORDS = 512
"""Of a frame, which native code puts on the stack."""

_ENTRY_WORDS = 12
_ARRAY, _NUMBER, _TEXT, _OBJECT, _INTEGERS = range(5)
_UNKNOWN = (1 << 63) - 1


Setting = tuple[ContextVar[Any], object]
"""A variable, and what it must be in the caller's context."""


@dataclass(frozen=True)
class ArrayEntry:
    """An array that is taken, or made.

    Attributes:
        word: of its descriptor in the frame.
        dtypes: those it may have, one or two; one that is made has the first.
        shape: its sizes.
        strides: in bytes; None for the row-major order without gaps.
        is_written: whether native code writes it. It must not meet any other argument then.
        unused_bits: of each byte, as a mask: they must be clear. 0 asks nothing.
    """

    word: int
    dtypes: tuple[DType, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    is_written: bool = False
    unused_bits: int = 0

    @property
    def nbytes(self) -> int:
        """From its first byte to its last."""
        itemsize = self.dtypes[0].itemsize
        if 0 in self.shape:
            return 0
        if self.strides is None:
            return itemsize * int(np.prod(self.shape, dtype=np.int64))
        reach = [(n - 1) * step for n, step in zip(self.shape, self.strides, strict=True)]
        return itemsize + sum(reach)


@dataclass(frozen=True)
class NumberEntry:
    """A number.

    Attributes:
        word: where its bits go in the frame, or its descriptor where it is passed in memory.
        dtype: what it is converted to.
        types: of NumPy's numbers that are taken, two at most; their bits are those of `dtype`.
        takes_float, takes_int: whether such a number of Python's is taken.
        least, most: of the integers that are taken.
        room: the word for its bits where it is passed in memory, else 0.
    """

    word: int
    dtype: DType
    types: tuple[type, ...]
    takes_float: bool
    takes_int: bool
    least: int = -(1 << 63)
    most: int = (1 << 63) - 1
    room: int = 0


@dataclass(frozen=True)
class TextEntry:
    """A text that an argument must be; native code is not told of it."""

    text: str


@dataclass(frozen=True)
class ObjectEntry:
    """An object that an argument must be, the same one; native code is not told of it."""

    value: object


@dataclass(frozen=True)
class IntegersEntry:
    """Integers that an argument must list, in a list or a tuple; native code is not told of them.

    Each of them fits into 64 bits.
    """

    values: tuple[int, ...]


Entry = ArrayEntry | NumberEntry | TextEntry | ObjectEntry | IntegersEntry


class Record(ctypes.Structure):
    """One record. Native code finds its words by what ctypes keeps of every structure."""

    _fields_ = (("words", ctypes.c_int64 * 19),)

    def __init__(
        self,
        world: int,
        code: int,
        frame: FrameTemplate,
        arguments: Sequence[Entry],
        results: Sequence[ArrayEntry],
        *,
        makes: bool,
        takes: bool,
        report: Callable[[int], object],
        settings: Sequence[Setting] = (),
        always_free: bool = False,
        as_number: bool = False,
        names: Sequence[str] = (),
        keep: Sequence[object] = (),
    ) -> None:
        """Lay it out.

        Args:
            world: the address of the caller's world.
            code: of the packed function.
            frame: of a call.
            arguments: what is expected, in order.
            results: what is written; one that is taken as `out=` is an entry as of an argument.
            makes, takes: whether a call without `out=`, and one with it, fits.
            report: called with a status that is not 0; raises.
            settings: variables, and what they must be in the caller's context.
            always_free: whether the GIL is never held while the code runs.
            as_number: whether the result, one without axes, is given as NumPy's number.
            names: of the last arguments, which come as keywords.
            keep: what must live as long as the code may run.
        """
        super().__init__()
        entries = [*arguments, *results]
        self._entries = (ctypes.c_int64 * (_ENTRY_WORDS * max(1, len(entries))))()
        self._kept: list[object] = [report, *keep]
        for number, entry in enumerate(entries):
            for at, word in enumerate(self._entry(entry), number * _ENTRY_WORDS):
                self._entries[at] = word
        interned = [sys.intern(name) for name in names]
        self._kept += interned
        pairs = [id(each) for pair in settings for each in pair]
        self._kept += [each for pair in settings for each in pair]
        self.words[:] = [
            world,
            code,
            len(arguments),
            len(results),
            self._table(frame.words),
            len(frame.words),
            self._table(frame.places),
            len(frame.places),
            self._table(pairs),
            len(settings),
            ctypes.addressof(self._entries),
            id(report),
            makes,
            takes,
            _UNKNOWN,
            always_free,
            self._table([id(name) for name in interned]),
            len(interned),
            as_number,
        ]

    def _entry(self, entry: Entry) -> list[int]:
        if isinstance(entry, TextEntry):
            self._kept.append(entry.text)
            return [_TEXT, 0, id(entry.text), id(str)]
        if isinstance(entry, ObjectEntry):
            self._kept.append(entry.value)
            return [_OBJECT, 0, id(entry.value)]
        if isinstance(entry, IntegersEntry):
            numbers = self._table(entry.values)
            of = [id(list), id(tuple), 0, len(entry.values), numbers]
            return [_INTEGERS, 0, *of, 0, 0, 0, 0, id(int)]
        if isinstance(entry, NumberEntry):
            return self._number(entry)
        return self._array(entry)

    def _array(self, entry: ArrayEntry) -> list[int]:
        self._kept.append(entry.dtypes)
        types = [id(type(dtype)) for dtype in entry.dtypes]
        flags = ALIGNED | (CONTIGUOUS if entry.strides is None else 0)
        return [
            _ARRAY,
            entry.word,
            types[0],
            types[-1],
            flags | (WRITABLE if entry.is_written else 0),
            len(entry.shape),
            self._table(entry.shape),
            0 if entry.strides is None else self._table(entry.strides),
            entry.nbytes,
            entry.is_written,
            int.from_bytes(bytes([entry.unused_bits] * 8), "little", signed=True),
            id(entry.dtypes[0]),
        ]

    def _number(self, entry: NumberEntry) -> list[int]:
        self._kept.append(entry.types)
        types = [id(kind) for kind in entry.types] or [0]
        form = {"f4": 1, "f8": 2}.get(entry.dtype.str[1:], 0)
        return [
            _NUMBER,
            entry.word,
            types[0],
            types[-1],
            form,
            entry.least,
            entry.most,
            id(float) if entry.takes_float else 0,
            0,
            0,
            entry.room,
            id(int) if entry.takes_int else 0,
        ]

    def _table(self, values: Sequence[int]) -> int:
        table = (ctypes.c_int64 * max(1, len(values)))(*values)
        self._kept.append(table)
        return ctypes.addressof(table)
