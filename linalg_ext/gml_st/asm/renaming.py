"""New names for values of several bodies that become one.

    acc (%new, %old: T) { %s = ... %new ... } ..., acc (%new, %old: T) { %s = ... %new ... }

In one block each name stands for one value: `%new`, `%old` and `%s` of the second body get names of
their own. What a body takes from outside keeps its name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from linalg_ext.gml_st.asm.op_reader import Reading
from linalg_ext.notations.mlir_text import Reader

_NAME = re.compile(r"%[\w$.-]+")
_NOT_CODE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*')
_LIST = r"((?:%[\w$.-]+(?::\d+)?\s*,\s*)*%[\w$.-]+(?::\d+)?)\s*"
_DEFINED = re.compile(rf"{_LIST}\)?\s*=(?!=)|\({_LIST}\)\s*in\b")
_LABEL = re.compile(r"\^[\w$.-]+\s*(?=\()")
_ARGUMENTS = re.compile(r"(\w*)\s*\((\s*%[^()]*)\)\s*\{")
_TYPED = re.compile(r"(%[\w$.-]+)\s*(?:,\s*%[\w$.-]+\s*)*:")
_USES = frozenset(("ins", "outs", "inits"))


def rename_locals(reading: Reading, bodies: Sequence[tuple[int, int]]) -> None:
    """Give the values of each body but the first names that no other body has.

    Args:
        reading: the text; it is changed.
        bodies: from the first argument of each to behind its last brace.
    """
    if len(bodies) < 2:
        return
    text = _NOT_CODE.sub(lambda found: " " * len(found[0]), reading.source.text)
    names = set(_NAME.findall(text))
    taken = set(_NAME.findall(text, *bodies[0]))
    for number, (start, end) in enumerate(bodies[1:], start=2):
        own = _locals(reading, text, start, end)
        new: dict[str, str] = {}
        for name in sorted(own & taken):
            new[name] = _unused(name, number, names)
            names.add(new[name])
        for found in _NAME.finditer(text, start, end):
            if found[0] in new:
                reading.change(found.start(), found.end(), [new[found[0]]])
        taken |= set(_NAME.findall(text, start, end))


def _unused(name: str, number: int, names: set[str]) -> str:
    # A name that begins with a digit has nothing but digits.
    stem = f"%v{name[1:]}" if name[1:2].isdigit() else name
    new = f"{stem}_{number}"
    while new in names:
        new += "_"
    return new


def _locals(reading: Reading, text: str, start: int, end: int) -> set[str]:
    """The names that a body defines: its two arguments, results, arguments of blocks inside."""
    found = set(_NAME.findall(text[start : text.index(":", start)]))
    for match in _DEFINED.finditer(text, start, end):
        found |= set(_NAME.findall(match[1] or match[2]))
    for match in _LABEL.finditer(text, start, end):
        reader = Reader(reading.source, match.end())
        found |= set(_TYPED.findall(text[match.end() : reader.balanced()]))
    for match in _ARGUMENTS.finditer(text, start, end):
        if match[1] not in _USES:
            found |= set(_NAME.findall(match[2]))
    return found
