"""Entries on disk: each a folder with a record and the files that it names.

    <folder>/v1/ab/abcdef.../record.jsonl     a line that says what it is, and a line of data: the
                                              record, and the checksum of every other file
                             code.o ...       each beginning with one line that says what it is

An entry comes into being whole, by the renaming of a folder, and leaves whole; it is never changed.
Any number of processes may use one store at once. What cannot be read is as good as not there.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from linalg_ext.cache.keys import FORMAT, VERSION, checksum

RECORD = "record.jsonl"

_UNFINISHED = ".new-"
_OLD = 3600.0
"""Seconds after which something unfinished is what a process left that is no more."""

_ROOM = 0.9
"""How much of the limit is left in use when the store was full."""

_UNSEEN = 1 / 64
"""How much of the limit one process may write before it looks how much there is: that takes long.

Many processes that write little each are found out by chance: a key in 16 has them look.
"""


class Entry(NamedTuple):
    """What is kept under a key.

    Attributes:
        key: its own.
        record: plain data, as JSON has it.
        files: the content of each file, by its name.
    """

    key: str
    record: Mapping[str, Any]
    files: Mapping[str, bytes]


class Summary(NamedTuple):
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
        self._unseen = 0

    def get(self, key: str) -> Entry | None:
        """The entry; None where there is none, or none that can be believed."""
        place = self._place(key)
        try:
            head, _, body = (place / RECORD).read_bytes().partition(b"\n")
            said = json.loads(head)
            if (said["format"], said["version"], said["key"]) != (FORMAT, VERSION, key):
                raise ValueError("another format or key")
            if said["checksum"] != checksum(body):
                raise ValueError("damaged")
            data = json.loads(body)
            files = {
                name: self._content(place / name, key, expected)
                for name, expected in data["files"].items()
            }
            record: Mapping[str, Any] = data["record"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            if place.exists():
                self.remove(key)  # it would be in the way of a better one
            return None
        with contextlib.suppress(OSError):
            os.utime(place)
        return Entry(key, record, files)

    def put(self, entry: Entry, *, name: str) -> None:
        """Keep an entry. What is there under its key already stays.

        Args:
            entry: what is kept.
            name: what a listing calls it.

        Raises:
            OSError: it cannot be written.
        """
        # Who only reads does without these, which take longer to load than a kernel does.
        import shutil
        import tempfile

        place = self._place(entry.key)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=place.parent))
        try:
            checksums = {name: checksum(content) for name, content in entry.files.items()}
            body = json.dumps({"files": checksums, "record": entry.record}).encode()
            head = {
                "format": FORMAT,
                "version": VERSION,
                "key": entry.key,
                "name": name,
                "checksum": checksum(body),
            }
            size = (fresh / RECORD).write_bytes(json.dumps(head).encode() + b"\n" + body)
            for file, content in entry.files.items():
                size += (fresh / file).write_bytes(_first_line(file, entry.key) + content)
            os.rename(fresh, place)
        except BaseException as error:
            shutil.rmtree(fresh, ignore_errors=True)
            if isinstance(error, OSError) and error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                return  # another process was quicker
            raise
        self._unseen += size
        if self._unseen > self.limit * _UNSEEN or entry.key.startswith("0"):
            self._unseen = 0
            self._make_room()

    def remove(self, key: str) -> None:
        """Remove an entry, if it is there."""
        import shutil

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
        return count

    def entries(self) -> list[Summary]:
        """All entries, the one that was used last first."""
        found = []
        for place, size, used in self._measured():
            try:
                with open(place / RECORD, "rb") as file:
                    name = str(json.loads(file.readline())["name"])
            except (OSError, ValueError, KeyError, TypeError):
                name = "?"
            found.append(Summary(place.name, name, size, used))
        return sorted(found, key=lambda summary: -summary.used)

    def _make_room(self) -> None:
        """Remove what was not used for longest, down to a part of the limit."""
        import filelock

        lock = filelock.FileLock(str(self.folder / "lock"), timeout=0)
        # Where another process is at it, there is nothing to do.
        with contextlib.suppress(filelock.Timeout), lock:
            found = sorted(self._measured(), key=lambda one: -one[2])
            size = sum(size for _, size, _ in found)
            if size > self.limit:
                while found and size > self.limit * _ROOM:
                    place, own, _ = found.pop()
                    self.remove(place.name)
                    size -= own
            self._sweep()

    def _measured(self) -> Iterator[tuple[Path, int, float]]:
        """Each entry's folder, size in bytes, and when it was used last."""
        for place in self.folder.glob("*/*"):
            if place.name.startswith(_UNFINISHED):
                continue
            # What is removed in this moment is not there.
            with contextlib.suppress(OSError):
                with os.scandir(place) as files:
                    size = sum(file.stat().st_size for file in files)
                yield place, size, place.stat().st_mtime

    def _sweep(self) -> None:
        """Remove what processes left that were ended in the middle."""
        import shutil

        for place in self.folder.glob(f"*/{_UNFINISHED}*"):
            with contextlib.suppress(OSError):
                if time.time() - place.stat().st_mtime > _OLD:
                    shutil.rmtree(place, ignore_errors=True)

    def _place(self, key: str) -> Path:
        return self.folder / key[:2] / key

    def _content(self, path: Path, key: str, expected: str) -> bytes:
        head, _, content = path.read_bytes().partition(b"\n")
        if head + b"\n" != _first_line(path.name, key):
            raise ValueError("another format or key")
        if checksum(content) != expected:
            raise ValueError("damaged")
        return content


def _first_line(file: str, key: str) -> bytes:
    return f"{FORMAT}, version {VERSION}, {file} of {key}\n".encode()
