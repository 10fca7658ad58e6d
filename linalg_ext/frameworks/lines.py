"""The line of a user's program that an error of a framework comes from."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from linalg_ext.errors import SourceLocation

_OWN = Path(__file__).parents[1]
_PYTHON = Path(sysconfig.get_path("stdlib"))


def line_of_error(error: BaseException, packages: Sequence[ModuleType]) -> SourceLocation | None:
    """The last line that ran outside of these packages, of this library and of Python's own."""
    folders = [Path(each.__file__).parent for each in packages if each.__file__]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        is_others = any(path.is_relative_to(folder) for folder in (*folders, _OWN))
        if not is_others and frame.filename[:1] != "<" and path.parent != _PYTHON:
            return SourceLocation(frame.filename, frame.lineno or 0, frame.name)
    return None
