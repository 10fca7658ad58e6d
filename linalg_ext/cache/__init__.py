"""Compiled code that is kept on disk: the next process calls it without compiling it anew.

    lx.cache.folder()       # where it is; None where nothing is kept
    lx.cache.entries()      # what is there, the one that was used last first
    lx.cache.clear()

The environment variable `LINALG_EXT_CACHE_DIR` names another folder, or `off`;
`LINALG_EXT_CACHE_SIZE` bounds it (1G where nothing is said), and what was not used for longest
goes first. An entry that is damaged, or of another version, counts as absent. A folder that others
can write to is not used, with a warning: what lies in it is run.
"""

from __future__ import annotations

import functools
import warnings
from pathlib import Path

from linalg_ext.cache.folder import chosen_folder, chosen_size, make_trusted
from linalg_ext.cache.store import Entry, Store, Summary
from linalg_ext.errors import CacheError

__all__ = ["Entry", "Store", "Summary", "clear", "entries", "folder", "store"]


def folder() -> Path | None:
    """The folder that compiled code is kept in; None where it is off."""
    return chosen_folder()


def store() -> Store | None:
    """The store in force; None where it is off, or, with a warning, where it cannot be used."""
    place = chosen_folder()
    if place is None:
        return None
    try:
        return _opened(place, chosen_size())
    except CacheError as error:
        _warn_once(str(error))
        return None


def entries() -> list[Summary]:
    """What is kept, the one that was used last first.

    Raises:
        CacheError: the folder cannot be used, or not be trusted.
    """
    opened = _named_store()
    return [] if opened is None else opened.entries()


def clear() -> int:
    """Remove all that is kept; returns how many entries there were.

    Raises:
        CacheError: the folder cannot be used, or not be trusted.
    """
    opened = _named_store()
    return 0 if opened is None else opened.clear()


def _named_store() -> Store | None:
    place = chosen_folder()
    return None if place is None else _opened(place, chosen_size())


@functools.lru_cache(maxsize=8)
def _opened(place: Path, size: int) -> Store:
    make_trusted(place)
    return Store(place, size)


@functools.cache
def _warn_once(message: str) -> None:
    warnings.warn(f"compiled code is not kept: {message}", RuntimeWarning, stacklevel=4)
