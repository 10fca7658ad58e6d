"""The folder that compiled code is kept in, and whether it may be trusted.

Whoever can write to it decides what this process runs: it belongs to this user, and nobody else
may write to it.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path

from linalg_ext.errors import CacheError

FOLDER = "LINALG_EXT_CACHE_DIR"
"""The environment variable that names another folder; `off` keeps nothing."""

SIZE = "LINALG_EXT_CACHE_SIZE"
"""The environment variable that bounds the folder, as in `500M`, `2G` or a number of bytes."""

OFF = "off"

DEFAULT_SIZE = 1 << 30

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def chosen_folder() -> Path | None:
    """The folder to use: of the environment, else the user's own; None where it is off."""
    named = os.environ.get(FOLDER, "").strip()
    if named.lower() == OFF:
        return None
    if named:
        return Path(named).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("linalg_ext")) / "kernels"


def chosen_size() -> int:
    """How many bytes the folder may hold.

    Raises:
        CacheError: the environment says what is no size.
    """
    text = os.environ.get(SIZE, "").strip()
    if not text:
        return DEFAULT_SIZE
    match = re.fullmatch(r"(\d+)\s*([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    if match is None:
        raise CacheError(
            f"{SIZE} is {text!r}", expected="a number of bytes, or one with K, M, G or T: 500M"
        )
    return int(match[1]) * _UNITS[match[2].upper()]


def make_trusted(folder: Path) -> None:
    """Make the folder if need be, for this user alone.

    Raises:
        CacheError: somebody else could write to it, or it cannot be made or used.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise CacheError(
            f"the folder {folder} for compiled code cannot be used: {error.strerror}",
            cure=f"set {FOLDER} to a folder of your own, or to `{OFF}`",
        ) from error
    if sys.platform == "win32":  # permissions are of another kind there
        return
    if found.st_uid != os.geteuid():
        raise CacheError(
            f"the folder {folder} for compiled code belongs to another user",
            expected="a folder of your own: what lies in it is run",
            cure=f"set {FOLDER} to a folder of your own, or to `{OFF}`",
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheError(
            f"others may write to the folder {folder} for compiled code",
            expected="a folder that you alone can write to: what lies in it is run",
            cure=f"chmod go-w {folder}",
        )
