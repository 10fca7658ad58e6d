"""`Kernel.export`: a kernel as a folder that can be shipped, which `lx.load` reads.

layer/kernel.json        its format, version, machine, signature, and the other files
      lx_layer.o         the object file
      liblx_layer.so     the shared library, where there was a linker
      lx_layer.h         for C: memref structs, and the function
      load_layer.py      for Python with NumPy alone
      stages/0-module.mlir, 0-module.mlirbc, ...
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from linalg_ext.cache.checked import make_folders
from linalg_ext.cache.keys import checksum
from linalg_ext.errors import ExportError, LinalgExtError
from linalg_ext.executable import numpy_loader
from linalg_ext.executable.c_header import c_name, header
from linalg_ext.executable.explanation import Stage
from linalg_ext.executable.kernel_data import Data
from linalg_ext.executable.numpy_loader import FORMAT, RECORD, VERSION, canonical
from linalg_ext.executable.signature import Entry, Signature, fitting_data, split_message
from linalg_ext.runtime.machine_code import PORTABLE, Code, packed_names
from linalg_ext.runtime.object_file import (
    ABSOLUTE_64,
    ObjectFile,
    defined_symbols,
    runs_at_loading,
    undefined_symbols,
)
from linalg_ext.target import Target, host, to_data
from linalg_ext.target.features import SPELLINGS, UNNAMED
from linalg_ext.target.linux import flags as flags_of_this_machine
from linalg_ext.utils import hooks, library_version

_OTHERS_WRITE = 0o022


@dataclass(frozen=True)
class Exported:
    """The parts of a kernel that are written; `data` is the kernel as plain data."""

    signature: Signature
    entry: Entry
    code: Code
    target: Target
    stages: Sequence[Stage]
    assertions: Sequence[str]
    data: Data


def export(kernel: Exported, folder: str | PathLike[str], *, library: bool | None = None) -> Path:
    """Write a kernel: see `Kernel.export`."""
    target_folder = _target_folder(folder)
    try:
        make_folders(target_folder.parent, 0o755)
        with tempfile.TemporaryDirectory(dir=target_folder.parent, prefix=".new-") as temporary:
            new_folder = Path(temporary) / target_folder.name
            new_folder.mkdir()
            _write(kernel, new_folder, library)
            _refuse_other_writers(new_folder)
            if target_folder.exists():
                target_folder.rename(Path(temporary) / "old")
            new_folder.rename(target_folder)
    except OSError as error:
        if isinstance(error, LinalgExtError):
            raise
        raise ExportError(
            f"the kernel cannot be written to {target_folder}: {error.strerror or error}"
        ) from error
    return target_folder


def sealed(kernel: Mapping[str, Any]) -> str:
    """Return the text of the record of an exported kernel, `kernel.json`."""
    checked = checksum(canonical(kernel))
    whole = {"format": FORMAT, "version": VERSION, "checksum": checked, "kernel": kernel}
    return json.dumps(whole, indent=1) + "\n"


def _target_folder(folder: str | PathLike[str]) -> Path:
    """Return the folder to write to, an exported kernel or empty; an ExportError if neither."""
    if not isinstance(folder, str | PathLike) or not os.fspath(folder):
        raise ExportError(f"the folder is {folder!r}", expected="a path")
    path = Path(os.path.abspath(os.path.expanduser(folder)))
    if not os.path.lexists(path):
        return path
    is_ours = (path / RECORD).is_file() and FORMAT in (path / RECORD).read_text(errors="replace")
    if not is_ours and not (path.is_dir() and not any(path.iterdir())):
        raise ExportError(
            f"{path} is there already, and is not an exported kernel",
            expected="a new folder, or one to replace that export wrote",
        )
    return Path(os.path.realpath(path))


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
    shutil.copyfile(numpy_loader.__file__, folder / files["loader"])
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
        "failures": [split_message(message)[0] for message in kernel.assertions],
        "stages": [_write_stage(stages, *numbered) for numbered in enumerate(kernel.stages)],
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
    """Return the object code, without absolute addresses if the kernel still has its module."""
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
        independent: bytes = hooks.facade("compiler").position_independent(
            last.bytecode,
            kernel.entry.symbol,
            kernel.code.opt_level,
            kernel.code.libraries,
            kernel.target,
        )
        ObjectFile(independent)  # which lx.load has to read
    except LinalgExtError:
        return code
    return independent


def _has_absolute_addresses(code: bytes) -> bool:
    """Return whether code has addresses in it that a linker warns of."""
    try:
        read = ObjectFile(code)
    except LinalgExtError:
        return False
    of_code = {section.number for section in read.sections if section.is_code}
    return any(
        relocation.kind == ABSOLUTE_64 and relocation.section in of_code
        for relocation in read.relocations
    )


def _write_stage(folder: Path, number: int, stage: Stage) -> Data:
    """Write a stage as text without large constants and, unless it is too large, as bytecode."""
    stem = f"{number}-{stage.name}"
    (folder / f"{stem}.mlir").write_text(stage.text + "\n", encoding="utf-8")
    if stage.bytecode:
        (folder / f"{stem}.mlirbc").write_bytes(stage.bytecode)
    return {**stage.data(stage.operations), "file": f"{folder.name}/{stem}"}


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


def _refuse_other_writers(folder: Path) -> None:
    """Remove the rights of other users to write, because `lx.load` would refuse the folder."""
    if sys.platform == "win32":
        return
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode & 0o777 & ~_OTHERS_WRITE)


_COMPILERS = ("cc", "gcc", "clang")


def linker(target: Target) -> list[str] | None:
    """Return the command that links for a target, `CC` or the first compiler; None if absent.

    A linker on its own serves, too: functions that the code calls are found at loading then.
    """
    if not sys.platform.startswith("linux") or target.architecture != host().architecture:
        return None
    named = os.environ.get("CC", "").split()
    if named and shutil.which(named[0]):
        return [*named, "-lm"]
    for compiler in _COMPILERS:
        if path := shutil.which(compiler):
            return [path, "-lm"]
    path = shutil.which("ld")
    return None if path is None else [path]


def link(command: list[str], code: Path, library: Path, symbol: str) -> None:
    """Link `code` into `library`, which exports `symbol` alone; an ExportError if it fails."""
    with tempfile.TemporaryDirectory(prefix="linalg-ext-") as folder:
        script = Path(folder) / "shown"
        script.write_text(f"{{ global: {symbol}; local: *; }};\n")
        # The code holds absolute addresses; the system's loader fills them in.
        options = ["-z,notext", "-z,noexecstack", f"--version-script={script}"]
        # A compiler hands the words of an option on to the linker.
        words = [f"-Wl,{option}" for option in options]
        if Path(command[0]).name == "ld":
            words = ",".join(options).split(",")
        own, libraries = command[:-1] or command, command[1:]
        process = subprocess.run(
            [*own, "-shared", *words, "-o", str(library), str(code), *libraries],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    if process.returncode:
        raise ExportError(
            f"{command[0]} does not link the shared library",
            hint="mend the linker, name another one in CC, or export(..., library=False)",
            notes=process.stderr.splitlines()[:20],
        )
