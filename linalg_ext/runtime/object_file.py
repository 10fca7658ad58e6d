"""Object files (ELF of 64 bits): symbols, places that a loader patches, and instructions as text.

The format is that of the System V ABI, "Object Files". `ElfFile` reads its contents, for any
processor. `ObjectFile` is an object that can be loaded. Of the AMD64 supplement it has only the
relocations that LLVM's large code model makes for a kernel, in which every address outside a
section is an absolute one of 64 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

from linalg_ext.errors import LinalgExtError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_CLASS_64_LITTLE_ENDIAN = b"\x7fELF\x02\x01\x01"
_RELOCATABLE = 1
X86_64, AARCH64 = 62, 183
"""Processors, as `ElfFile.machine` gives them."""

_SYMBOLS, _RELOCATIONS, _NOTHING = 2, 4, 8
_FUNCTION = 2
_INITIALIZERS = (14, 15, 16)
_INITIALIZERS_NAMES = (".init", ".fini", ".preinit_array", ".ctors", ".dtors")
"""Prefixes of the names of sections that linker and loader run as initializers, of any kind."""
_WRITTEN, _LOADED, _EXECUTED = 1, 2, 4
_UNDEFINED, _ABSOLUTE, _RESERVED = 0, 0xFFF1, 0xFF00

_MOST = 1 << 32
_MOST_ALIGNED = 1 << 16

ABSOLUTE_64 = 1
"""R_X86_64_64: the symbol's address plus the addend, in 8 bytes."""

RELATIVE_64 = 24
"""R_X86_64_PC64: the same less the address of the place."""


GOT_OFFSET_64 = 25
"""R_X86_64_GOTOFF64: the symbol's address plus the addend, less that of the table of addresses."""

GOT_ENTRY_64 = 27
"""R_X86_64_GOT64: the place of the symbol's address in that table, plus the addend."""

GOT_64 = 29
"""R_X86_64_GOTPC64: the address of that table plus the addend, less the address of the place."""

GOT = "_GLOBAL_OFFSET_TABLE_"
"""The symbol of the table of addresses, which the loader of the code makes."""

_KINDS = (ABSOLUTE_64, RELATIVE_64, GOT_OFFSET_64, GOT_ENTRY_64, GOT_64)


class Section(NamedTuple):
    """A part of an object that is in memory when its code runs.

    Attributes:
        data: its bytes; zeros where the file holds none.
        alignment: of its address, in bytes.
    """

    number: int
    data: bytes
    alignment: int
    is_code: bool
    is_written: bool


class Symbol(NamedTuple):
    """A name in an object; its offset is in its section, its size in bytes.

    `place` is the number of the section that has it, or one of the numbers that stand for no
    section.
    """

    name: str
    place: int
    offset: int
    size: int
    is_function: bool

    @property
    def is_defined(self) -> bool:
        """Return whether no other object has to provide it."""
        return self.place != _UNDEFINED

    @property
    def section(self) -> int | None:
        """The number of the section that has it; None where none of this object has."""
        return self.place if 0 < self.place < _RESERVED else None


class Relocation(NamedTuple):
    """A place, in a section, that depends on where a symbol is put.

    `kind` is one of the numbers above; `addend` is added to the address of the symbol.
    """

    section: int
    offset: int
    kind: int
    symbol: Symbol
    addend: int


