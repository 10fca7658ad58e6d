"""A point of the way from a module to machine code."""

from __future__ import annotations

from typing import Protocol


class Stage(Protocol):
    """The module at one point of the way down: shown when somebody asks, and not before."""

    @property
    def name(self) -> str:
        """Of the stage."""
        ...

    @property
    def seconds(self) -> float:
        """What it took to get here from the stage before."""
        ...

    @property
    def text(self) -> str:
        """As MLIR, large constants elided."""
        ...

    @property
    def operations(self) -> int:
        """How many ops there are."""
        ...
