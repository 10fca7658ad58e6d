"""Object code as text."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from linalg_ext.errors import LinalgExtError
from linalg_ext.runtime.object_file import AARCH64, GOT, X86_64, ElfFile, Symbol


def disassemble(code: bytes, symbol: str | None = None) -> str:
    """The instructions of an ELF object for x86-64 or AArch64, function by function.

    Instructions that the disassembler does not know are shown as their bytes.

    Args:
        code: the object file.
        symbol: the function to show; None shows all.

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
    chosen = [found for found in functions if symbol is None or found[0] == symbol]
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
    """The functions that an ELF object calls and does not define.

    Raises:
        LinalgExtError: not an ELF object.
    """
    names = (symbol.name for symbol in _symbols(code) if not symbol.is_defined)
    return [name for name in names if name != GOT]


def defined_symbols(code: bytes) -> list[str]:
    """The functions and variables that an ELF object defines.

    Raises:
        LinalgExtError: not an ELF object.
    """
    return [symbol.name for symbol in _symbols(code) if symbol.is_defined]


def _symbols(code: bytes) -> list[Symbol]:
    """Those with a name."""
    with _read():
        return [symbol for symbol in ElfFile(code).symbols if symbol.name]


@contextmanager
def _read() -> Iterator[None]:
    """Say what is wrong with an object that cannot be read inside the `with` block."""
    try:
        yield
    except (LinalgExtError, struct.error, IndexError, ValueError) as error:
        what = error.what if isinstance(error, LinalgExtError) else str(error)
        raise LinalgExtError(
            f"the object code cannot be read: {what}", expected="an ELF object"
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
    found = {}
    for relocation in elf.relocations(section):
        target = relocation.symbol
        name = target.name
        if not name and target.section is not None:
            name = elf.name(elf.headers[target.section])
        found[relocation.offset] = name
    return found


def _instructions(
    decoder: Any, body: bytes, start: int, relocations: dict[int, str]
) -> Iterator[str]:
    for instruction in decoder.disasm(body, start):
        end = instruction.address + instruction.size
        names = [relocations[at] for at in range(instruction.address, end) if at in relocations]
        text = f"  {instruction.address:6x}  {instruction.mnemonic:<12} {instruction.op_str}"
        yield f"{text}   ; {', '.join(names)}" if names else text.rstrip()
