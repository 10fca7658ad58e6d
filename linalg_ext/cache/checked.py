"""Files that no other user can change: opened level by level, each level checked as it is opened.

Every folder on the way to a file is opened below the one before it (`openat`). Its owner and its
mode are then read from the open descriptor (`fstat`), so that the checked file is the one that is
used, whatever becomes of the names meanwhile. A link is followed where no other user could have put
it there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import NamedTuple

from linalg_ext.errors import CacheError, LinalgExtError

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A folder on the way need not be readable.
_PASSED = _FOLDER | int(getattr(os, "O_PATH", getattr(os, "O_SEARCH", 0)))
# A pipe in the place of a file is not waited for.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_MADE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_APPENDED = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC

_OF_LINKS = (errno.ENOTDIR, errno.ELOOP, errno.EMLINK)
"""Error numbers of opening a symbolic link with a flag that forbids to follow it."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MOST_LINKS = 40


class Rule(NamedTuple):
    """The conditions on a file or folder, and the words of the error where one fails.

    Attributes:
        purpose: the use of the path, which messages state after it.
        hint: for messages about a path that belongs to another user.
        why: the reason why no other user may write to it.
        may_be_roots: whether it may belong to the administrator, as all that is above it may.
        error: the kind to raise.
    """

    purpose: str
    hint: str
    why: str = "the code in it is run"
    may_be_roots: bool = False
    error: type[LinalgExtError] = CacheError


class Folder:
    """A folder that is open, and was checked; a context manager that closes it.

    Files and folders that it opens must keep the rule at every level.

    Attributes:
        path: the path that it was opened by, for messages.
        descriptor: the system's, for calls with `dir_fd=`.
    """

    def __init__(self, descriptor: int, path: str, rule: Rule) -> None:
        """Made by `open_folder`."""
        self.descriptor = descriptor
        self.path = path
        self._rule = rule

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)

    def folder(self, name: str, *, make: bool = False) -> Folder:
        """A folder below it, as `open_folder` opens one."""
        descriptor, path = _opened(self.path, name, self._rule, below=self.descriptor, make=make)
        return Folder(descriptor, path, self._rule)

    def read(self, name: str) -> bytes:
        """Read a file below it, as `read_file` does."""
        return _content(*_opened(self.path, name, self._rule, below=self.descriptor, is_file=True))

    def has(self, name: str) -> bool:
        """Return whether there is something below it of that name."""
        try:
            os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def write(self, name: str, content: bytes) -> None:
        """Write a new file in it, for this user alone; an OSError where it is there already."""
        descriptor = os.open(name, _MADE, 0o600, dir_fd=self.descriptor)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)

    def extend(self, name: str, count: int) -> int | None:
        """Append bytes of 0 to a file in it; returns its new length, None if it is absent."""
        try:
            descriptor = os.open(name, _APPENDED, dir_fd=self.descriptor)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "ab") as file:
            file.write(bytes(count))
            file.flush()
            return os.fstat(descriptor).st_size

    def resize(self, name: str, length: int) -> None:
        """Cut or fill up a file in it with bytes of 0, made for this user alone where absent."""
        descriptor = os.open(name, _APPENDED | os.O_CREAT, 0o600, dir_fd=self.descriptor)
        try:
            os.ftruncate(descriptor, length)
        finally:
            os.close(descriptor)


def open_folder(path: str | os.PathLike[str], rule: Rule, *, make: bool = False) -> Folder:
    """Open a folder that no other user can change, or put another one in the place of.

    Args:
        path: of it.
        rule: that it must keep. The folders above it may be the administrator's, and where it is
            sticky, as `/tmp` is, others may write to it.
        make: whether to make its missing folders, for this user alone.

    Raises:
        CacheError: or the kind that the rule names, saying who could change it, and where.
        OSError: it is not there, cannot be made, or is not a folder.
    """
    return Folder(*_opened("", _absolute(path), rule, make=make), rule)


def make_folders(path: str | os.PathLike[str], mode: int = 0o700) -> None:
    """Make the missing folders of a path, of a mode that the umask does not widen."""
    folder = os.path.abspath(path)
    if not os.path.isdir(folder):
        make_folders(os.path.dirname(folder), mode)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, mode)


def read_file(path: str | os.PathLike[str], rule: Rule) -> bytes:
    """Read a file that no other user can change or replace; errors are those of `open_folder`."""
    return _content(*_opened("", _absolute(path), rule, is_file=True))


