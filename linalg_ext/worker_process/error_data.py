"""Errors as plain data, to be raised again in another process."""

from __future__ import annotations

import traceback
from typing import Any

from linalg_ext import errors
from linalg_ext.errors import CrashError, IRError, LinalgExtError

Plain = dict[str, Any]


def to_data(error: BaseException) -> Plain:
    """An error as JSON can hold it."""
    if not isinstance(error, LinalgExtError):
        trace = "".join(traceback.format_exception(error)).splitlines()
        return {"class": None, "what": f"{type(error).__name__}: {error}", "notes": trace}
    return {
        "class": type(error).__name__,
        "what": error.what,
        "where": None if error.where is None else str(error.where),
        "expected": error.expected,
        "hint": error.hint,
        "notes": list(error.notes),
    }


def from_data(data: Plain) -> LinalgExtError:
    """The error again, of its own class."""
    kind = getattr(errors, data["class"] or "", None)
    if not (isinstance(kind, type) and issubclass(kind, LinalgExtError)):
        return CrashError(f"a worker process failed with {data['what']}", notes=data["notes"])
    if issubclass(kind, errors.RecognitionError):
        kind = IRError  # what else it carries does not travel
    more = {"diagnostics" if issubclass(kind, IRError) else "notes": data["notes"]}
    return kind(
        data["what"],
        where=data["where"],
        expected=data["expected"],
        hint=data["hint"],
        **more,
    )
