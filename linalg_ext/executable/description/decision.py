"""Decisions about ops, explained as rows of a table and kept as such."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

Row = tuple[str, str]


class Decision(Protocol):
    """The decision of a transformation about an op, with an explanation.

    It keeps no reference to the module.
    """

    @property
    def title(self) -> str:
        """The subject, in a few words."""
        ...

    def rows(self) -> Sequence[Row]:
        """The explanation: names, each with a text."""
        ...


class Told(NamedTuple):
    """A decision as it was explained when it was made.

    Attributes:
        title: its subject.
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
    """Return the decisions that `decisions_data` turned into plain data."""
    return tuple(Told(title, tuple((name, text) for name, text in rows)) for title, rows in data)
