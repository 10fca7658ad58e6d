"""Object code as text."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from linalg_ext.errors import LinalgExtError


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

    elf = _opened(code)
    machines = {
        "EM_X86_64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
        "EM_AARCH64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
    }
    machine = elf["e_machine"]
    if machine not in machines:
        raise LinalgExtError(
            f"no disassembler for {machine}", expected="one of " + ", ".join(machines)
        )
    decoder = capstone.Cs(*machines[machine])
    # It does not know every extension, and would end a function at the first such instruction.
    decoder.skipdata = True
    functions = list(_functions(elf))
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
    return [name for name, is_defined in _symbols(code) if not is_defined]


def defined_symbols(code: bytes) -> list[str]:
    """The functions and variables that an ELF object defines.

    Raises:
        LinalgExtError: not an ELF object.
    """
    return [name for name, is_defined in _symbols(code) if is_defined]


def _symbols(code: bytes) -> Iterator[tuple[str, bool]]:
    """Each named symbol, and whether it is defined."""
    table = _opened(code).get_section_by_name(".symtab")
    for symbol in table.iter_symbols() if table is not None else ():
        if symbol.name:
            yield symbol.name, symbol["st_shndx"] != "SHN_UNDEF"


def _opened(code: bytes) -> Any:
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        return ELFFile(io.BytesIO(code))
    except ELFError as error:
        raise LinalgExtError(
            f"the object code cannot be read: {error}", expected="an ELF object"
        ) from error


def _functions(elf: Any) -> Iterator[tuple[str, bytes, int, dict[int, str]]]:
    """Each function: its name, bytes, address in its section, and that section's relocations."""
    table = elf.get_section_by_name(".symtab")
    if table is None:
        return
    for symbol in table.iter_symbols():
        if symbol["st_info"]["type"] != "STT_FUNC" or not isinstance(symbol["st_shndx"], int):
            continue
        section = elf.get_section(symbol["st_shndx"])
        start = symbol["st_value"]
        body = section.data()[start : start + symbol["st_size"]]
        yield symbol.name, body, start, _relocations(elf, section, table)


def _relocations(elf: Any, section: Any, table: Any) -> dict[int, str]:
    """What the linker puts where: the symbol for each offset in `section`."""
    relocations = elf.get_section_by_name(f".rela{section.name}")
    if relocations is None:
        return {}
    found = {}
    for relocation in relocations.iter_relocations():
        target = table.get_symbol(relocation["r_info_sym"])
        name = target.name
        if not name and isinstance(target["st_shndx"], int):
            name = elf.get_section(target["st_shndx"]).name
        found[relocation["r_offset"]] = name
    return found


def _instructions(
    decoder: Any, body: bytes, start: int, relocations: dict[int, str]
) -> Iterator[str]:
    for instruction in decoder.disasm(body, start):
        end = instruction.address + instruction.size
        names = [relocations[at] for at in range(instruction.address, end) if at in relocations]
        text = f"  {instruction.address:6x}  {instruction.mnemonic:<12} {instruction.op_str}"
        yield f"{text}   ; {', '.join(names)}" if names else text.rstrip()
