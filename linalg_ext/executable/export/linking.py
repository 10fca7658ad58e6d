"""A shared library from an object file, by the linker of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from linalg_ext.errors import ExportError
from linalg_ext.target import Target, host

_COMPILERS = ("cc", "gcc", "clang")


def linker(target: Target) -> list[str] | None:
    """The command that links for a target, `CC` or the first there is; None if absent.

    A linker on its own does too: what the code calls is then found when the library is loaded.
    """
    if not sys.platform.startswith("linux") or target.architecture != host().architecture:
        return None
    named = os.environ.get("CC", "").split()
    if named and shutil.which(named[0]):
        return [*named, "-lm"]
    for compiler in _COMPILERS:
        if found := shutil.which(compiler):
            return [found, "-lm"]
    found = shutil.which("ld")
    return None if found is None else [found]


def link(command: list[str], code: Path, library: Path, symbol: str) -> None:
    """Link `code` into `library`, which shows `symbol` alone.

    Raises:
        ExportError: the linker refuses; with what it says.
    """
    prefix = "" if Path(command[0]).name == "ld" else "-Wl,"
    with tempfile.TemporaryDirectory(prefix="linalg-ext-") as folder:
        shown = Path(folder) / "shown"
        shown.write_text(f"{{ global: {symbol}; local: *; }};\n")
        # The code holds absolute addresses; the system's loader fills them in.
        options = ["-z,notext", "-z,noexecstack", f"--version-script={shown}"]
        words = [word for option in options for word in _spelt(prefix, option)]
        own, libraries = command[:-1] or command, command[1:]
        done = subprocess.run(
            [*own, "-shared", *words, "-o", str(library), str(code), *libraries],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    if done.returncode:
        raise ExportError(
            f"{command[0]} does not link the shared library",
            hint="mend the linker, name another one in CC, or export(..., library=False)",
            notes=done.stderr.splitlines()[:20],
        )


def _spelt(prefix: str, option: str) -> list[str]:
    """A linker's option, as the linker or as a compiler that calls it takes it."""
    return [prefix + option] if prefix else option.split(",")
