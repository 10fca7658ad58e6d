"""The attributes of a group, and the names by which people refer to one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeAlias

from linalg_ext.errors import GroupingError
from linalg_ext.structured.group import LABEL

from ._annotations import Note, note_of

Item: TypeAlias = int | str
"""A reference to an item: its number, or the label of a group."""


@dataclass(frozen=True, repr=False)
class GroupData:
    """The attributes and the kind of a group, without its items.

    Attributes:
        texts: its attributes, as MLIR prints them, by name.
        is_isolated: True for a `linalg_ext.isolated_group`.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    is_isolated: bool = False

    @property
    def annotations(self) -> dict[str, Note]:
        """Its attributes as Python values, by name: `{"label": "layer", "tiling": (8, 64)}`."""
        return {name: note_of(text) for name, text in self.texts.items()}

    def __repr__(self) -> str:
        return f"GroupData({self.annotations!r}, is_isolated={self.is_isolated})"

    @property
    def label(self) -> str:
        """Its name for people; empty where it has none."""
        return str(note_of(self.texts.get(LABEL, '""')))


def group_of_label(label: str, groups: Iterable[tuple[int, GroupData]]) -> int:
    """The number of the group that has a label.

    Raises:
        GroupingError: none has it, or several have.
    """
    labels = {number: data.label for number, data in groups}
    found = [number for number, each in labels.items() if each == label]
    if len(found) == 1:
        return found[0]
    if found:
        raise GroupingError(
            f"{len(found)} groups have the label {label!r}",
            expected="one of that label, or its number, which is "
            + " or ".join(map(str, sorted(found))),
        )
    known = sorted({each for each in labels.values() if each})
    near = get_close_matches(label, known, n=1)
    raise GroupingError(
        f"{label!r} is the label of no group",
        expected="one of " + ", ".join(map(repr, known)) if known else "the number of an item",
        hint=f"did you mean {near[0]!r}?" if near else None,
    )
