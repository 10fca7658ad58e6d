"""`lx.load`: a kernel that was exported, called without MLIR and without a linker."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from linalg_ext.cache.folder import refuse_others
from linalg_ext.cache.keys import checksum
from linalg_ext.calling.kernel import Kernel
from linalg_ext.calling.plain_kernel import kernel_of
from linalg_ext.calling.shipping.format import RECORD, Data, damaged, opened
from linalg_ext.calling.stage import Stage
from linalg_ext.errors import ExportError, LinalgExtError, TargetError
from linalg_ext.runtime.loaded_code import LoadedCode
from linalg_ext.target import Target, from_data, host
from linalg_ext.target.linux import flags as flags_of_this_machine


def load(folder: str | PathLike[str]) -> Kernel:
    """The kernel that `Kernel.export` wrote to a folder.

        layer.export("layer")           # here, or on another machine
        layer = lx.load("layer")

    It is called as the kernel that was exported, on one thread, and loads no MLIR; only what shows
    `stages` does. What lies in the folder is run: load what you trust as a program.

    Args:
        folder: with `kernel.json` in it.

    Raises:
        ExportError: it is missing, damaged, of another version, or no such folder; or it could have
            been written by others than you and the administrator.
        TargetError: its code is for a processor that can do what this one cannot.
        UnresolvedSymbolError: a library that it calls is not here.
    """
    if not isinstance(folder, str | PathLike) or not os.fspath(folder):
        raise ExportError(f"the folder is {folder!r}", expected="a path")
    place = Path(os.fspath(folder)).expanduser()
    where = str(place)
    record = opened(_content(place, RECORD), where)
    try:
        target = from_data(record["target"])
        _check_machine(target, record["unnamed"], where)
        code = _loaded(place, record, where)
        return kernel_of(record, code, _stages(place, record, where), target)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, LinalgExtError):
            raise
        raise ExportError(
            f"{RECORD} lacks something, or has it wrong: {error}",
            where=where,
            cure="export it anew with this version of linalg_ext",
        ) from error


def _loaded(place: Path, record: Data, where: str) -> LoadedCode:
    file = record["files"]["object"]
    content = _checked(place, file, record, where)
    try:
        return LoadedCode(content, opt_level=record["opt_level"], libraries=record["libraries"])
    except OSError as error:
        raise ExportError(f"{file} cannot be loaded: {error}", where=where) from error


def _check_machine(target: Target, unnamed: list[str], where: str) -> None:
    """Refuse code that this processor cannot run."""
    missing = [*target.missing_on(host()), *sorted({*unnamed} - flags_of_this_machine())]
    if missing:
        raise TargetError(
            f"the kernel needs a processor with {', '.join(missing)}, which this one lacks",
            where=where,
            cure="compile it for less, and export it anew: with lx.target.using('avx2'): ...",
        )


def _content(place: Path, name: str) -> bytes:
    """What a file holds that nobody else can write.

    Raises:
        ExportError: it cannot be read, or somebody else could write it.
    """
    path = place / name
    try:
        refuse_others(
            path,
            "of an exported kernel",
            cure="copy it to a folder of your own",
            may_be_roots=True,
            kind_of_error=ExportError,
        )
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ExportError(
            f"there is no {name} in {place}",
            expected="a folder that Kernel.export wrote",
        ) from error
    except (OSError, ValueError) as error:
        if isinstance(error, LinalgExtError):
            raise
        raise ExportError(f"{path} cannot be read: {error}") from error


def _stages(place: Path, record: Data, where: str) -> list[Stage]:
    """The stages that are there: they are for people, and need not be shipped."""
    found = []
    for each in record["stages"]:
        is_text = each["is_text"]
        file = f"{each['file']}.{'mlir' if is_text else 'mlirbc'}"
        if not (place / file).exists():
            continue
        content = _checked(place, file, record, where)
        found.append(
            Stage(
                each["name"],
                each["seconds"],
                b"" if is_text else content,
                each["allow_unregistered"],
                content.decode() if is_text else "",
                each["operations"],
            )
        )
    return found


def _checked(place: Path, file: str, record: Data, where: str) -> bytes:
    """What a file holds, as it was written."""
    content = _content(place, file)
    if checksum(content) != record["checksums"][file]:
        raise damaged(file, where)
    return content
