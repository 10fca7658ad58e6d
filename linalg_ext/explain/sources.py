"""The lines of the sources that the ops of a module come of, as one text beside its stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linalg_ext.explain.located_text import LocatedText, Place
from linalg_ext.explain.syntax import MLIR, PYTHON, Language

UNNAMED = "-"
"""MLIR's name of a text that it did not read from a file."""

_AROUND = 2
_MOST_LINES = 2000


@dataclass(frozen=True)
class Sources:
    """Parts of files, one after another.

    Attributes:
        text: the lines; each comes of itself.
        numbers: of each in its file; 0 of those that name a file.
        language: that most of it is in.
    """

    text: LocatedText
    numbers: tuple[int, ...]
    language: Language


def sources_of(places: Sequence[Place], text: str = "", filename: str = "") -> Sources | None:
    """Return the sources of some places, or None where there are none to show.

    A file is shown from 2 lines before its first place to 2 lines after its last, and about 2000
    lines at most.

    Args:
        places: sorted.
        text: the text that the module was parsed from: the source of places in a text without a
            name.
        filename: the name to show for that text.
    """
    lines: list[str] = []
    numbers: list[int] = []
    own: list[tuple[Place, ...]] = []
    known = set(places)
    files = list(dict.fromkeys(place.file for place in places))
    for file in files:
        content = text if file == UNNAMED else _read(file)
        wanted = [place.line for place in places if place.file == file]
        found = content.splitlines()
        first = max(1, min(wanted) - _AROUND)
        last = min(len(found), max(wanted) + _AROUND, first + _MOST_LINES - 1)
        if max(wanted) > len(found):
            continue  # it is no longer the file that it was
        name = (filename or "module") if file == UNNAMED else file
        lines += [f"{'//' if file == UNNAMED else '#'} {name}", *found[first - 1 : last]]
        numbers += [0, *range(first, last + 1)]
        all_own = ((Place(file, line),) for line in range(first, last + 1))
        own += [(), *(each if each[0] in known else () for each in all_own)]
    if not lines:
        return None
    language = MLIR if files == [UNNAMED] else PYTHON
    return Sources(LocatedText(tuple(lines), {}, tuple(own)), tuple(numbers), language)


def _read(file: str) -> str:
    """A file of Python; nothing if it is not one, or is gone."""
    path = Path(file)
    try:
        return path.read_text(encoding="utf-8") if path.suffix == ".py" else ""
    except (OSError, ValueError):
        return ""
