"""What a process apart tells of the decisions that it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ToldDecision:
    """A decision of a transformation, as it was told."""

    title: str
    told: tuple[tuple[str, str], ...]

    @classmethod
    def from_data(cls, data: Any) -> ToldDecision:
        """Of a title and a list of pairs."""
        title, rows = data
        return cls(title, tuple((name, text) for name, text in rows))

    def rows(self) -> Sequence[tuple[str, str]]:
        """The explanation: names, and what is to be said of each."""
        return self.told
