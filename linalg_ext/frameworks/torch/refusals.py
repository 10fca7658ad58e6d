"""The error for a graph, or an op of it, that cannot be compiled."""

from __future__ import annotations

from collections.abc import Sequence


class Refused(Exception):
    """A graph cannot be compiled.

    Attributes:
        node: the name of the node that is to blame, if one is known.
        reason: why, in a few words.
        notes: what upstream says of it.
    """

    def __init__(self, node: str | None, reason: str, notes: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason
        self.notes = tuple(notes)
