"""Entries on disk: each a folder with a record and the files that it names.

    <folder>/v1/ab/abcdef.../record.jsonl     a line with its kind, and a line of data: the
                                              record, and the checksum of every other file
                             code.o ...       each beginning with a line with its kind
    <folder>/v1/total                         as many bytes as the entries have blocks of 4 KiB

An entry comes into being whole, by the renaming of a folder, and leaves whole; it is never changed.
Any number of processes may use one store at once. Unreadable entries are ignored, and so are those
that another user could have changed.

A user who can write to the folder chooses the code that this process runs. So it must belong to
this user, and no other user may write to it or replace it. Each time something is read or written,
every folder down to it is opened again, below the one before, and checked: see
`linalg_ext.cache.checked`. New files and folders are for this user alone.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from linalg_ext.cache.checked import Folder, Rule, open_folder
from linalg_ext.cache.keys import FORMAT, VERSION, checksum
from linalg_ext.errors import CacheError

FOLDER = "LINALG_EXT_CACHE_DIR"
"""The environment variable that names another folder; `off` keeps nothing."""

SIZE = "LINALG_EXT_CACHE_SIZE"
"""The environment variable that bounds the folder, as in `500M`, `2G` or a number of bytes."""

OFF = "off"

DEFAULT_SIZE = 1 << 30

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

_HINT = f"set {FOLDER} to a folder of your own, or to `{OFF}`"

RULE = Rule("for compiled code", _HINT)
"""The conditions on the folder, and on all files and folders in it."""


def chosen_folder(setting: str | None = None) -> Path | None:
    """The folder to use; None where it is off.

    The program's `setting` comes first, then the environment's, then the user's own folder.
    """
    text = os.environ.get(FOLDER, "").strip() if setting is None else setting
    if text.lower() == OFF:
        return None
    folder = text or f"{users_folder()}/kernels"
    working_folder = "" if folder.startswith(("/", "~")) else os.getcwd()
    return _path(folder, working_folder, os.environ.get("HOME"))


@functools.lru_cache(maxsize=8)
def _path(text: str, working_folder: str, home: str | None) -> Path:
    """Return the path that a text names; it is asked for at each look-up."""
    return Path(working_folder, os.path.expanduser(text))


def users_folder() -> str:
    """Return the folder of this user's caches; it may begin with `~`."""
    # As platformdirs has it. Loading that takes longer than loading a kernel does.
    if sys.platform == "linux":
        return f"{os.environ.get('XDG_CACHE_HOME', '').strip() or '~/.cache'}/linalg_ext"
    import platformdirs

    return str(platformdirs.user_cache_dir("linalg_ext", appauthor=False))


def chosen_size() -> int:
    """Return the number of bytes that the folder may hold, by the environment."""
    text = os.environ.get(SIZE, "").strip()
    return parsed_size(text, SIZE) if text else DEFAULT_SIZE


def parsed_size(size: int | str, name: str) -> int:
    """A number of bytes, or a text for one; a CacheError for all else, which `name` says."""
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return size
    match = isinstance(size, str) and re.fullmatch(
        r"(\d+)\s*([KMGT]?)(?:i?B)?", size.strip(), re.IGNORECASE
    )
    if not match:
        raise CacheError(
            f"{name} is {size!r}", expected="a number of bytes, or one with K, M, G or T: 500M"
        )
    return int(match[1]) * _UNITS[match[2].upper()]


def opened(folder: Path) -> Folder:
    """Open the folder for compiled code, made for this user alone where it is missing.

    A CacheError where another user could write to it, or it cannot be made or used.
    """
    try:
        return open_folder(folder, RULE, make=True)
    except CacheError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise _unusable(folder, error) from error


def require_usable(folder: Path) -> None:
    """Raise a CacheError where `opened` does not open a folder, or nothing could be kept in it."""
    with opened(folder) as root:
        if not os.access(".", os.R_OK | os.W_OK | os.X_OK, dir_fd=root.descriptor):
            error = PermissionError(errno.EACCES, "Permission denied")
            raise _unusable(folder, error) from error


def _unusable(folder: Path, error: Exception) -> CacheError:
    return CacheError(
        f"the folder {folder} for compiled code cannot be used: "
        f"{getattr(error, 'strerror', None) or error}",
        hint=_HINT,
    )


RECORD = "record.jsonl"

_FOLDER = f"v{VERSION}"

_UNFINISHED = ".new-"
_OLD = 3600.0
"""Seconds after which an unfinished folder counts as left by a process that has ended."""

_ROOM = 0.9
"""Part of the limit that stays in use after entries were removed from a full store."""

_TOTAL = "total"
"""The file whose length is that of all entries, in blocks: to measure each of them takes long."""

