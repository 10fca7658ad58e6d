"""`Kernel.export`: a kernel as a folder."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from linalg_ext.cache.checked import make_folders
from linalg_ext.cache.keys import checksum
from linalg_ext.errors import ExportError, LinalgExtError
from linalg_ext.executable.description.code import Code, Entry
from linalg_ext.executable.description.failures import told
from linalg_ext.executable.description.signature import Signature, fitting_data
from linalg_ext.executable.description.stage import Stage
from linalg_ext.executable.export import loader
from linalg_ext.executable.export.format import FORMAT, RECORD, Data, sealed
from linalg_ext.executable.export.header import c_name, header
from linalg_ext.executable.export.linking import link, linker
from linalg_ext.runtime.disassembly import defined_symbols, undefined_symbols
from linalg_ext.runtime.machine_code import PORTABLE, packed_names
from linalg_ext.runtime.object_file import ABSOLUTE_64, ObjectFile, runs_at_loading
from linalg_ext.target import Target, host, to_data
from linalg_ext.target.features import SPELLINGS, UNNAMED
from linalg_ext.target.linux import flags as flags_of_this_machine
from linalg_ext.utils import hooks
from linalg_ext.utils.version import library_version

_OTHERS_WRITE = 0o022


@dataclass(frozen=True)
class Exported:
    """The parts of a kernel that are written.

    Attributes:
        signature, entry, code, target, assertions: as of the kernel.
        stages: the module at each point of the way down.
        data: the kernel as plain data.
    """

    signature: Signature
    entry: Entry
    code: Code
    target: Target
    stages: Sequence[Stage]
    assertions: Sequence[str]
    data: Data


def export(kernel: Exported, folder: str | PathLike[str], *, library: bool | None = None) -> Path:
    """Write a kernel: see `Kernel.export`."""
    place = _place(folder)
    try:
        make_folders(place.parent, 0o755)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".new-") as beside:
            fresh = Path(beside) / place.name
            fresh.mkdir()
            _write(kernel, fresh, library)
            _keep_to_oneself(fresh)
            if place.exists():
                place.rename(Path(beside) / "old")
            fresh.rename(place)
    except OSError as error:
        if isinstance(error, LinalgExtError):
            raise
        raise ExportError(
            f"the kernel cannot be written to {place}: {error.strerror or error}"
        ) from error
    return place


def _place(folder: str | PathLike[str]) -> Path:
    """Return the folder to write to: a new or empty one, or one that an export wrote.

    Raises:
        ExportError: something else is there.
    """
    if not isinstance(folder, str | PathLike) or not os.fspath(folder):
        raise ExportError(f"the folder is {folder!r}", expected="a path")
    place = Path(os.path.abspath(os.path.expanduser(folder)))
    if not os.path.lexists(place):
        return place
    is_ours = (place / RECORD).is_file() and FORMAT in (place / RECORD).read_text(errors="replace")
    if not is_ours and not (place.is_dir() and not any(place.iterdir())):
        raise ExportError(
            f"{place} is there already, and is no exported kernel",
            expected="a new folder, or one to replace that export wrote",
        )
    return Path(os.path.realpath(place))


def _write(kernel: Exported, folder: Path, library: bool | None) -> None:
    code, name = _position_independent(kernel), c_name(kernel.entry)
    if runs_at_loading(code):
        raise ExportError(
            "the kernel has code that runs when it is loaded",
            expected="code that runs when it is called",
            hint="drop the section, or the constructors, that the module names",
        )
    defined = set(defined_symbols(code))
    symbol = next(known for known in packed_names(kernel.entry.symbol) if known in defined)
    is_portable = symbol.startswith(PORTABLE)
    needs = sorted({*undefined_symbols(code)})
    flags = _flags(kernel.target, is_portable)
    files = {"object": f"lx_{name}.o", "header": f"lx_{name}.h", "loader": f"load_{name}.py"}
    (folder / files["object"]).write_bytes(code)
    notes = _notes(kernel, flags, needs, files["object"])
    (folder / files["header"]).write_text(
        header(kernel.signature, kernel.entry, symbol, kernel.assertions, notes), encoding="utf-8"
    )
    shutil.copyfile(loader.__file__, folder / files["loader"])
    command = None if library is False else linker(kernel.target)
    if command is not None:
        files["library"] = f"liblx_{name}.so"
        link(command, folder / files["object"], folder / files["library"], symbol)
    elif library:
        raise ExportError(
            "a linker for the shared library is not found",
            expected="cc, gcc, clang or ld on Linux, and code for its processor",
            hint="export(..., library=False): the object file needs none for lx.load",
        )
    stages = folder / "stages"
    stages.mkdir()
    record: Data = {
        **kernel.data,
        "made_by": f"linalg_ext {library_version()}",
        "symbol": symbol,
        "target": to_data(kernel.target),
        "flags": flags,
        "unnamed": [] if is_portable else sorted(_unnamed(kernel.target)),
        "needs": needs,
        "failures": [told(message)[0] for message in kernel.assertions],
        "stages": [_write_stage(stages, *each) for each in enumerate(kernel.stages)],
        "files": files,
    }
    own = record["signature"]
    for key, fitting in zip(("parameters", "results"), fitting_data(kernel.signature), strict=True):
        own[key] = [data | more for data, more in zip(own[key], fitting, strict=True)]
    record["checksums"] = {
        path.relative_to(folder).as_posix(): checksum(path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    (folder / RECORD).write_text(sealed(record), encoding="utf-8")


def _position_independent(kernel: Exported) -> bytes:
    """The object code, without absolute addresses where the kernel still has the module for it."""
    code = kernel.code.object_code()
    last = kernel.stages[-1] if kernel.stages else None
    if (
        last is None
        or last.name != "llvm"
        or not last.bytecode
        or kernel.target.architecture != host().architecture
        or not _has_absolute_addresses(code)
    ):
        return code
    try:
        made: bytes = hooks.facade("compiler").position_independent(
            last.bytecode,
            kernel.entry.symbol,
            kernel.code.opt_level,
            kernel.code.libraries,
            kernel.target,
        )
        ObjectFile(made)  # which lx.load has to read
    except LinalgExtError:
        return code
    return made


def _has_absolute_addresses(code: bytes) -> bool:
    """Return whether code has addresses in it that a linker warns of."""
    try:
        read = ObjectFile(code)
    except LinalgExtError:
        return False
    of_code = {section.number for section in read.sections if section.is_code}
    return any(each.kind == ABSOLUTE_64 and each.section in of_code for each in read.relocations)


def _write_stage(folder: Path, number: int, stage: Stage) -> Data:
    """Write a stage as text without large constants and, unless it is too large, as bytecode."""
    stem = f"{number}-{stage.name}"
    (folder / f"{stem}.mlir").write_text(stage.text + "\n", encoding="utf-8")
    if stage.bytecode:
        (folder / f"{stem}.mlirbc").write_bytes(stage.bytecode)
    return {
        "name": stage.name,
        "seconds": stage.seconds,
        "file": f"{folder.name}/{stem}",
        "is_text": not stage.bytecode,
        "allow_unregistered": stage.allow_unregistered,
        "operations": stage.operations,
    }


def _flags(target: Target, is_portable: bool) -> list[str]:
    """Return the processor features that the code needs, by Linux's names."""
    spellings = SPELLINGS[target.architecture]
    needed = {flag for flag, feature in spellings.items() if feature in target.features}
    return sorted(needed if is_portable else needed | _unnamed(target))


