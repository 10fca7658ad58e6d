"""Compiled code, wherever it comes from: how its functions are called, and how it is loaded.

Another process loads an engine's code, without a linker and without MLIR. The sections are copied
to fresh pages, and every address in them is filled in. Then code can no longer be written, nor data
executed.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from linalg_ext.errors import UnresolvedSymbolError
from linalg_ext.runtime.libraries import address_of_symbol, load_compiler_runtime, load_libraries
from linalg_ext.runtime.object_file import (
    GOT,
    GOT_64,
    GOT_ENTRY_64,
    GOT_OFFSET_64,
    RELATIVE_64,
    ObjectFile,
    Relocation,
    Section,
)

PackedFunction = Callable[[int], None]
"""Takes the address of a packed argument table; runs without the GIL."""


PORTABLE = "lx_call_"
"""Before the name of a function: its packed form, for the target that it is compiled for.

The engine's own packed form is for the machine that makes the code. Code for that very machine has
no other.
"""


def packed_names(name: str) -> tuple[str, str]:
    """Return the possible names of a function's packed form in object code, the first counts."""
    # The engine's names: `_mlir_` before the name of a function that takes a table of arguments.
    return f"{PORTABLE}{name}", f"_mlir__mlir_ciface_{name}"


def variable_symbol(name: str) -> str:
    """Return the symbol of a variable in object code: the engine requires its prefix."""
    return f"_mlir_{name}"


class Code(Protocol):
    """Machine code with functions in it. It must outlive every call of one of them."""

    @property
    def opt_level(self) -> int:
        """LLVM's, with which it was made."""
        ...

    @property
    def libraries(self) -> Sequence[str]:
        """The shared libraries that were loaded for it."""
        ...

    def function(self, name: str) -> PackedFunction:
        """The packed form of a function; an UnresolvedSymbolError where its code lacks a symbol."""
        ...

    def variable(self, name: str) -> int | None:
        """The address of a variable, see `variable_symbol`; None where the code has none."""
        ...

    def object_code(self) -> bytes:
        """The object file (ELF or Mach-O)."""
        ...


_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def as_packed(address: int) -> PackedFunction:
    """The packed function at an address."""
    return _PROTOTYPE(address)


def address_of_function(function: PackedFunction) -> int:
    """Return the address of the code of a packed function, or of any other ctypes function."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def keep_for_ever(value: object) -> None:
    """Keep an object alive until the process ends, when native code may still use it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


_CACHE_LINE = 64


