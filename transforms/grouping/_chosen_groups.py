"""What becomes of a group on the way down, for `kernel.explain()`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from linalg_ext.structured.destination_ops.group import LABEL, PRESERVE, TILING, Group

from ._annotations import said

_OWN = (LABEL, TILING, PRESERVE)


@dataclass(frozen=True)
class ChosenGroup:
    """A group that is lowered apart from all others.

    Attributes:
        name: of the function that it is meanwhile.
        label: its name for people.
        ops: how many of each name it holds.
        asked: what it says besides its label.
        obstacles: what of that it cannot have, and why.
    """

    name: str
    label: str
    ops: tuple[tuple[str, int], ...]
    asked: tuple[str, ...]
    obstacles: tuple[str, ...] = ()

    @classmethod
    def of(cls, group: Group, name: str) -> ChosenGroup:
        """A group that is about to become the function of that name."""
        counted = Counter(op.operation.name for op in list(group.body.operations)[:-1])
        asked = [f"tiling = {list(group.tiling)}"] if group.tiling else []
        asked += [PRESERVE] if group.preserve else []
        rest = {name: str(each) for name, each in group.annotations.items() if name not in _OWN}
        asked += [said({name: text}) for name, text in rest.items()]
        return cls(name, group.label, tuple(counted.items()), tuple(asked))

    def with_obstacles(self, obstacles: Sequence[str]) -> ChosenGroup:
        """The same, where some of what it asks for cannot be had."""
        return replace(self, obstacles=(*self.obstacles, *obstacles))

    @property
    def title(self) -> str:
        """What it is about."""
        return f"group {self.label or self.name.rpartition('_')[2]} @{self.name}"

    def rows(self) -> Sequence[tuple[str, str]]:
        """What it holds, what it asks for, and what of that it does not get."""
        held = ", ".join(f"{count} {op}" if count > 1 else op for op, count in self.ops)
        rows = [("holds", held)]
        rows += [("asks", each) for each in self.asked]
        return [*rows, *(("not", each) for each in self.obstacles)]
