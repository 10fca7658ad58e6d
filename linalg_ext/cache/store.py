"""Entries on disk: each a folder with a record and the files that it names.

    <folder>/v1/ab/abcdef.../record.json      what it is, and the checksum of every other file
                             code.o ...       each beginning with one line that says what it is

An entry comes into being whole, by the renaming of a folder, and leaves whole; it is never changed.
Any number of processes may use one store at once. What cannot be read is as good as not there.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linalg_ext.cache.keys import FORMAT, VERSION

RECORD = "record.json"

_UNFINISHED = ".new-"
_OLD = 3600.0
"""Seconds after which something unfinished is what a process left that is no more."""

_ROOM = 0.9
"""How much of the limit is left in use when the store was full."""


@dataclass(frozen=True)
class Entry:
    """What is kept under a key.

    Attributes:
        key: its own.
        record: plain data, as JSON has it.
        files: the content of each file, by its name.
    """

    key: str
    record: Mapping[str, Any]
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Summary:
    """An entry as a listing shows it.

    Attributes:
        key: its own.
        name: of what it is.
        size: in bytes, of all its files.
        used: when it was last read or written, in seconds since 1970.
    """

    key: str
    name: str
    size: int
    used: float


class Store:
    """Entries in a folder that is trusted.

    Attributes:
        folder: where they are.
        limit: how many bytes they may take; those that were not used for longest go first.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder / f"v{VERSION}"
        self.limit = limit
        self._size: int | None = None

    def get(self, key: str) -> Entry | None:
        """The entry; None where there is none, or none that can be believed."""
        place = self._place(key)
        try:
            record = json.loads((place / RECORD).read_bytes())
            if (record["format"], record["version"], record["key"]) != (FORMAT, VERSION, key):
                raise ValueError("another format or key")
            files = {
                name: self._content(place / name, key, checksum)
                for name, checksum in record["files"].items()
            }
            content: Mapping[str, Any] = record["content"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            if place.exists():
                self.remove(key)  # it would be in the way of a better one
            return None
        with contextlib.suppress(OSError):
            os.utime(place)
        return Entry(key, content, files)

    def put(self, entry: Entry, *, name: str) -> None:
        """Keep an entry. What is there under its key already stays.

        Args:
            entry: what is kept.
            name: what a listing calls it.

        Raises:
            OSError: it cannot be written.
        """
        place = self._place(entry.key)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=place.parent))
        try:
            checksums = {}
            size = 0
            for file, content in entry.files.items():
                checksums[file] = hashlib.blake2b(content).hexdigest()
                size += (fresh / file).write_bytes(_first_line(file, entry.key) + content)
            record = {
                "format": FORMAT,
                "version": VERSION,
                "key": entry.key,
                "name": name,
                "files": checksums,
                "content": entry.record,
            }
            size += (fresh / RECORD).write_bytes(json.dumps(record, indent=1).encode())
            os.rename(fresh, place)
        except BaseException as error:
            shutil.rmtree(fresh, ignore_errors=True)
            if isinstance(error, OSError) and error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                return  # another process was quicker
            raise
        if self._size is not None:
            self._size += size
        if self._size is None or self._size > self.limit:
            self._make_room()

    def remove(self, key: str) -> None:
        """Remove an entry, if it is there."""
        place = self._place(key)
        # Out of the way first: nobody sees a half of it.
        grave = place.parent / f"{_UNFINISHED}{os.getpid()}-{key}"
        with contextlib.suppress(OSError):
            os.rename(place, grave)
        shutil.rmtree(grave, ignore_errors=True)

    def clear(self) -> int:
        """Remove all entries; returns how many there were."""
        count = 0
        for summary in self.entries():
            self.remove(summary.key)
            count += 1
        self._size = None
        return count

    def entries(self) -> list[Summary]:
        """All entries, the one that was used last first."""
        found = [summary for place in self._places() if (summary := _summary(place)) is not None]
        return sorted(found, key=lambda summary: -summary.used)

    def _make_room(self) -> None:
        """Remove what was not used for longest, down to a part of the limit."""
        import filelock

        lock = filelock.FileLock(str(self.folder / "lock"), timeout=0)
        try:
            with lock:
                found = self.entries()
                size = sum(summary.size for summary in found)
                if size > self.limit:
                    while found and size > self.limit * _ROOM:
                        oldest = found.pop()
                        self.remove(oldest.key)
                        size -= oldest.size
                self._size = size
                self._sweep()
        except filelock.Timeout:
            pass  # another process is at it

    def _sweep(self) -> None:
        """Remove what processes left that were ended in the middle."""
        for place in self.folder.glob(f"*/{_UNFINISHED}*"):
            with contextlib.suppress(OSError):
                if time.time() - place.stat().st_mtime > _OLD:
                    shutil.rmtree(place, ignore_errors=True)

    def _place(self, key: str) -> Path:
        return self.folder / key[:2] / key

    def _places(self) -> Iterator[Path]:
        for place in self.folder.glob("*/*"):
            if not place.name.startswith(_UNFINISHED):
                yield place

    def _content(self, path: Path, key: str, checksum: str) -> bytes:
        head, _, content = path.read_bytes().partition(b"\n")
        if head + b"\n" != _first_line(path.name, key):
            raise ValueError("another format or key")
        if hashlib.blake2b(content).hexdigest() != checksum:
            raise ValueError("damaged")
        return content


def _first_line(file: str, key: str) -> bytes:
    return f"{FORMAT}, version {VERSION}, {file} of {key}\n".encode()


def _summary(place: Path) -> Summary | None:
    try:
        size = sum(entry.stat().st_size for entry in os.scandir(place))
        name = json.loads((place / RECORD).read_bytes())["name"]
        return Summary(place.name, str(name), size, place.stat().st_mtime)
    except (OSError, ValueError, KeyError, TypeError):
        # Unreadable, or removed in this moment: the first to go.
        return Summary(place.name, "?", 0, 0.0) if place.exists() else None
