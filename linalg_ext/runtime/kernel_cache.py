"""Code that is kept on disk, and the keys that it goes by: see `linalg_ext.cache`.

A key has in it all that the code was made of and for: the caller gives the source, this file adds
the machine and the versions. It is known before MLIR is needed.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from linalg_ext import cache
from linalg_ext.cache.keys import described, digest, makers
from linalg_ext.cache.store import Entry
from linalg_ext.errors import LinalgExtError
from linalg_ext.runtime import poison
from linalg_ext.runtime.libraries import in_force
from linalg_ext.runtime.machine_code import Code, LoadedCode
from linalg_ext.runtime.object_file import ObjectFile
from linalg_ext.target import Target, current, host, to_data
from linalg_ext.utils.scopes import holding

CODE = "code.o"
"""The name of the file with the object code."""

_apart: ContextVar[tuple[object, ...]] = ContextVar("linalg_ext.keeping", default=())


def key_of(*parts: object) -> str | None:
    """The key of code that is made now of `parts`, plain data; None where nothing is to be kept."""
    if not cache.is_on():
        return None
    target = current()
    if target.missing_on(host()):
        return None  # code to look at
    called = [library.fingerprint for library in in_force()]
    return digest(makers(), _machine(target), called, _apart.get(), poison.ON, *parts)


def file_stamp(path: str | Path) -> str | None:
    """A file as a part of a key; None where there is no such file: it is looked for elsewhere."""
    try:
        file = Path(path).absolute()
        stat = file.stat()
    except OSError:
        return None
    return described(str(file), stat)


def apart(*parts: object) -> AbstractContextManager[object]:
    """Keep code that is made inside the `with` block under keys that have `parts` in them too."""
    return holding(_apart, (*_apart.get(), *parts))


def read(key: str | None) -> Entry | None:
    """Return the entry that is kept under a key; None if absent."""
    return None if key is None else cache.get(key)


def write(
    key: str | None, name: str, record: Mapping[str, Any], files: Mapping[str, bytes]
) -> None:
    """Keep something. Where it cannot be written nothing is kept, with a warning."""
    if key is None:
        return
    if CODE in files:
        try:
            ObjectFile(files[CODE])  # which says whether it can be loaded
        except LinalgExtError:
            return
    cache.put(Entry(key, record, files), name=name)


def replace(
    key: str | None, name: str, record: Mapping[str, Any], files: Mapping[str, bytes]
) -> None:
    """Keep an entry in the place of the one under its key."""
    if key is not None:
        cache.remove(key)
        write(key, name, record, files)


def load(entry: Entry) -> LoadedCode:
    """The code of an entry; a LinalgExtError, OSError or KeyError where it has none to load."""
    record = entry.record
    return LoadedCode(
        entry.files[CODE], opt_level=record["opt_level"], libraries=record.get("libraries", ())
    )


def own_code(name: str) -> Code:
    """Code of a file of this room in MLIR, by its name, on this machine: kept, or made and kept."""
    if (own_code := kept_own_code(name)) is not None:
        return own_code
    # Imported only here, for it loads MLIR.
    from linalg_ext.runtime.native_code import compiled

    code = compiled(name)
    key = _key_of_own(name)
    if key is not None:
        write(key, name, {"opt_level": code.opt_level}, {CODE: code.object_code()})
    return code


def kept_own_code(name: str) -> Code | None:
    """The code of a name that `own_code` kept, if any: MLIR is not needed for it."""
    entry = read(_key_of_own(name))
    if entry is not None:
        with contextlib.suppress(LinalgExtError, OSError, KeyError, TypeError, ValueError):
            return load(entry)
    return None


def _key_of_own(name: str) -> str | None:
    if not cache.is_on():
        return None
    return digest(makers(), _machine(host()), "own", poison.ON, name)


@functools.lru_cache(maxsize=16)
def _machine(target: Target) -> str:
    return digest(to_data(target), _processor())


@functools.cache
def _processor() -> str:
    """Return the system's description of the processor: LLVM may know features of no target."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = file.read(1 << 13).partition("\n\n")[0].splitlines()
    except OSError:
        return ""
    # Not its clock, which changes from one moment to the next.
    return "\n".join(line for line in lines if not line.startswith(("cpu MHz", "bogomips")))
