"""Arrays and buffers between pages that kill whoever reads or writes there.

    guarded(array)                            a copy that ends where such a page begins
    with guards.use(Guarded(fill, "start")):  what kernels allocate, and their results, lie so

A block is one of two kinds: it ends at the page behind it, or begins at the page before it. The
rest of its pages is filled with a mark, and a write there is found when the block is given back. A
new block is of a pattern: a result that hangs on it is another one with another pattern.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from unittest import mock

import numpy as np

from linalg_ext.executable import arguments, direct_call
from linalg_ext.runtime import calling_convention, libraries, poison, workspace

Array = np.ndarray[Any, Any]
Side = Literal["end", "start"]

_PAGE = mmap.PAGESIZE
_NOBODY = 0  # PROT_NONE
_MARK = 0xA5
_MOST = 1 << 26
"""Bytes of a block; of more there are none."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.free.argtypes = [ctypes.c_void_p]


@dataclass
class _Block:
    """Pages between two that nobody may touch.

    Attributes:
        base: where the page before them begins.
        pages: how many there are between the two.
        start: where what was asked for begins.
        nbytes: of what was asked for.
    """

    base: int
    pages: int
    start: int
    nbytes: int

    @property
    def length(self) -> int:
        """Bytes of all pages."""
        return (self.pages + 2) * _PAGE

    def is_marked(self) -> bool:
        """Return whether nobody wrote beside what was asked for."""
        first, end = self.base + _PAGE, self.base + _PAGE * (1 + self.pages)
        after = self.start + self.nbytes
        return all(
            ctypes.string_at(at, length) == bytes([_MARK]) * length
            for at, length in ((first, self.start - first), (after, end - after))
        )