class Block:
    """Words of memory, as long as this object lives, that begin at a cache line."""

    def __init__(self, words: int) -> None:
        """Take memory, all zeros."""
        self._memory = ctypes.create_string_buffer(8 * words + _CACHE_LINE)
        start = ctypes.addressof(self._memory)
        self.address = -(-start // _CACHE_LINE) * _CACHE_LINE
        self.words = (ctypes.c_int64 * words).from_buffer(self._memory, self.address - start)


class NativeCall:
    """A call of a native function: its arguments, 64 bits each, to be changed, and its result."""

    def __init__(self, function: PackedFunction, arguments: Sequence[int]) -> None:
        """Prepare a call of a packed function."""
        count = len(arguments)
        self._function = function
        self._block = Block(2 * (count + 1))
        self.arguments = words = self._block.words
        words[:count] = list(arguments)
        for at in range(count + 1):
            words[count + 1 + at] = self._block.address + 8 * at
        self._table = self._block.address + 8 * (count + 1)
        self._count = count

    def __call__(self) -> int:
        """Call; the GIL is free meanwhile."""
        self._function(self._table)
        return self.arguments[self._count]


_WORD = struct.Struct("<Q")
_MASK = (1 << 64) - 1
_TABLE = -1
"""The number of the section that is the table of addresses: no section of an object has it."""


class LoadedCode:
    """An object file in memory. It must live as long as anything that may still call into it.

    Attributes:
        opt_level: LLVM's optimization level that it was made with.
        libraries: the shared libraries that were loaded for it.
    """

    def __init__(
        self, content: bytes, *, opt_level: int, libraries: Sequence[str | Path] = ()
    ) -> None:
        """Load the object.

        Raises:
            LinalgExtError: it is not an object that can be loaded.
            UnresolvedSymbolError: a library is missing, or a function that no library provides.
            OSError: the system gives no executable memory.
        """
        self.opt_level = opt_level
        self.libraries = tuple(str(library) for library in libraries)
        self._content = content
        load_compiler_runtime()
        self._handles = load_libraries(self.libraries)
        read = ObjectFile(content)
        provided = self._provided(read.undefined)
        named = [
            relocation.symbol.name
            for relocation in read.relocations
            if relocation.kind == GOT_ENTRY_64
        ]
        self._entries = {name: 8 * at for at, name in enumerate(dict.fromkeys(named))}
        table = Section(_TABLE, bytes(8 * max(1, len(self._entries))), 8, False, False)
        sections = [*read.sections, table]
        self._memory, places = _mapped(sections)
        for relocation in read.relocations:
            self._fill_in(relocation, places, provided)
        _protect(self._memory, sections, places)
        self._addresses = {
            name: places[symbol.section] + symbol.offset
            for name, symbol in read.defined.items()
            if symbol.section in places
        }

    def function(self, name: str) -> PackedFunction:
        """The packed form of the function `name`, as `Engine.function` gives it."""
        for known in packed_names(name):
            if (address := self._addresses.get(known)) is not None:
                return as_packed(address)
        raise UnresolvedSymbolError(f"the object code has no function `{name}`")

    def variable(self, name: str) -> int | None:
        """The address of a variable, as `Engine.variable` gives it."""
        return self._addresses.get(variable_symbol(name))

    def object_code(self) -> bytes:
        """The object file."""
        return self._content

    def _provided(self, names: Sequence[str]) -> Mapping[str, int]:
        addresses = {name: address_of_symbol(name, self._handles) for name in names}
        missing = [name for name, address in addresses.items() if not address]
        if missing:
            raise UnresolvedSymbolError(
                f"the object code calls {', '.join(missing)}, which nothing provides",
                hint="pass the library that has it as libraries=[...]",
            )
        return {name: address for name, address in addresses.items() if address}

    def _fill_in(
        self, relocation: Relocation, places: Mapping[int, int], provided: Mapping[str, int]
    ) -> None:
        symbol, kind, table = relocation.symbol, relocation.kind, places[_TABLE]
        if symbol.name == GOT:
            value = table
        elif symbol.section is None:
            value = provided[symbol.name]
        else:
            value = places[symbol.section] + symbol.offset
        place = places[relocation.section] + relocation.offset
        base = _address(self._memory)
        if kind == GOT_ENTRY_64:
            entry = self._entries[symbol.name]
            _WORD.pack_into(self._memory, table + entry - base, value & _MASK)
            value = entry
        elif kind == GOT_OFFSET_64:
            value -= table
        elif kind in (RELATIVE_64, GOT_64):
            value -= place
        value += relocation.addend
        _WORD.pack_into(self._memory, place - base, value & _MASK)


def _mapped(sections: Sequence[Section]) -> tuple[mmap.mmap, dict[int, int]]:
    """Fresh pages with the sections in them, and the address of each."""
    offsets: dict[int, int] = {}
    end = 0
    for section in sections:
        # Each on pages of its own: they are protected apart.
        step = max(section.alignment, mmap.PAGESIZE)
        end = -(-end // step) * step
        offsets[section.number] = end
        end += len(section.data)
    memory = mmap.mmap(-1, max(end, 1))
    for section in sections:
        start = offsets[section.number]
        memory[start : start + len(section.data)] = section.data
    base = _address(memory)
    return memory, {number: base + offset for number, offset in offsets.items()}


def _protect(memory: mmap.mmap, sections: Sequence[Section], places: Mapping[int, int]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for section in sections:
        allowed = mmap.PROT_READ
        if section.is_code:
            allowed |= mmap.PROT_EXEC
        if section.is_written:
            allowed |= mmap.PROT_WRITE
        size = ctypes.c_size_t(max(1, len(section.data)))
        if libc.mprotect(ctypes.c_void_p(places[section.number]), size, allowed):
            code = ctypes.get_errno()
            raise OSError(code, "the system gives no executable memory")


def _address(memory: mmap.mmap) -> int:
    # The object of ctypes is dropped at once: it would keep the pages from being freed.
    cell = ctypes.c_char.from_buffer(memory)
    address = ctypes.addressof(cell)
    del cell
    return address