class Header(NamedTuple):
    """The header of a section, as the file has it."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class ElfFile:
    """An ELF file of 64 bits, for any processor. The bytes are not trusted to be well-formed.

    Attributes:
        kind: of the file: relocatable, for example.
        machine: the number of the processor.
        headers: of its sections.

    Raises:
        LinalgExtError: no such file.
        struct.error, IndexError, ValueError: it is damaged.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        if not content.startswith(_CLASS_64_LITTLE_ENDIAN):
            raise _refusal("is not ELF of 64 bits")
        header = _HEADER.unpack_from(content)
        self.kind, self.machine = header[1:3]
        start, size, count, self._names = header[6], header[11], header[12], header[13]
        if size != _SECTION.size:
            raise _refusal("has section headers of an unknown size")
        self.headers = [
            Header._make(_SECTION.unpack_from(content, start + number * size))
            for number in range(count)
        ]

    def data(self, header: Header) -> bytes:
        """The bytes of a section."""
        data = self._content[header.offset : header.offset + header.size]
        if len(data) != header.size:
            raise _refusal("is cut off")
        return data

    def name(self, header: Header) -> str:
        """The name of a section."""
        start = self.headers[self._names].offset + header.name
        return self._content[start : self._content.index(b"\0", start)].decode(errors="replace")

    @cached_property
    def symbols(self) -> list[Symbol]:
        """The symbols, by their numbers."""
        table = next((header for header in self.headers if header.kind == _SYMBOLS), None)
        if table is None:
            return []
        names = self.data(self.headers[table.link])
        return [
            Symbol(
                names[name : names.index(b"\0", name)].decode() if name else "",
                place,
                value,
                size,
                info & 0xF == _FUNCTION,
            )
            for name, info, _, place, value, size in _SYMBOL.iter_unpack(self.data(table))
        ]

    def relocations(self, section: int) -> Iterator[Relocation]:
        """Yield the relocations of a section."""
        for header in self.headers:
            if header.kind == _RELOCATIONS and header.info == section:
                for offset, info, addend in _RELOCATION.iter_unpack(self.data(header)):
                    symbol = self.symbols[info >> 32]
                    yield Relocation(section, offset, info & 0xFFFFFFFF, symbol, addend)


class ObjectFile:
    """An object file that can be loaded.

    Raises:
        LinalgExtError: not a relocatable ELF object for x86-64, or damaged, or with relocations
            that need a linker. The bytes are not trusted to be well-formed.
    """

    def __init__(self, content: bytes) -> None:
        try:
            self._elf = ElfFile(content)
            if (self._elf.kind, self._elf.machine) != (_RELOCATABLE, X86_64):
                raise _refusal("is not relocatable code for x86-64")
            if _runs_at_loading(self._elf):
                raise _refusal("has code that runs when it is loaded")
            for symbol in self._elf.symbols:
                if symbol.place >= _RESERVED and symbol.place != _ABSOLUTE:
                    raise _refusal(f"leaves the place of `{symbol.name}` to a linker")
            self.sections = tuple(self._loaded_sections())
            self.relocations = tuple(self._read_relocations())
        except (struct.error, IndexError, ValueError) as error:
            raise _refusal(f"is damaged: {error}") from error

    @cached_property
    def defined(self) -> dict[str, Symbol]:
        """The symbols that the object has, by name."""
        return {s.name: s for s in self._elf.symbols if s.section is not None and s.name}

    @cached_property
    def undefined(self) -> tuple[str, ...]:
        """The names that another has to provide."""
        names = (r.symbol.name for r in self.relocations if r.symbol.section is None)
        return tuple(name for name in dict.fromkeys(names) if name != GOT)

    def _loaded_sections(self) -> Iterator[Section]:
        for number, header in enumerate(self._elf.headers):
            if not header.flags & _LOADED:
                continue
            is_empty = header.kind == _NOTHING
            if (is_empty and header.size > _MOST) or header.alignment > _MOST_ALIGNED:
                raise _refusal("wants more memory than a kernel has")
            yield Section(
                number,
                bytes(header.size) if is_empty else self._elf.data(header),
                max(1, header.alignment),
                bool(header.flags & _EXECUTED),
                bool(header.flags & _WRITTEN),
            )

    def _read_relocations(self) -> Iterator[Relocation]:
        loaded = {section.number for section in self.sections}
        for section in self.sections:
            for relocation in self._elf.relocations(section.number):
                symbol = relocation.symbol
                if relocation.kind not in _KINDS:
                    raise _refusal(
                        f"has a relocation of type {relocation.kind}, which a kernel has not"
                    )
                if relocation.offset + 8 > len(section.data):
                    raise _refusal("has a relocation outside its section")
                if symbol.section is not None and symbol.section not in loaded:
                    raise _refusal(f"refers to `{symbol.name}`, which is not loaded")
                yield relocation


