"""The store of tuning results: a JSON file of the user's, with a lock that processes share."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from linalg_ext.cache.checked import Rule, make_folders, read_file
from linalg_ext.errors import warn
from linalg_ext.target import Target, to_data
from linalg_ext.target.stored import replace_file
from linalg_ext.utils import library_version

_ENVIRONMENT = "LINALG_EXT_TUNING"
"""Names another file."""

_PATIENCE = 10.0
"""Seconds to wait for another process that writes."""

FORMAT = 1
"""The format version in the file; a file of another one is not read."""


def path() -> Path:
    """Return the file, which need not exist; `LINALG_EXT_TUNING` names another one."""
    named = os.environ.get(_ENVIRONMENT)
    return Path(named) if named else user_cache_path("linalg_ext", appauthor=False) / "tuning.json"


_RULE = Rule(
    "of tuning results",
    f"set {_ENVIRONMENT} to a file of your own",
    why="the plans in it are compiled",
    may_be_roots=True,
)


def clear() -> None:
    """Forget all that was found."""
    path().unlink(missing_ok=True)


def entries() -> Mapping[str, Any]:
    """Return everything that is remembered, by key.

    A file that cannot be read, or that others could have written, is none, with a warning.
    """
    try:
        text = read_file(path(), _RULE).decode()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        _ignored(str(error))
        return {}
    try:
        data = json.loads(text)
    except ValueError as error:
        _ignored(str(error))
        return {}
    is_ours = isinstance(data, dict) and isinstance(data.get("entries"), dict)
    if not is_ours:
        _ignored("the file holds no tuning results")
        return {}
    stored: Mapping[str, Any] = data["entries"] if data.get("format") == FORMAT else {}
    return stored


def remember(key: str, entry: Mapping[str, Any]) -> None:
    """Put an entry into the file, beside those that other processes put there meanwhile."""
    file = path()
    try:
        make_folders(file.parent)
        with FileLock(f"{file}.lock", timeout=_PATIENCE):
            all_entries = {**entries(), key: dict(entry)}
            text = json.dumps({"format": FORMAT, "entries": all_entries}, indent=1, sort_keys=True)
            replace_file(file, text + "\n")
    except (OSError, Timeout) as error:
        warn(f"tuning results are not stored: {error}", RuntimeWarning)


def key_of(target: Target, problem: str, threads: int) -> str:
    """Return an entry's key: a hash of the machine, this library's version, work and threads."""
    machine = json.dumps(to_data(target), sort_keys=True)
    named = "\n".join([machine, library_version(), problem, str(threads)])
    return hashlib.sha256(named.encode()).hexdigest()[:32]


def _ignored(why: str) -> None:
    warn(f"{path()} is ignored: {why}; lx.tuning.clear() removes it", RuntimeWarning)
