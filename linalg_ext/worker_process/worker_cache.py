"""The cache entries of worker processes, as exchanged between processes and as kept on disk.

A worker process reads and writes no cache. It hands over what it would keep, and this process puts
all that belongs to one kernel into one entry. The files of the entry have other names than those of
kernels: code that a worker process made runs in worker processes only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.cache.store import Entry
from linalg_ext.runtime import kernel_cache

Plain = list[dict[str, Any]]

_CONTENTS = "apart"
"""The file with all that was handed over."""


def entries_data(entries: Sequence[tuple[Entry, str]]) -> tuple[Plain, bytes]:
    """Entries and their names as JSON and one block of bytes."""
    told = [
        {
            "key": entry.key,
            "name": name,
            "record": entry.record,
            "files": {file: len(content) for file, content in entry.files.items()},
        }
        for entry, name in entries
    ]
    return told, b"".join(content for entry, _ in entries for content in entry.files.values())


def entries_of(told: Any, contents: bytes) -> list[tuple[Entry, str]]:
    """Return the entries that `entries_data` wrote.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is nothing of the kind.
    """
    entries, start = [], 0
    for each in told:
        files = {}
        for file, size in each["files"].items():
            if type(size) is not int or not 0 <= size <= len(contents) - start:
                raise ValueError(f"{file} has {size} bytes")
            files[file] = contents[start : start + size]
            start += size
        entries.append((Entry(str(each["key"]), each["record"], files), str(each["name"])))
    return entries


def read(key: str | None) -> list[tuple[Entry, str]]:
    """Return the entries kept of the kernel of a key; none where they are of no use."""
    found = kernel_cache.read(key)
    try:
        return [] if found is None else entries_of(found.record["kept"], found.files[_CONTENTS])
    except (AttributeError, KeyError, TypeError, ValueError):
        return []


def write(key: str | None, entries: Sequence[tuple[Entry, str]]) -> None:
    """Keep all that belongs to the kernel of a key, in the place of what is kept of it."""
    told, contents = entries_data(entries)
    kernel_cache.replace(key, f"{entries[0][1]}, isolated", {"kept": told}, {_CONTENTS: contents})