_BLOCK = 1 << 12


class Entry(NamedTuple):
    """The content of the cache under one key: plain data, as in JSON, and files by name."""

    key: str
    record: Mapping[str, Any]
    files: Mapping[str, bytes]


class Summary(NamedTuple):
    """An entry as a listing shows it.

    Attributes:
        size: in bytes, of all its files.
        used: when it was last read or written, in seconds since 1970.
    """

    key: str
    name: str
    size: int
    used: float


class Store:
    """Entries in a folder.

    A folder that others could change is a `CacheError`, from every method; such an entry is
    removed, and counts as absent.

    Attributes:
        root: the folder.
        folder: the folder of the entries in it.
        limit: the bytes that the entries may take; the least recently used go first.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.root = folder
        self.folder = folder / _FOLDER
        self.limit = limit

    def get(self, key: str) -> Entry | None:
        """Return the entry; None if it is absent or damaged."""
        try:
            with opened(self.root) as root, root.folder(_shelf(key)) as shelf:
                try:
                    entry = _read(shelf, key)
                except FileNotFoundError:
                    if not shelf.has(key):
                        return None
                    entry = None
                except (OSError, ValueError, KeyError, TypeError, AttributeError):
                    entry = None
                if entry is None:
                    _remove(shelf, key)  # it would be in the way of a better one
                    return None
                with contextlib.suppress(OSError):
                    os.utime(key, dir_fd=shelf.descriptor, follow_symlinks=False)
                return entry
        except (FileNotFoundError, NotADirectoryError):
            return None

    def put(self, entry: Entry, *, name: str) -> None:
        """Keep an entry, by a name for listings. An entry that is there under its key stays."""
        with (
            opened(self.root) as root,
            root.folder(_FOLDER, make=True) as top,
            top.folder(entry.key[:2], make=True) as shelf,
        ):
            size = _write(shelf, entry, name)
            if not size:
                return  # another process was quicker
            total = top.extend(_TOTAL, _blocks(size))
            if total is None or total * _BLOCK > self.limit:
                self._make_room(top)

    def remove(self, key: str) -> None:
        """Remove an entry, if it is there."""
        absent = contextlib.suppress(FileNotFoundError, NotADirectoryError)
        with absent, opened(self.root) as root, root.folder(_shelf(key)) as shelf:
            _remove(shelf, key)

    def clear(self) -> int:
        """Remove all entries; returns how many there were."""
        summaries = self.entries()
        for summary in summaries:
            self.remove(summary.key)
        return len(summaries)

    def entries(self) -> list[Summary]:
        """Return all entries, the one that was used last first."""
        summaries = []
        for shelf, key, size, used in self._measured():
            try:
                with shelf.folder(key) as entry:
                    name = str(json.loads(entry.read(RECORD).partition(b"\n")[0])["name"])
            except (OSError, ValueError, KeyError, TypeError):
                name = "?"
            summaries.append(Summary(key, name, size, used))
        return sorted(summaries, key=lambda summary: -summary.used)

    def _make_room(self, top: Folder) -> None:
        """Remove the least recently used entries, down to a part of the limit."""
        import fcntl

        try:
            fcntl.flock(top.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return  # another process removes entries
        before = top.extend(_TOTAL, 0) or 0
        entries = sorted((entry[1:] for entry in self._measured()), key=lambda entry: -entry[2])
        size = sum(size for _, size, _ in entries)
        if size > self.limit:
            while entries and size > self.limit * _ROOM:
                key, own, _ = entries.pop()
                self.remove(key)
                size -= own
        # Others may have written entries meanwhile.
        top.resize(_TOTAL, _blocks(size) + (top.extend(_TOTAL, 0) or 0) - before)
        self._sweep()

    def _shelves(self) -> Iterator[Folder]:
        """Yield each folder of entries, open until the next is asked for."""
        try:
            with opened(self.root) as root, root.folder(_FOLDER) as top:
                for name in os.listdir(top.descriptor):
                    # A file, or a folder that another process removes, holds no entries.
                    absent = contextlib.suppress(FileNotFoundError, NotADirectoryError)
                    with absent, top.folder(name) as shelf:
                        yield shelf
        except FileNotFoundError:
            return

    def _measured(self) -> Iterator[tuple[Folder, str, int, float]]:
        """Yield each entry: the open folder that it is in, its key, size in bytes, and last use."""
        for shelf in self._shelves():
            for key in os.listdir(shelf.descriptor):
                if key.startswith(_UNFINISHED):
                    continue
                # An entry that is being removed counts as absent, and one that others could change.
                with contextlib.suppress(OSError), shelf.folder(key) as entry:
                    descriptor = entry.descriptor
                    size = sum(
                        os.stat(file, dir_fd=descriptor, follow_symlinks=False).st_size
                        for file in os.listdir(descriptor)
                    )
                    yield shelf, key, size, os.fstat(descriptor).st_mtime

    def _sweep(self) -> None:
        """Remove the unfinished folders of processes that have ended."""
        import shutil

        for shelf in self._shelves():
            for name in os.listdir(shelf.descriptor):
                if not name.startswith(_UNFINISHED):
                    continue
                with contextlib.suppress(OSError):
                    status = os.stat(name, dir_fd=shelf.descriptor, follow_symlinks=False)
                    if time.time() - status.st_mtime > _OLD:
                        shutil.rmtree(name, ignore_errors=True, dir_fd=shelf.descriptor)


class Memory:
    """Entries of a process that reads and writes no store on disk.

    Attributes:
        fresh: the entries that were put since the last look, each with its name.
    """

    def __init__(self) -> None:
        self.fresh: list[tuple[Entry, str]] = []
        self._entries: dict[str, Entry] = {}

    def get(self, key: str) -> Entry | None:
        """Return the entry; None if absent."""
        return self._entries.get(key)

    def hold(self, entry: Entry) -> None:
        """Add an entry that another process put."""
        self._entries[entry.key] = entry

    def put(self, entry: Entry, *, name: str) -> None:
        """Keep an entry, by a name for listings."""
        self._entries[entry.key] = entry
        self.fresh.append((entry, name))

    def remove(self, key: str) -> None:
        """Remove an entry, if it is there."""
        self._entries.pop(key, None)


def _blocks(size: int) -> int:
    return -(-size // _BLOCK)


def _shelf(key: str) -> str:
    """The folder of the entries whose keys begin alike."""
    return f"{_FOLDER}/{key[:2]}"


def _read(shelf: Folder, key: str) -> Entry:
    """Read an entry.

    Raises:
        OSError, ValueError, KeyError, TypeError, AttributeError: the entry is absent, damaged, or
            writable by other users.
    """
    with shelf.folder(key) as folder:
        head, _, body = folder.read(RECORD).partition(b"\n")
        header = json.loads(head)
        if (header["format"], header["version"], header["key"]) != (FORMAT, VERSION, key):
            raise ValueError("the record has another format or key")
        if header["checksum"] != checksum(body):
            raise ValueError("damaged")
        data = json.loads(body)
        files = {
            name: _content(folder, name, key, expected) for name, expected in data["files"].items()
        }
    record: Mapping[str, Any] = data["record"]
    return Entry(key, record, files)


def _content(folder: Folder, name: str, key: str, expected: str) -> bytes:
    head, _, content = folder.read(name).partition(b"\n")
    if head + b"\n" != _first_line(name, key):
        raise ValueError("the record has another format or key")
    if checksum(content) != expected:
        raise ValueError("damaged")
    return content


def _write(shelf: Folder, entry: Entry, name: str) -> int:
    """Write an entry; returns its size in bytes, 0 if the store has one under its key."""
    checksums = {name: checksum(content) for name, content in entry.files.items()}
    body = json.dumps({"files": checksums, "record": entry.record}).encode()
    head = {
        "format": FORMAT,
        "version": VERSION,
        "key": entry.key,
        "name": name,
        "checksum": checksum(body),
    }
    contents = {RECORD: json.dumps(head).encode() + b"\n" + body}
    for file, content in entry.files.items():
        contents[file] = _first_line(file, entry.key) + content
    descriptor = shelf.descriptor
    unfinished = _unfinished_name()
    try:
        with shelf.folder(unfinished, make=True) as folder:
            for file, content in contents.items():
                folder.write(file, content)
        os.rename(unfinished, entry.key, src_dir_fd=descriptor, dst_dir_fd=descriptor)
    except BaseException as error:
        import shutil

        shutil.rmtree(unfinished, ignore_errors=True, dir_fd=descriptor)
        if isinstance(error, OSError) and error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            return 0
        raise
    return sum(map(len, contents.values()))


def _remove(shelf: Folder, key: str) -> None:
    import shutil

    # The entry is renamed first, so that no reader sees a part of it.
    descriptor = shelf.descriptor
    removed = _unfinished_name()
    with contextlib.suppress(OSError):
        os.rename(key, removed, src_dir_fd=descriptor, dst_dir_fd=descriptor)
        shutil.rmtree(removed, ignore_errors=True, dir_fd=descriptor)


def _unfinished_name() -> str:
    return f"{_UNFINISHED}{os.urandom(8).hex()}"


def _first_line(file: str, key: str) -> bytes:
    return f"{FORMAT}, version {VERSION}, {file} of {key}\n".encode()