def _absolute(path: str | os.PathLike[str]) -> str:
    # Not `abspath`: after a link, `..` leads elsewhere than the text says.
    text = os.fspath(path)
    return text if text.startswith("/") else os.path.join(os.getcwd(), text)


def _opened(
    reached: str,
    path: str,
    rule: Rule,
    *,
    below: int | None = None,
    make: bool = False,
    is_file: bool = False,
) -> tuple[int, str]:
    """Go down a path; returns the descriptor of its end, and the path without links.

    Args:
        reached: the folder to begin in.
        path: from there; one that begins with a slash begins at the root of the system.
        rule: the rule that the end of the path must keep.
        below: the descriptor of the place, all of which must keep the rule; None for the root.
        make: whether to make folders that are missing.
        is_file: whether the path leads to a file, which is opened for reading.
    """
    shown_path = f"{reached}/{path}" if below is not None else path
    names = _parts(path)
    is_strict = below is not None
    links = 0
    current = os.open("/", _PASSED) if below is None else below
    try:
        if below is None:
            _check(os.fstat(current), "/", rule, shown_path, is_ours=not names)
        while names:
            name = names.pop()
            is_last = not names
            where = f"{reached}/{name}"
            flags = _PASSED if not is_last else _READ if is_file else _FOLDER
            try:
                descriptor = os.open(name, flags, dir_fd=current)
            except OSError as error:
                if error.errno == errno.ENOENT and make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, 0o700, dir_fd=current)
                    names.append(name)
                    continue
                if error.errno not in _OF_LINKS:
                    raise
                links += 1
                target = _link(name, current, where, rule, shown_path)
                if target is None or links > _MOST_LINKS:
                    raise
                names += _parts(target)
                if not target.startswith("/"):
                    continue
                descriptor, where, is_last, is_strict = os.open("/", _PASSED), "", not names, False
            if current != below:
                os.close(current)
            current, reached = descriptor, where
            _check(
                os.fstat(current), reached or "/", rule, shown_path, is_ours=is_last or is_strict
            )
        return current, reached or "/"
    except BaseException:
        if current != below:
            os.close(current)
        raise


def _parts(path: str) -> list[str]:
    """Return the names in a path, the first one last."""
    if "/" not in path:
        return [path]
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _link(name: str, folder: int, path: str, rule: Rule, shown_path: str) -> str | None:
    """Return the target of a link of this user or the administrator; None for no link.

    No other user can change it meanwhile: the folder that it is in was checked, and where others
    may write to that, it is sticky.
    """
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISLNK(status.st_mode):
        return None
    if status.st_uid not in (os.geteuid(), 0):
        raise rule.error(
            f"the link {path} {_of(path, shown_path, rule)} belongs to another user",
            expected=f"a link of your own: {rule.why}",
            hint=rule.hint,
        )
    return os.readlink(name, dir_fd=folder)


def _check(
    status: os.stat_result, path: str, rule: Rule, shown_path: str, *, is_ours: bool
) -> None:
    """Raise if another user than this one and the administrator can change the opened place."""
    user = os.geteuid()
    if status.st_uid != user and (status.st_uid != 0 or (is_ours and not rule.may_be_roots)):
        kind = _kind(status)
        raise rule.error(
            f"the {kind} {path} {_of(path, shown_path, rule)} belongs to another user",
            expected=f"a {kind} of your own: {rule.why}",
            hint=rule.hint,
        )
    # In a folder such as /tmp, no user can rename files of another one.
    is_sticky = not is_ours and status.st_mode & stat.S_ISVTX
    if status.st_mode & _OTHERS_WRITE and not is_sticky:
        kind = _kind(status)
        raise rule.error(
            f"the {kind} {path} {_of(path, shown_path, rule)} is writable by other users",
            expected=f"a {kind} that you alone can write to: {rule.why}",
            hint=f"chmod go-w {path}",
        )


def _kind(status: os.stat_result) -> str:
    return "folder" if stat.S_ISDIR(status.st_mode) else "file"


def _of(path: str, shown_path: str, rule: Rule) -> str:
    return rule.purpose if path == shown_path else f"on the way to {shown_path}, {rule.purpose}"


def _content(descriptor: int, path: str) -> bytes:
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        content = os.read(descriptor, status.st_size)
        # One call gives no more than 2 GiB.
        while len(content) < status.st_size and (more := os.read(descriptor, status.st_size)):
            content += more
        return content
    finally:
        os.close(descriptor)
