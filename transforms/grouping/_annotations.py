"""Annotations of groups: Python values as the text of MLIR attributes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from linalg_ext.errors import ArgumentError, ArgumentTypeError
from linalg_ext.structured.extension.ops import SEGMENTS
from linalg_ext.structured.group import LABEL, PRESERVE, RESULT_SEGMENTS, TILING

Note: TypeAlias = "str | int | float | bool | Sequence[int]"
"""A text, a number, a list of integers; True for a word that stands alone."""

Notes: TypeAlias = tuple[tuple[str, str], ...]
"""Annotations by name, each the text of an attribute."""

UNIT = "unit"
_NAME = re.compile(r"[A-Za-z_][\w.$]*")


class AttributeText(str):
    """A text that is an attribute as MLIR prints it already, such as `affine_map<(d0) -> (d0)>`."""

    __slots__ = ()


def notes_of(given: Mapping[str, Note] | Notes) -> Notes:
    """Annotations as texts, in order of names.

    Raises:
        ArgumentError: one has a name or a value that it cannot have.
    """
    if not isinstance(given, Mapping):
        given = {name: AttributeText(text) for name, text in given}
    return tuple(sorted((name, note_text(name, value)) for name, value in given.items()))


def note_text(name: str, value: Note) -> str:
    """A value as the text of an attribute.

    Raises:
        ArgumentError: it cannot be the value of an annotation of that name.
    """
    check_name(name)
    if isinstance(value, AttributeText):
        return str(value)
    _check(name, value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value is True:
        return UNIT
    if isinstance(value, int) and value is not False:
        return f"{value} : i64"
    if isinstance(value, float):
        return f"{value:.17e} : f64"
    if isinstance(value, Sequence) and all(type(each) is int for each in value):
        return f"array<i64: {', '.join(map(str, value))}>" if value else "array<i64>"
    raise ArgumentTypeError(
        f"{name} = {value!r} is no annotation",
        expected="a text, a number, a list of integers, or True; None takes one away",
    )


def check_name(name: str) -> None:
    """Raise ArgumentError where an annotation cannot have a name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ArgumentError(f"{name!r} cannot name an annotation", expected="a word")
    if name in (SEGMENTS, RESULT_SEGMENTS):
        raise ArgumentError(f"{name} counts operands, and is no annotation")


def _check(name: str, value: Note) -> None:
    """What groups themselves ask of some annotations."""
    if name == LABEL and not isinstance(value, str):
        raise ArgumentTypeError(f"{LABEL} = {value!r}", expected="a text")
    if name == PRESERVE and value is not True:
        raise ArgumentError(f"{PRESERVE} = {value!r}", expected="True, or None to take it away")
    if name == TILING:
        sizes = value if isinstance(value, Sequence) and not isinstance(value, str) else [-1]
        if any(type(size) is not int or size < 0 for size in sizes):
            raise ArgumentError(
                f"{TILING} = {value!r}", expected="sizes, 0 for a dimension that is not tiled"
            )
