"""The record of an exported kernel, `kernel.json`: it says what it is, and whether it is whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from linalg_ext.cache.keys import checksum
from linalg_ext.errors import ExportError

FORMAT = "linalg_ext exported kernel"
VERSION = 1
"""The version of the record and of its files. Those of another version are not read."""

RECORD = "kernel.json"

Data = dict[str, Any]


def sealed(kernel: Mapping[str, Any]) -> str:
    """The text of a record."""
    checked = checksum(_canonical(kernel))
    whole = {"format": FORMAT, "version": VERSION, "checksum": checked, "kernel": kernel}
    return json.dumps(whole, indent=1) + "\n"


def opened(text: bytes, where: str) -> Data:
    """Return the data of a kernel from a record that `sealed` wrote.

    Raises:
        ExportError: the record is of another kind or version, or damaged.
    """
    try:
        whole = json.loads(text)
        found, version = whole["format"], whole["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        found, version = None, None
    if found != FORMAT:
        raise ExportError(
            f"{RECORD} is no record of an exported kernel",
            where=where,
            expected="a folder that Kernel.export wrote",
        )
    if version != VERSION:
        raise ExportError(
            f"the kernel was exported in version {version!r} of the format",
            where=where,
            expected=f"version {VERSION}",
            hint="export it again with this version of linalg_ext",
        )
    kernel: Data | None = whole.get("kernel")
    if not isinstance(kernel, dict) or whole.get("checksum") != checksum(_canonical(kernel)):
        raise damaged(RECORD, where)
    return kernel


def damaged(file: str, where: str) -> ExportError:
    """The error for a file that is not as it was written."""
    return ExportError(
        f"{file} is not as it was written", where=where, hint="copy the folder, or export it, again"
    )


def _canonical(kernel: Mapping[str, Any]) -> bytes:
    return json.dumps(kernel, sort_keys=True, separators=(",", ":")).encode()
