"""Compiled code that is kept on disk: the next process calls it without compiling it again.

    lx.cache.folder()                       # where it is; None where nothing is kept
    lx.cache.entries()                      # the last used one first
    lx.cache.clear()
    lx.cache.configure(limit="500M")        # for this process
    with lx.cache.off():                    # in this thread, and this asynchronous task
        kernel = lx.compile(text)

The environment variable `LINALG_EXT_CACHE_DIR` names another folder, or `off`;
`LINALG_EXT_CACHE_SIZE` bounds it (1G by default); the least recently used entries go first. An
entry that is damaged, or of another version, counts as absent. A folder that others can write to is
not used, with a warning: the code in it is run.

The key of an entry covers all that made it: the module or the op, with types, shapes and options,
the machine, and the files of this library and of the bindings.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike
from pathlib import Path

from linalg_ext.cache.store import (
    FOLDER,
    Entry,
    Memory,
    Store,
    Summary,
    chosen_folder,
    chosen_size,
    parsed_size,
    require_usable,
)
from linalg_ext.errors import CacheError, warn

__all__ = [
    "Entry",
    "Store",
    "Summary",
    "clear",
    "configure",
    "entries",
    "folder",
    "limit",
    "off",
    "store",
]

_is_off: ContextVar[bool] = ContextVar("linalg_ext.cache.off", default=False)
_memory: Memory | None = None
_configured_folder: str | None = None
_configured_limit: int | None = None


def folder() -> Path | None:
    """Return the folder that compiled code is kept in; None where the cache is off."""
    return None if _is_off.get() else chosen_folder(_configured_folder)


def is_on() -> bool:
    """Return whether anything is looked up and kept."""
    return not _is_off.get() and (_memory is not None or folder() is not None)


def keep_in_memory() -> Memory:
    """Keep the entries of this process in memory from now on, and read none from disk."""
    global _memory
    _memory = Memory()
    return _memory


def limit() -> int:
    """Return the number of bytes that the cache may hold.

    Raises:
        CacheError: the value in the environment is not a size.
    """
    return chosen_size() if _configured_limit is None else _configured_limit


def configure(folder: str | PathLike[str] | None = None, *, limit: int | str | None = None) -> None:
    """Choose the folder and its limit for this process; the environment decides for None.

    Args:
        folder: a path; `"off"` keeps nothing.
        limit: a number of bytes, or a text such as `"500M"`.

    Raises:
        CacheError: the limit is not a size, or the folder no path, or one that cannot be used.
    """
    global _configured_folder, _configured_limit
    if folder is not None and not isinstance(folder, str | PathLike):
        raise CacheError(f"the folder is {folder!r}", expected="a path, or 'off'")
    text = None if folder is None else str(folder)
    size = None if limit is None else parsed_size(limit, "limit")
    if text is not None and (chosen := chosen_folder(text)) is not None:
        require_usable(chosen)
    _configured_folder, _configured_limit = text, size


@contextmanager
def off() -> Iterator[None]:
    """Neither look up nor keep kernels that are compiled inside the `with` block."""
    token = _is_off.set(True)
    try:
        yield
    finally:
        _is_off.reset(token)


def store() -> Store | None:
    """Return the store in force; None where it is off, or, with a warning, cannot be used.

    There is no warning where the default folder of the user cannot be made.
    """
    with _warning():
        opened = _named_store()
        if opened is not None:
            require_usable(opened.root)
        return opened
    return None


def get(key: str) -> Entry | None:
    """Return the entry under a key; None if absent, or if there is no store."""
    with _warning():
        current = _in_force()
        return None if current is None else current.get(key)
    return None


def put(entry: Entry, *, name: str) -> None:
    """Keep an entry, by a name for listings; warn if it cannot be written."""
    with _warning():
        current = _in_force()
        if current is not None:
            current.put(entry, name=name)


def remove(key: str) -> None:
    """Remove the entry under a key, if there is one, and a store."""
    with _warning():
        current = _in_force()
        if current is not None:
            current.remove(key)


@contextmanager
def _warning() -> Iterator[None]:
    """Warn once that nothing is cached, and why, unless the default folder is unusable."""
    try:
        yield
    except CacheError as error:
        is_asked_for = _configured_folder is not None or os.environ.get(FOLDER)
        if is_asked_for or not isinstance(error.__cause__, OSError):
            _warn_once(str(error))
    except OSError as error:
        _warn_once(str(error))


def entries() -> list[Summary]:
    """Return the entries of the cache, the last used first.

    Raises:
        CacheError: the folder cannot be used, or not be trusted.
    """
    opened = _named_store()
    return [] if opened is None else opened.entries()


def clear() -> int:
    """Remove all entries; returns how many there were.

    Raises:
        CacheError: the folder cannot be used, or not be trusted.
    """
    opened = _named_store()
    return 0 if opened is None else opened.clear()


def _in_force() -> Store | Memory | None:
    if _memory is not None:
        return None if _is_off.get() else _memory
    return _named_store()


def _named_store() -> Store | None:
    path = folder()
    return None if path is None else _store(path, limit())


_store = functools.lru_cache(maxsize=8)(Store)


@functools.cache
def _warn_once(message: str) -> None:
    warn(f"compiled code is not kept: {message}", RuntimeWarning)
