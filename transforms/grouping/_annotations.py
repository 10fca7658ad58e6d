"""Annotations of groups: Python values as the text of MLIR attributes, and back."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from linalg_ext.errors import ArgumentError, ArgumentTypeError
from linalg_ext.structured.extension import SEGMENTS
from linalg_ext.structured.group import LABEL, PRESERVE, RESULT_SEGMENTS, TILING

Note: TypeAlias = "str | int | float | bool | Sequence[int]"
"""A text, a number, a list of integers; True for a word that stands alone."""

Notes: TypeAlias = tuple[tuple[str, str], ...]
"""Annotations by name, each the text of an attribute."""

UNIT = "unit"
_NAME = re.compile(r"[A-Za-z_][\w.$]*")
_INTEGERS = re.compile(r"array<i64(?:: (.*))?>")
_NUMBER = re.compile(r"(\S+) : (i64|f64)")
_ESCAPE = re.compile(rb"\\(?:(n)|(t)|([0-9A-Fa-f]{2})|(.))")
_SPECIAL = re.compile(rb'[^ -~]|["\\]')


class AttributeText(str):
    """A text that is an attribute as MLIR prints it already, such as `affine_map<(d0) -> (d0)>`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"AttributeText({str(self)!r})"


def notes_of(annotations: Mapping[str, Note] | Notes) -> Notes:
    """Return annotations as texts, in order of names; see `note_text` for its error."""
    if not isinstance(annotations, Mapping):
        annotations = {name: AttributeText(text) for name, text in annotations}
    return tuple(sorted((name, note_text(name, value)) for name, value in annotations.items()))


def note_text(name: str, value: Note) -> str:
    """Return a value as the text of an attribute.

    Raises:
        ArgumentError: it cannot be the value of an annotation of that name.
    """
    check_name(name)
    if isinstance(value, AttributeText):
        return str(value)
    _check(name, value)
    if isinstance(value, str):
        return _quoted(value)
    if value is True:
        return UNIT
    if isinstance(value, int) and value is not False:
        return f"{value} : i64"
    if isinstance(value, float):
        return f"{value:.17e} : f64"
    if isinstance(value, Sequence) and all(type(item) is int for item in value):
        return f"array<i64: {', '.join(map(str, value))}>" if value else "array<i64>"
    raise ArgumentTypeError(
        f"{name} = {value!r} is not an annotation",
        expected="a text, a number, a list of integers, or True; None takes one away",
    )


def note_of(text: str) -> Note:
    """Return the value that an annotation has by the text of its attribute.

    An attribute without a value in Python (a map, a number of another type) stays an
    `AttributeText`.
    """
    if text == UNIT:
        return True
    if len(text) > 1 and text[0] == text[-1] == '"':
        return _unquoted(text)
    if match := _INTEGERS.fullmatch(text):
        return tuple(map(int, match[1].split(","))) if match[1] else ()
    if match := _NUMBER.fullmatch(text):
        return int(match[1]) if match[2] == "i64" else _float(match[1])
    return AttributeText(text)


def annotations_text(notes: Mapping[str, str]) -> str:
    """Return annotations for people, without the label: `tiling = (8, 64), preserve`."""
    values = {name: note_of(text) for name, text in notes.items() if name != LABEL}
    return ", ".join(name if v is True else f"{name} = {_shown(v)}" for name, v in values.items())


def _shown(value: Note) -> str:
    return str(value) if isinstance(value, AttributeText) else repr(value)


def _float(text: str) -> float:
    if not text.startswith("0x"):
        return float(text)
    # MLIR prints the bits of a number that six digits do not represent.
    (value,) = struct.unpack(">d", bytes.fromhex(text[2:]))
    return float(value)


def _quoted(value: str) -> str:
    escaped = _SPECIAL.sub(lambda match: b"\\%02X" % ord(match[0]), value.encode())
    return f'"{escaped.decode()}"'


def _unquoted(text: str) -> str:
    def unescaped(match: re.Match[bytes]) -> bytes:
        newline, tab, digits, other = match.groups()
        if digits:
            return bytes([int(digits, 16)])
        return b"\n" if newline else b"\t" if tab else bytes(other)

    return _ESCAPE.sub(unescaped, text[1:-1].encode()).decode(errors="replace")


def check_name(name: str) -> None:
    """Raise ArgumentError where an annotation cannot have a name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ArgumentError(f"{name!r} cannot name an annotation", expected="a word")
    if name in (SEGMENTS, RESULT_SEGMENTS):
        raise ArgumentError(f"{name} counts operands, and is not an annotation")


def _check(name: str, value: Note) -> None:
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
