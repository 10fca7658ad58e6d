"""The folder that compiled code is kept in, and whether it may be trusted.

Whoever can write to it decides what this process runs: it belongs to this user, nobody else may
write to it, and nobody else may put another one in its place.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path

from linalg_ext.errors import CacheError, LinalgExtError

FOLDER = "LINALG_EXT_CACHE_DIR"
"""The environment variable that names another folder; `off` keeps nothing."""

SIZE = "LINALG_EXT_CACHE_SIZE"
"""The environment variable that bounds the folder, as in `500M`, `2G` or a number of bytes."""

OFF = "off"

DEFAULT_SIZE = 1 << 30

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

_CURE = f"set {FOLDER} to a folder of your own, or to `{OFF}`"


def chosen_folder(said: str | None = None) -> Path | None:
    """The folder to use; None where it is off.

    Args:
        said: what the program says; the environment's word where it says nothing, else the
            user's own.
    """
    named = os.environ.get(FOLDER, "").strip() if said is None else said
    if named.lower() == OFF:
        return None
    return Path(named).expanduser().absolute() if named else users_folder() / "kernels"


def users_folder() -> Path:
    """Where this user keeps what programs can make again."""
    # As platformdirs has it. Loading that takes longer than loading a kernel does.
    if sys.platform == "linux":
        named = os.environ.get("XDG_CACHE_HOME", "").strip()
        return (Path(named) if named else Path("~/.cache").expanduser()) / "linalg_ext"
    import platformdirs

    return Path(platformdirs.user_cache_dir("linalg_ext", appauthor=False))


def chosen_size() -> int:
    """How many bytes the folder may hold, by the environment.

    Raises:
        CacheError: the environment says what is no size.
    """
    text = os.environ.get(SIZE, "").strip()
    return parsed_size(text, SIZE) if text else DEFAULT_SIZE


def parsed_size(said: int | str, name: str) -> int:
    """A number of bytes, or a text for one.

    Raises:
        CacheError: it is none; `name` is who says it.
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


def make_trusted(folder: Path) -> None:
    """Make the folder if need be, for this user alone.

    Raises:
        CacheError: somebody else could write to it, or it cannot be made or used.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied")
    except (OSError, RuntimeError, ValueError) as error:
        raise CacheError(
            f"the folder {folder} for compiled code cannot be used: "
            f"{getattr(error, 'strerror', None) or error}",
            cure=_CURE,
        ) from error
    refuse_others(folder, "for compiled code", cure=_CURE)


def refuse_others(
    path: Path,
    what: str,
    *,
    cure: str,
    may_be_roots: bool = False,
    kind_of_error: type[LinalgExtError] = CacheError,
) -> None:
    """Raise where anybody but this user, and the administrator, can change what lies at a path.

    Args:
        path: of a file or folder.
        what: for the message, after the path.
        cure: for the message, where the place as a whole is wrong.
        may_be_roots: whether it may belong to the administrator.
        kind_of_error: to raise.

    Raises:
        CacheError: or the kind that was asked for, naming who can, and where.
    """
    if sys.platform == "win32":  # permissions are of another kind there
        return
    here = Path(os.path.realpath(path))
    for place in (here, *here.parents):
        found = place.stat()
        kind = "folder" if stat.S_ISDIR(found.st_mode) else "file"
        owners = {os.geteuid(), 0} if may_be_roots or place != here else {os.geteuid()}
        if found.st_uid not in owners:
            raise kind_of_error(
                f"the {kind} {place} {_of(place, here, what)} belongs to another user",
                expected=f"a {kind} of your own: what lies in it is run",
                cure=cure,
            )
        # Of a folder such as /tmp, nobody can rename what belongs to somebody else.
        is_sticky = place != here and found.st_mode & stat.S_ISVTX
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not is_sticky:
            raise kind_of_error(
                f"others may write to the {kind} {place} {_of(place, here, what)}",
                expected=f"a {kind} that you alone can write to: what lies in it is run",
                cure=f"chmod go-w {place}",
            )


def _of(place: Path, here: Path, what: str) -> str:
    return what if place == here else f"above {here}, {what}"
