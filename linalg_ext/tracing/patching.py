"""Functions of modules, replaced while a function is recorded."""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from linalg_ext.utils.locks import Lock

Place = tuple[Any, str, Callable[[Any], Any]]
"""A module, a name in it, and what makes the replacement of the original."""


class Replacements:
    """Replacements that are in place as long as one thread or several record.

    Other threads see them, too: each asks whether its own thread records.
    """

    def __init__(self, places: Callable[[], Iterable[Place]]) -> None:
        self._places = places
        self._lock = Lock()
        self._recordings = 0
        self._originals: list[tuple[Any, str, Any]] = []

    @contextmanager
    def made(self) -> Iterator[None]:
        """Replace the functions in the block under `with`."""
        with self._lock:
            self._recordings += 1
            if self._recordings == 1:
                for module, name, replace in self._places():
                    original = getattr(module, name)
                    self._originals.append((module, name, original))
                    setattr(module, name, replace(original))
        try:
            yield
        finally:
            with self._lock:
                self._recordings -= 1
                if not self._recordings:
                    for module, name, original in self._originals:
                        setattr(module, name, original)
                    self._originals.clear()


def package_of(frame: types.FrameType) -> str:
    """Return the name of the top package whose code a frame runs."""
    return str(frame.f_globals.get("__name__", "")).split(".")[0]


def is_call_of(frame: types.FrameType, name: str) -> bool:
    """Return True where Python code in a frame calls an attribute of a name: `np.zeros(3)`.

    Code of C that it calls may call the same function, and has the same frame.
    """
    return _attribute_called(frame.f_code, frame.f_lasti) == name


@lru_cache(maxsize=1024)
def _attribute_called(code: types.CodeType, at: int) -> str | None:
    """The attribute that an instruction calls: the longest one that begins where the call does."""
    call = list(code.co_positions())[at // 2]
    if call[0] is None or call[2] is None:
        return None
    found: tuple[tuple[int, int], str | None] = ((-1, -1), None)
    for each in dis.get_instructions(code):
        place = each.positions
        if each.opname not in ("LOAD_ATTR", "LOAD_METHOD") or place is None:
            continue
        if (place.lineno, place.col_offset) == (call[0], call[2]):
            end = place.end_lineno or 0, place.end_col_offset or 0
            if found[0] < end <= (call[1] or 0, call[3] or 0):
                found = end, each.argval
    return found[1]
