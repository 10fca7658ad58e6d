"""The folder that compiled code is kept in, and whether it may be trusted.

A user who can write to the folder decides what this process runs. So it must belong to this user,
and no other user may write to it or replace it.
"""

from __future__ import annotations

import errno
import functools
import os
import re
import sys
from pathlib import Path

from linalg_ext.cache.checked import Folder, Rule, open_folder
from linalg_ext.errors import CacheError

FOLDER = "LINALG_EXT_CACHE_DIR"
"""The environment variable that names another folder; `off` keeps nothing."""

SIZE = "LINALG_EXT_CACHE_SIZE"
"""The environment variable that bounds the folder, as in `500M`, `2G` or a number of bytes."""

OFF = "off"

DEFAULT_SIZE = 1 << 30

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

_CURE = f"set {FOLDER} to a folder of your own, or to `{OFF}`"

RULE = Rule("for compiled code", _CURE)
"""The conditions on the folder, and on all files and folders in it."""


def chosen_folder(said: str | None = None) -> Path | None:
    """The folder to use; None where it is off.

    Args:
        said: what the program says; the environment's word where it says nothing, else the
            user's own.
    """
    named = os.environ.get(FOLDER, "").strip() if said is None else said
    if named.lower() == OFF:
        return None
    place = named or f"{users_folder()}/kernels"
    here = "" if place.startswith(("/", "~")) else os.getcwd()
    return _path(place, here, os.environ.get("HOME"))


@functools.lru_cache(maxsize=8)
def _path(place: str, here: str, home: str | None) -> Path:
    """Return the path that a text names; it is asked for at each look-up."""
    return Path(here, os.path.expanduser(place))


def users_folder() -> str:
    """Return the folder of this user's caches; it may begin with `~`."""
    # As platformdirs has it. Loading that takes longer than loading a kernel does.
    if sys.platform == "linux":
        return f"{os.environ.get('XDG_CACHE_HOME', '').strip() or '~/.cache'}/linalg_ext"
    import platformdirs

    return str(platformdirs.user_cache_dir("linalg_ext", appauthor=False))


def chosen_size() -> int:
    """Return the number of bytes that the folder may hold, by the environment.

    Raises:
        CacheError: the value in the environment is no size.
    """
    text = os.environ.get(SIZE, "").strip()
    return parsed_size(text, SIZE) if text else DEFAULT_SIZE


def parsed_size(said: int | str, name: str) -> int:
    """A number of bytes, or a text for one.

    Raises:
        CacheError: it is not one; `name` is who says it.
    """
    if isinstance(said, int) and not isinstance(said, bool) and said >= 0:
        return said
    match = isinstance(said, str) and re.fullmatch(
        r"(\d+)\s*([KMGT]?)(?:i?B)?", said.strip(), re.IGNORECASE
    )
    if not match:
        raise CacheError(
            f"{name} is {said!r}", expected="a number of bytes, or one with K, M, G or T: 500M"
        )
    return int(match[1]) * _UNITS[match[2].upper()]


def opened(folder: Path) -> Folder:
    """Open the folder for compiled code, made for this user alone where it is missing.

    Raises:
        CacheError: another user could write to it, or it cannot be made or used.
    """
    try:
        return open_folder(folder, RULE, make=True)
    except CacheError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise _unusable(folder, error) from error


def require_usable(folder: Path) -> None:
    """Refuse a folder that `opened` does not open, or that nothing could be kept in.

    Raises:
        CacheError: it is such a folder.
    """
    with opened(folder) as found:
        if not os.access(".", os.R_OK | os.W_OK | os.X_OK, dir_fd=found.descriptor):
            error = PermissionError(errno.EACCES, "Permission denied")
            raise _unusable(folder, error) from error


def _unusable(folder: Path, error: Exception) -> CacheError:
    return CacheError(
        f"the folder {folder} for compiled code cannot be used: "
        f"{getattr(error, 'strerror', None) or error}",
        hint=_CURE,
    )