def _mapped(nbytes: int, at: Side, alignment: int, fill: int) -> _Block | None:
    """A block of a 16-bit pattern; None where there is no memory."""
    if not 0 <= nbytes <= _MOST:
        return None
    pages = -(-nbytes // _PAGE)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    base = _libc.mmap(None, (pages + 2) * _PAGE, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    if base in (None, ctypes.c_size_t(-1).value):
        return None
    first = base + _PAGE
    start = first
    if at == "end":
        start = (first + pages * _PAGE - nbytes) // alignment * alignment
    if pages:
        ctypes.memset(first, _MARK, pages * _PAGE)
        # In words of two bytes from the start on; of an odd number the last is of the mark.
        pattern = fill.to_bytes(2, "little") * ((nbytes + 1) // 2)
        ctypes.memmove(start, pattern, nbytes)
    _libc.mprotect(base, _PAGE, _NOBODY)
    _libc.mprotect(first + pages * _PAGE, _PAGE, _NOBODY)
    return _Block(base, pages, start, nbytes)


class _Owner:
    """The memory of an array of a block; the block ends with it."""

    def __init__(self, block: _Block) -> None:
        self._block = block
        self.__array_interface__ = {
            "version": 3,
            "shape": (block.nbytes,),
            "typestr": "|u1",
            "data": (block.start, False),
        }

    def __del__(self, munmap: Any = _libc.munmap) -> None:
        munmap(self._block.base, self._block.length)


def guarded(array: Any, at: Side = "end") -> Any:
    """A copy of an array in row-major order that is a block."""
    copy, _ = _array(array.shape, array.dtype, at, 0)
    copy[...] = array
    return copy


def _array(
    shape: tuple[int, ...], dtype: np.dtype[Any], at: Side, fill: int, alignment: int = 1
) -> tuple[Array, _Block]:
    nbytes = int(np.prod(shape, dtype=object)) * dtype.itemsize
    block = _mapped(nbytes, at, max(alignment, dtype.alignment), fill)
    if block is None:
        raise MemoryError(f"no block of {nbytes} bytes")
    owner = _Owner(block)
    if nbytes:
        memory = np.asarray(owner)
    else:
        # NumPy gives arrays without elements memory of its own; these begin at a page that kills.
        memory = np.ndarray((0,), np.uint8, buffer=_nothing(block.start, owner))
    array = np.ndarray(shape, dtype, buffer=memory.data if nbytes else memory)
    return array, block


def _nothing(start: int, owner: _Owner) -> Any:
    nothing = (ctypes.c_uint8 * 0).from_address(start)
    nothing._owner = owner  # type: ignore[attr-defined]
    return nothing


class Guarded:
    """The memory of arguments, results and buffers, for the calls of a `with` block.

    Attributes:
        fill: the pattern of 16 bits that new memory is of.
        wrong: what was found beside or after its block, or freed twice; empty where all is well.
    """

    def __init__(self, fill: int, at: Side) -> None:
        """Choose the pattern of 16 bits that new memory is of, and where in its pages it lies."""
        self.wrong: list[str] = []
        self.fill, self._at = fill, at
        self._lent: dict[int, _Block] = {}
        self._freed: dict[int, _Block] = {}
        self._shown: list[tuple[str, _Block, Array]] = []

    def argument(self, array: Array, name: str) -> Array:
        """A copy of an argument."""
        copy, block = _array(array.shape, array.dtype, self._at, self.fill)
        copy[...] = array
        self._shown.append((name, block, copy))
        return copy

    def result(self, shape: tuple[int, ...], dtype: np.dtype[Any], alignment: int) -> Array:
        """An array for a result that the caller allocates."""
        made, block = _array(shape, dtype, self._at, self.fill, alignment)
        self._shown.append(("a result", block, made))
        return made

    def malloc(self, nbytes: int) -> int:
        """As the C library's."""
        block = _mapped(nbytes, self._at, 16, self.fill)
        if block is None:
            return 0
        self._lent[block.start] = block
        return block.start

    def free(self, address: int | None) -> None:
        """As the C library's; what was freed is not to be touched, until the end of the call."""
        if not address:
            return
        block = self._lent.pop(address, None)
        if block is None:
            if address in self._freed:
                self.wrong.append("a buffer is freed twice")
            else:
                _libc.free(address)
            return
        if not block.is_marked():
            self.wrong.append(f"a write beside a buffer of {block.nbytes} bytes")
        _libc.mprotect(block.base, block.length, _NOBODY)
        self._freed[address] = block

    def after_call(self) -> None:
        """Look at all blocks, and let go of those that were freed."""
        for name, block, _ in self._shown:
            if not block.is_marked():
                self.wrong.append(f"a write beside {name}")
        self._shown.clear()
        for block in self._freed.values():
            _libc.munmap(block.base, block.length)
        self._freed.clear()


class Guards:
    """The memory of kernels that are compiled while this is installed; `use` says which it is."""

    def __init__(self) -> None:
        """Be installed nowhere."""
        self._now = Guarded(0, "end")
        self._patterns: list[ctypes.c_uint64] = []
        self._malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(
            lambda nbytes: self._now.malloc(nbytes)
        )
        self._free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.free)
        self._addresses = {
            name: ctypes.cast(function, ctypes.c_void_p).value
            for name, function in (("malloc", self._malloc), ("free", self._free))
        }

    def _learn(self, code: Any) -> None:
        """Remember where code has the pattern that it fills the stack with."""
        if (address := code.variable(poison.VARIABLE)) is not None:
            self._patterns.append(ctypes.c_uint64.from_address(address))

    def free(self, address: int | None) -> None:
        """Free what kernels allocated, or handed over."""
        self._now.free(address)

    @contextmanager
    def installed(self) -> Iterator[Guards]:
        """Have kernels that are compiled now, and the calls of them, take their memory here."""
        guards = self

        def prepare(slot: arguments.ResultSlot, value: Array | None) -> Array:
            if value is not None and slot.is_row_major(value):
                return value
            return guards._now.result(slot.shape, slot.result.dtype, slot.alignment)

        free: Callable[[int | None], None] = guards.free
        with (
            mock.patch.dict(libraries._published, self._addresses),
            mock.patch.object(workspace.intermediates, "lend_to", self._learn),
            mock.patch.object(poison, "ON", new=True),
            mock.patch.object(arguments.ResultSlot, "prepare", prepare),
            mock.patch.object(calling_convention, "free", free),
            mock.patch.object(direct_call, "free", free),
            mock.patch.object(calling_convention._Allocation.__del__, "__defaults__", (free,)),
        ):
            yield self

    @contextmanager
    def use(self, memory: Guarded) -> Iterator[Guarded]:
        """Have calls take memory from here; what was allocated before is freed as it was."""
        memory._lent.update(self._now._lent)
        self._now._lent.clear()
        self._now = memory
        for pattern in self._patterns:
            pattern.value = memory.fill * 0x0001_0001_0001_0001
        yield memory
        memory.after_call()
