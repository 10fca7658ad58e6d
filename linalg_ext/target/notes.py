"""Notes in a description of a machine: what one pass leaves there for later ones.

    with lx.target.using("host"):
        lx.target.leave_note("outlining.largest_tile", (8, 64))
        lx.target.current().note("outlining.largest_tile", tuple)       # (8, 64)
    print(lx.target.current())      # notes are part of the table, and of what is saved

A note has a name, `who.what`, and a value of one type: a truth value, a whole number, a number, a
text, or a tuple of whole numbers. It is good until the end of the `using` block it was left in.
"""

from __future__ import annotations

import re
from typing import TypeVar

from linalg_ext.errors import TargetError

NoteValue = bool | int | float | str | tuple[int, ...]
"""The value of a note."""

Notes = tuple[tuple[str, NoteValue], ...]
"""Notes by name, in the order of their names."""

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_KINDS = (bool, int, float, str, tuple)

_Kind = TypeVar("_Kind", bool, int, float, str, tuple[int, ...])


def with_note(notes: Notes, name: str, value: NoteValue | None) -> Notes:
    """Notes with one more, or with another value of it; None takes it away.

    Raises:
        TargetError: that is no name, or no value, of a note.
    """
    if value is not None:
        check_note(name, value)
    kept = {known: old for known, old in notes if known != name}
    return tuple(sorted({**kept, **({} if value is None else {name: value})}.items()))


def check_note(name: object, value: object) -> None:
    """Raise TargetError unless the name and the value are those of a note."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise TargetError(
            f"{name!r} cannot name a note", expected="who and what, such as `fusion.tile_bytes`"
        )
    is_tuple = isinstance(value, tuple) and all(type(each) is int for each in value)
    if not is_tuple and type(value) not in (bool, int, float, str):
        raise TargetError(
            f"the note {name} says {value!r}",
            expected="a truth value, a number, a text, or a tuple of whole numbers",
        )


def note(notes: Notes, name: str, kind: type[_Kind]) -> _Kind | None:
    """Return the value of a note; None if no note has that name.

    Raises:
        TargetError: its value is of another type.
    """
    if kind not in _KINDS:
        names = ", ".join(each.__name__ for each in _KINDS)
        raise TargetError(f"a note cannot be of type {kind!r}", expected=f"one of {names}")
    for known, value in notes:
        if known == name:
            if type(value) is not kind:
                raise TargetError(
                    f"the note {name} says {value!r}, of type {type(value).__name__}",
                    expected=f"one of type {kind.__name__}",
                )
            return value
    return None
