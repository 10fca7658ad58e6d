"""The record of a call for native code: the accepted arguments, their places and the function.

A record is data for `vectorcall.mlir`, where its words are listed. It lives as long as a list holds
it or a call is under way. It keeps alive all that it points to.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from linalg_ext.runtime.calling_convention import FrameTemplate
from linalg_ext.runtime.dtypes import DType

CONTIGUOUS, ALIGNED, WRITABLE = 0x1, 0x100, 0x400
"""NumPy's flags, as in `array.flags.num`."""

MOST_ENTRIES = 128
"""Arguments and results of a call, out of their containers."""

MOST_SLOTS = 256
"""Values of a call: those that are given, and those in containers among them."""

MOST_WORDS = 2048
"""The most words of a frame, which native code puts on the stack."""

_ENTRY_WORDS = 13
_ARRAY, _NUMBER, _CONSTANT = range(3)
_TUPLE, _LIST, _DICT, _ATTRIBUTES = range(4)
_CALL, _OBJECT = 3, 4
_UNKNOWN = (1 << 63) - 1


Setting = tuple[ContextVar[Any], object]
"""A variable, and its required value in the caller's context."""


@dataclass(frozen=True)
class ArrayEntry:
    """An array that is taken, or made.

    Attributes:
        word: of its descriptor in the frame.
        dtypes: those it may have, one or two; one that is made has the first.
        shape: its sizes.
        strides: in bytes; None for the row-major order without gaps.
        is_written: True where native code writes it. It must not alias any other argument then.
        unused_bits: the mask of the bits of each byte that must be clear. 0 requires nothing.
        make: makes the array, if NumPy does not.
    """

    word: int
    dtypes: tuple[DType, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    is_written: bool = False
    unused_bits: int = 0
    make: Callable[[], object] | None = None

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
        word: the position of its bits in the frame, or of its descriptor where it is in memory.
        dtype: the dtype that it is converted to.
        types: of NumPy's numbers that are taken, two at most; their bits are those of `dtype`.
        takes_float: True where Python's floats are taken.
        integers: the class of Python's integers that are taken, `int` or `bool`, if any.
        least, most: of the integers that are taken.
        room: the word for its bits where it is passed in memory, else 0.
    """

    word: int
    dtype: DType
    types: tuple[type, ...] = ()
    takes_float: bool = False
    integers: type[int] | None = None
    least: int = -(1 << 63)
    most: int = (1 << 63) - 1
    room: int = 0


@dataclass(frozen=True)
class ConstantEntry:
    """An object that an argument must be; the kernel is not told of it.

    The same object, or a text, an integer or a float of the same class and the same value.
    """

    value: object


Entry = ArrayEntry | NumberEntry | ConstantEntry


@dataclass(frozen=True)
class Container:
    """A container of arguments, or of results.

    Attributes:
        kind: its class: a dict, a list, a tuple or a class of tuples, or a class whose instances
            are read by their attributes and made by a call with keywords.
        keys: of a dict, in order; the names of attributes; of no meaning in lists and tuples.
        children: its contents, in order. Of results the leaves are their numbers.
    """

    kind: type
    keys: tuple[Any, ...]
    children: tuple[Expected, ...]


Expected = Entry | Container | int
"""The expectation of an argument. A number stands for a result."""


class Record(ctypes.Structure):
    """One record. Native code finds its words by the layout that ctypes keeps of every structure.

    Attributes:
        is_too_large: True where native code has no room for such a call.
    """

    _fields_ = (("words", ctypes.c_int64 * 27),)

    def __init__(
        self,
        world: int,
        code: int,
        frame: FrameTemplate,
        arguments: Sequence[Expected],
        results: Sequence[ArrayEntry],
        *,
        makes: bool,
        takes: bool,
        report: Callable[[int], object],
        begin: Callable[[], object] | None = None,
        built: Expected | None = None,
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
            arguments: the arguments that are expected, in order.
            results: the arrays that are written.
            makes, takes: True where a call without `out=`, and one with it, fits.
            report: called with a status that is not 0; raises.
            begin: called before the code is run, unless it was a moment ago, if anything is.
            built: the container of the results, in `out=` too; by default a tuple of several.
            settings: variables, and their required values in the caller's context.
            always_free: True where the GIL is never held while the code runs.
            as_number: True where the result, one without axes, is given as NumPy's number.
            names: of the last arguments, which come as keywords.
            keep: objects that must live as long as the code may run.
        """
        super().__init__()
        self._kept: list[object] = [report, begin, *keep]
        read = _Reading(len(arguments))
        for slot, argument in enumerate(arguments):
            read.add(slot, argument)
        count, nodes = len(read.leaves), len(read.nodes)
        if built is None:
            built = 0 if len(results) == 1 else _tuple_of(len(results))
        if takes:
            read.add(len(arguments), _with_leaves(built, results))
        entries = [entry for _, entry in read.leaves]
        if not takes:
            entries += results
        self._entries = (ctypes.c_int64 * (_ENTRY_WORDS * max(1, len(entries))))()
        for number, entry in enumerate(entries):
            for at, word in enumerate(self._entry(entry), number * _ENTRY_WORDS):
                self._entries[at] = word
        interned = [sys.intern(name) for name in names]
        self._kept += interned
        pairs = [id(item) for pair in settings for item in pair]
        self._kept += [item for pair in settings for item in pair]
        making = self._making(built, len(results))
        values = max(read.slots, len(results) + len(making))
        self.is_too_large = (
            len(entries) > MOST_ENTRIES or values > MOST_SLOTS or len(frame.words) > MOST_WORDS
        )
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
            count,
            self._table([slot for slot, _ in read.leaves]),
            self._table([word for node in read.nodes for word in self._node(*node)]),
            nodes,
            len(read.nodes) - nodes,
            self._table([word for node in making for word in node]),
            len(making),
            0 if begin is None else id(begin),
        ]

    def _node(self, slot: int, container: Container) -> list[int]:
        """Return the words by which native code reads a container."""
        kind, keys = container.kind, container.keys
        if issubclass(kind, tuple):
            code = _TUPLE
        else:
            code = _LIST if kind is list else _DICT if kind is dict else _ATTRIBUTES
        if code == _ATTRIBUTES:
            keys = tuple(map(sys.intern, keys))
        self._kept += [kind, keys]
        return [code, slot, id(kind), len(container.children), self._table(list(map(id, keys)))]

    def _making(self, built: Expected, results: int) -> list[list[int]]:
        """Return the words by which native code makes containers of results, inner ones first."""
        nodes: list[list[int]] = []

        def add(part: Expected) -> int:
            if isinstance(part, int):
                return part
            container = cast(Container, part)
            children = self._table([add(child) for child in container.children])
            kind, count, keys = container.kind, len(container.children), container.keys
            self._kept += [kind, keys]
            called, names, positional = id(kind), 0, count
            if kind is type(None):
                code, called = _OBJECT, id(None)
            elif kind in (tuple, list):
                code = _TUPLE if kind is tuple else _LIST
            elif kind is dict:
                code, names = _DICT, self._table(list(map(id, keys)))
            else:
                code = _CALL
                if not issubclass(kind, tuple):
                    interned = tuple(map(sys.intern, keys))
                    self._kept.append(interned)
                    names, positional = id(interned), 0
            nodes.append([code, count, called, names, children, positional])
            return results + len(nodes) - 1

        add(built)
        return nodes

    def _entry(self, entry: Entry) -> list[int]:
        if isinstance(entry, ConstantEntry):
            self._kept.append(entry.value)
            return [_CONSTANT, 0, id(entry.value)]
        if isinstance(entry, NumberEntry):
            return self._number(entry)
        return self._array(entry)

    def _array(self, entry: ArrayEntry) -> list[int]:
        self._kept += [entry.dtypes, entry.make]
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
            0 if entry.make is None else id(entry.make),
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
            0 if entry.integers is None else id(entry.integers),
        ]

    def _table(self, values: Sequence[int]) -> int:
        table = (ctypes.c_int64 * max(1, len(values)))(*values)
        self._kept.append(table)
        return ctypes.addressof(table)


class _Reading:
    """The slots that hold the values of a call; each container fills some more.

    Attributes:
        nodes: the containers, each behind the one that it is in, with the slots that they are in.
        leaves: all else, with its slots.
        slots: how many there are. Behind the arguments comes `out=`.
    """

    def __init__(self, arguments: int) -> None:
        self.nodes: list[tuple[int, Container]] = []
        self.leaves: list[tuple[int, Any]] = []
        self.slots = arguments + 1

    def add(self, slot: int, argument: Expected) -> None:
        if not isinstance(argument, Container):
            self.leaves.append((slot, argument))
            return
        self.nodes.append((slot, argument))
        first = self.slots
        self.slots += len(argument.children)
        for at, child in enumerate(argument.children, first):
            self.add(at, child)


def _tuple_of(count: int) -> Container:
    return Container(tuple, (), tuple(range(count)))


def _with_leaves(part: Expected, leaves: Sequence[Entry]) -> Expected:
    """A container with leaves in the place of their numbers."""
    if isinstance(part, int):
        return leaves[part]
    if isinstance(part, Container):
        children = tuple(_with_leaves(child, leaves) for child in part.children)
        return Container(part.kind, part.keys, children)
    return part