def runs_at_loading(content: bytes) -> bool:
    """Return whether an object, for any processor, has code that runs when it is loaded."""
    if not content.startswith(_CLASS_64_LITTLE_ENDIAN):
        return False
    return _runs_at_loading(ElfFile(content))


def _runs_at_loading(elf: ElfFile) -> bool:
    return any(
        header.kind in _INITIALIZERS or elf.name(header).startswith(_INITIALIZERS_NAMES)
        for header in elf.headers
    )


def _refusal(reason: str) -> LinalgExtError:
    return LinalgExtError(
        f"the object code {reason}", expected="a relocatable ELF object for x86-64, as a kernel has"
    )


def disassemble(code: bytes, symbol: str | None = None) -> str:
    """The instructions of an ELF object for x86-64 or AArch64, function by function.

    Instructions that the disassembler does not know are shown as their bytes. A `symbol` shows that
    function alone.

    Raises:
        LinalgExtError: not an ELF object of one of these machines, or no such function in it.
    """
    # Not needed to compile or to run.
    import capstone  # type: ignore[import-untyped]

    machines = {
        X86_64: (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
        AARCH64: (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
    }
    with _read():
        elf = ElfFile(code)
        functions = list(_functions(elf))
    if elf.machine not in machines:
        raise LinalgExtError(
            f"code for processor {elf.machine} of ELF cannot be disassembled",
            expected="x86-64 or AArch64",
        )
    decoder = capstone.Cs(*machines[elf.machine])
    # It does not know every extension, and would end a function at the first such instruction.
    decoder.skipdata = True
    chosen = [function for function in functions if symbol is None or function[0] == symbol]
    if not chosen:
        raise LinalgExtError(
            f"the object code has no function `{symbol}`",
            expected="one of " + ", ".join(name for name, *_ in functions),
        )
    return "\n\n".join(
        "\n".join([f"{name}:", *_instructions(decoder, body, start, relocations)])
        for name, body, start, relocations in chosen
    )


def undefined_symbols(code: bytes) -> list[str]:
    """Return the functions that an ELF object calls and does not define."""
    names = (symbol.name for symbol in _symbols(code) if not symbol.is_defined)
    return [name for name in names if name != GOT]


def defined_symbols(code: bytes) -> list[str]:
    """Return the functions and variables that an ELF object defines."""
    return [symbol.name for symbol in _symbols(code) if symbol.is_defined]


def _symbols(code: bytes) -> list[Symbol]:
    with _read():
        return [symbol for symbol in ElfFile(code).symbols if symbol.name]


@contextmanager
def _read() -> Iterator[None]:
    """Raise one error for all faults of an object that is read inside the `with` block."""
    try:
        yield
    except (LinalgExtError, struct.error, IndexError, ValueError) as error:
        reason = error.what if isinstance(error, LinalgExtError) else str(error)
        raise LinalgExtError(
            f"the object code cannot be read: {reason}", expected="an ELF object"
        ) from error


def _functions(elf: ElfFile) -> Iterator[tuple[str, bytes, int, dict[int, str]]]:
    """Each function: its name, bytes, address in its section, and that section's relocations."""
    for symbol in elf.symbols:
        if symbol.is_function and symbol.section is not None:
            end = symbol.offset + symbol.size
            body = elf.data(elf.headers[symbol.section])[symbol.offset : end]
            yield symbol.name, body, symbol.offset, _relocations(elf, symbol.section)


def _relocations(elf: ElfFile, section: int) -> dict[int, str]:
    """Return the symbol that the linker puts at each offset in a section."""
    names = {}
    for relocation in elf.relocations(section):
        target = relocation.symbol
        name = target.name
        if not name and target.section is not None:
            name = elf.name(elf.headers[target.section])
        names[relocation.offset] = name
    return names


def _instructions(
    decoder: Any, body: bytes, start: int, relocations: dict[int, str]
) -> Iterator[str]:
    for instruction in decoder.disasm(body, start):
        end = instruction.address + instruction.size
        names = [relocations[at] for at in range(instruction.address, end) if at in relocations]
        text = f"  {instruction.address:6x}  {instruction.mnemonic:<12} {instruction.op_str}"
        yield f"{text}   ; {', '.join(names)}" if names else text.rstrip()
