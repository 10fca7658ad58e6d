"""What was chosen for an op: told as rows of a table, and kept as that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

Row = tuple[str, str]


class Decision(Protocol):
    """What a transformation chose for an op, and can explain. It holds nothing of the module."""

    @property
    def title(self) -> str:
        """What it is about, in a few words."""
        ...

    def rows(self) -> Sequence[Row]:
        """The explanation: names, and what is to be said of each."""
        ...


class Told(NamedTuple):
    """A decision as it was explained when it was made.

    Attributes:
        title: what it is about.
        told: its rows.
    """

    title: str
    told: tuple[Row, ...]

    def rows(self) -> Sequence[Row]:
        """The explanation."""
        return self.told


def decisions_data(decisions: Sequence[Decision]) -> list[Any]:
    """Decisions as plain data."""
    return [[decision.title, decision.rows()] for decision in decisions]


def told_of(data: Sequence[Any]) -> tuple[Told, ...]:
    """What `decisions_data` gave, as decisions again."""
    return tuple(Told(title, tuple((name, text) for name, text in rows)) for title, rows in data)
