"""Relocatable objects (ELF, x86-64): what is in them, and where a loader has to patch them.

The format is that of the System V ABI, "Object Files", and of its AMD64 supplement; only what
LLVM's large code model makes of a kernel is read: every address outside a section is an absolute
one of 64 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from linalg_ext.errors import LinalgExtError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_CLASS_64_LITTLE_ENDIAN = b"\x7fELF\x02\x01\x01"
_RELOCATABLE, _X86_64 = 1, 62
_SYMBOLS, _RELOCATIONS, _NOTHING = 2, 4, 8
_INITIALIZERS = (14, 15, 16)
_INITIALIZERS_NAMES = (".init", ".fini", ".preinit_array", ".ctors", ".dtors")
"""Of sections that the system's linker and loader take for such, whatever their kind."""
_WRITTEN, _LOADED, _EXECUTED = 1, 2, 4
_UNDEFINED, _ABSOLUTE, _RESERVED = 0, 0xFFF1, 0xFF00

_MOST = 1 << 32
_MOST_ALIGNED = 1 << 16

ABSOLUTE_64 = 1
"""R_X86_64_64: the symbol's address plus the addend, in 8 bytes."""

RELATIVE_64 = 24
"""R_X86_64_PC64: the same less the address of the place."""


class Section(NamedTuple):
    """A part of an object that is in memory when its code runs.

    Attributes:
        number: in the object.
        data: its bytes; zeros where the file holds none.
        alignment: of its address, in bytes.
        is_code: whether it is executed.
        is_written: whether the code writes to it.
    """

    number: int
    data: bytes
    alignment: int
    is_code: bool
    is_written: bool


class Symbol(NamedTuple):
    """A name in an object.

    Attributes:
        section: the number of the section that has it; None for what another object provides.
        offset: in the section.
    """

    name: str
    section: int | None
    offset: int


class Relocation(NamedTuple):
    """A place that depends on where something is put.

    Attributes:
        section: the number of the section with the place.
        offset: of the place in the section.
        kind: ABSOLUTE_64 or RELATIVE_64.
        symbol: whose address is meant.
        addend: added to it.
    """

    section: int
    offset: int
    kind: int
    symbol: Symbol
    addend: int


class ObjectFile:
    """An object file, read.

    Raises:
        LinalgExtError: not a relocatable ELF object for x86-64, or damaged, or with what only a
            linker can do. The bytes are not trusted to be what they say.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        try:
            self._read_header()
            if runs_at_loading(content):
                raise _refusal("has code that runs when it is loaded")
            self.sections = tuple(self._loaded_sections())
            self.relocations = tuple(self._read_relocations())
        except (struct.error, IndexError, ValueError) as error:
            raise _refusal(f"is damaged: {error}") from error

    @cached_property
    def defined(self) -> dict[str, Symbol]:
        """The symbols that the object has, by name."""
        return {s.name: s for s in self._symbols if s.section is not None and s.name}

    @cached_property
    def undefined(self) -> tuple[str, ...]:
        """The names that another has to provide."""
        names = (r.symbol.name for r in self.relocations if r.symbol.section is None)
        return tuple(dict.fromkeys(names))

    def _read_header(self) -> None:
        header = _HEADER.unpack_from(self._content)
        ident, kind, machine = header[:3]
        if not ident.startswith(_CLASS_64_LITTLE_ENDIAN):
            raise _refusal("is not ELF of 64 bits")
        if (kind, machine) != (_RELOCATABLE, _X86_64):
            raise _refusal("is not relocatable code for x86-64")
        self._headers = _section_headers(self._content)
        tables = [number for number, header in enumerate(self._headers) if header[1] == _SYMBOLS]
        self._symbols = self._read_symbols(tables[0]) if tables else []

    def _loaded_sections(self) -> Iterator[Section]:
        for number, header in enumerate(self._headers):
            _, kind, flags, _, _, size, _, _, alignment, _ = header
            if not flags & _LOADED:
                continue
            if (kind == _NOTHING and size > _MOST) or alignment > _MOST_ALIGNED:
                raise _refusal("wants more memory than a kernel has")
            data = bytes(size) if kind == _NOTHING else self._bytes_of(header)
            yield Section(
                number, data, max(1, alignment), bool(flags & _EXECUTED), bool(flags & _WRITTEN)
            )

    def _bytes_of(self, header: tuple[int, ...]) -> bytes:
        start, size = header[4], header[5]
        data = self._content[start : start + size]
        if len(data) != size:
            raise _refusal("is cut off")
        return data

    def _read_symbols(self, table: int) -> list[Symbol]:
        header = self._headers[table]
        names = self._bytes_of(self._headers[header[6]])
        symbols = []
        for name, _, _, section, value, _ in _SYMBOL.iter_unpack(self._bytes_of(header)):
            text = names[name : names.index(b"\0", name)].decode() if name else ""
            if section >= _RESERVED and section != _ABSOLUTE:
                raise _refusal(f"leaves the place of `{text}` to a linker")
            is_here = section not in (_UNDEFINED, _ABSOLUTE)
            symbols.append(Symbol(text, section if is_here else None, value))
        return symbols

    def _read_relocations(self) -> Iterator[Relocation]:
        loaded = {section.number: section for section in self.sections}
        for header in self._headers:
            if header[1] != _RELOCATIONS or header[7] not in loaded:
                continue
            section = loaded[header[7]]
            for offset, info, addend in _RELOCATION.iter_unpack(self._bytes_of(header)):
                kind, symbol = info & 0xFFFFFFFF, self._symbols[info >> 32]
                if kind not in (ABSOLUTE_64, RELATIVE_64):
                    raise _refusal(f"has a relocation of type {kind}, which is not absolute")
                if offset + 8 > len(section.data):
                    raise _refusal("has a relocation outside its section")
                if symbol.section is not None and symbol.section not in loaded:
                    raise _refusal(f"refers to `{symbol.name}`, which is not loaded")
                yield Relocation(section.number, offset, kind, symbol, addend)


def runs_at_loading(content: bytes) -> bool:
    """Return whether an object, for any processor, has code that runs when it is loaded.

    Raises:
        struct.error, IndexError, ValueError: it is damaged.
    """
    if not content.startswith(_CLASS_64_LITTLE_ENDIAN):
        return False
    headers = _section_headers(content)
    names = headers[_HEADER.unpack_from(content)[13]][4] if headers else 0
    for header in headers:
        start = names + header[0]
        name = content[start : content.index(b"\0", start)].decode(errors="replace")
        if header[1] in _INITIALIZERS or name.startswith(_INITIALIZERS_NAMES):
            return True
    return False


def _section_headers(content: bytes) -> list[tuple[int, ...]]:
    header = _HEADER.unpack_from(content)
    at, size, count = header[6], header[11], header[12]
    if size != _SECTION.size:
        raise _refusal("has section headers of an unknown size")
    return [_SECTION.unpack_from(content, at + number * size) for number in range(count)]


def _refusal(what: str) -> LinalgExtError:
    return LinalgExtError(
        f"the object code {what}", expected="a relocatable ELF object for x86-64, as a kernel has"
    )