def _unnamed(target: Target) -> frozenset[str]:
    """Return the features of this machine that LLVM may use, and that its target does not name."""
    return UNNAMED[target.architecture] & flags_of_this_machine()


def _notes(kernel: Exported, flags: list[str], needs: list[str], code: str) -> list[str]:
    target = kernel.target
    notes = [
        f"made by linalg_ext {library_version()} for {target.name} ({target.architecture}); "
        "it runs on processors with",
        *_wrapped(flags),
        f"Link {code}, or the shared library, and -lm." if needs else f"Link {code}.",
    ]
    if needs:
        notes += ["It calls", *_wrapped(needs)]
    if libraries := [str(library) for library in kernel.code.libraries]:
        notes += ["which are in the C library, or in", *_wrapped(libraries)]
    if "amx-tile" in target.features:
        notes.append(
            "Before its first call ask Linux for AMX: arch_prctl(ARCH_REQ_XCOMP_PERM, 18)."
        )
    return notes


def _wrapped(words: list[str]) -> list[str]:
    import textwrap

    return textwrap.wrap(" ".join(words), 92, initial_indent="  ", subsequent_indent="  ")


def _keep_to_oneself(folder: Path) -> None:
    """Take the rights to write from other users: a folder that they can write to is not loaded."""
    if sys.platform == "win32":
        return
    for place in (folder, *folder.rglob("*")):
        place.chmod(place.stat().st_mode & 0o777 & ~_OTHERS_WRITE)
