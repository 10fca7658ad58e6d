"""`lx.load`: a kernel that was exported, called without MLIR and without a linker."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from linalg_ext.cache.checked import Folder, Rule, open_folder
from linalg_ext.cache.keys import checksum
from linalg_ext.errors import ExportError, LinalgExtError, TargetError
from linalg_ext.executable.explanation import Stage
from linalg_ext.executable.kernel import Kernel, kernel_of
from linalg_ext.executable.kernel_data import Data
from linalg_ext.executable.numpy_loader import FORMAT, RECORD, VERSION, canonical
from linalg_ext.runtime.machine_code import LoadedCode
from linalg_ext.target import Target, from_data, host
from linalg_ext.target.linux import flags as flags_of_this_machine

_RULE = Rule(
    "of an exported kernel",
    "copy it to a folder of your own",
    may_be_roots=True,
    error=ExportError,
)


def load(folder: str | PathLike[str]) -> Kernel:
    """Load the kernel that `Kernel.export` wrote to a folder.

        layer.export("layer")           # here, or on another machine
        layer = lx.load("layer")

    It is called as the kernel that was exported, on one thread. MLIR is loaded only to show
    `stages`. The code in the folder is run: load a folder only if you would run it as a program.

    Args:
        folder: with `kernel.json` in it.

    Raises:
        ExportError: the folder is missing, damaged, of another version, or no exported kernel; or
            others than you and the administrator could have written to it.
        TargetError: the processor lacks extensions that its code needs.
        UnresolvedSymbolError: a library that it calls is missing.
    """
    if not isinstance(folder, str | PathLike) or not os.fspath(folder):
        raise ExportError(f"the folder is {folder!r}", expected="a path")
    where = os.path.expanduser(folder)
    with _reading(RECORD, where, where):
        checked_folder = open_folder(where, _RULE)
    with checked_folder:
        return _kernel(checked_folder, where)


def opened(text: bytes, where: str) -> Data:
    """Return the data of a kernel from a record; an ExportError if `sealed` did not write it."""
    try:
        whole = json.loads(text)
        kind, version = whole["format"], whole["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        kind, version = None, None
    if kind != FORMAT:
        raise ExportError(
            f"{RECORD} is not a record of an exported kernel",
            where=where,
            expected="a folder that Kernel.export wrote",
        )
    if version != VERSION:
        raise ExportError(
            f"the kernel was exported in version {version!r} of the format",
            where=where,
            expected=f"version {VERSION}",
            hint="export it again with this version of linalg_ext",
        )
    kernel: Data | None = whole.get("kernel")
    if not isinstance(kernel, dict) or whole.get("checksum") != checksum(canonical(kernel)):
        raise _damaged(RECORD, where)
    return kernel


def _damaged(file: str, where: str) -> ExportError:
    return ExportError(
        f"{file} is not as it was written", where=where, hint="copy the folder, or export it, again"
    )


def _kernel(folder: Folder, where: str) -> Kernel:
    record = opened(_content(folder, RECORD, where), where)
    try:
        target = from_data(record["target"])
        _check_machine(target, record["unnamed"], where)
        code = _loaded(folder, record, where)
        return kernel_of(record, code, _stages(folder, record, where), target)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, LinalgExtError):
            raise
        raise ExportError(
            f"{RECORD} lacks something, or has it wrong: {error}",
            where=where,
            hint="export it again with this version of linalg_ext",
        ) from error


def _loaded(folder: Folder, record: Data, where: str) -> LoadedCode:
    file = record["files"]["object"]
    content = _checked(folder, file, record, where)
    try:
        return LoadedCode(content, opt_level=record["opt_level"], libraries=record["libraries"])
    except OSError as error:
        raise ExportError(f"{file} cannot be loaded: {error}", where=where) from error


def _check_machine(target: Target, unnamed: list[str], where: str) -> None:
    missing = [*target.missing_on(host()), *sorted({*unnamed} - flags_of_this_machine())]
    if missing:
        raise TargetError(
            f"the kernel needs a processor with {', '.join(missing)}, which this one lacks",
            where=where,
            hint="compile it for less, and export it again: with lx.target.using('avx2'): ...",
        )


def _content(folder: Folder, name: str, where: str) -> bytes:
    with _reading(name, where, f"{where}/{name}"):
        return folder.read(name)


@contextmanager
def _reading(name: str, where: str, path: str) -> Iterator[None]:
    """Raise ExportErrors in a `with` block for files that are missing, or cannot be read."""
    try:
        yield
    except ExportError:
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ExportError(
            f"{where} has no file {name}", expected="a folder that Kernel.export wrote"
        ) from error
    except (OSError, ValueError) as error:
        raise ExportError(f"{path} cannot be read: {error}") from error


def _stages(folder: Folder, record: Data, where: str) -> list[Stage]:
    """Return the stages whose files are present: they are for people, and need not be shipped."""
    stages = []
    for stage in record["stages"]:
        file = f"{stage['file']}.{'mlir' if stage['is_text'] else 'mlirbc'}"
        if not folder.has(file):
            continue
        stages.append(Stage.of_data(stage, _checked(folder, file, record, where)))
    return stages


def _checked(folder: Folder, file: str, record: Data, where: str) -> bytes:
    content = _content(folder, file, where)
    if checksum(content) != record["checksums"][file]:
        raise _damaged(file, where)
    return content
