"""Costs: the answers of a cost model, in seconds, and their parts.

A search depends on a `CostModel` and nothing else of the machine, so any object with its three
methods will do: a calibrated one (`_model.py`), one that counts bytes, one that measures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from linalg_ext.target.text import seconds_text

if TYPE_CHECKING:
    from ._state import State


@dataclass(frozen=True, repr=False)
class Cost:
    """Seconds, and what they are made of.

    >>> print(Cost(3e-6, (("memory", 2e-6), ("calls", 1e-6))))

    Attributes:
        seconds: in all.
        parts: seconds of each part by name, in the order of the table; their sum is `seconds`.
        work: what was counted to come to them (bytes of each level, operations of each kind), by
            name and with the unit in the name.
    """

    seconds: float
    parts: tuple[tuple[str, float], ...] = ()
    work: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, parts: Iterable[tuple[str, float]], work: Iterable[tuple[str, float]] = ()) -> Cost:
        """The cost that has these parts."""
        kept = tuple(parts)
        return cls(sum(seconds for _, seconds in kept), kept, tuple(work))

    @classmethod
    def sum(cls, costs: Iterable[Cost]) -> Cost:
        """All costs together: parts and work of one name are added."""
        seconds, parts, work = 0.0, dict[str, float](), dict[str, float]()
        for cost in costs:
            seconds += cost.seconds
            for into, found in ((parts, cost.parts), (work, cost.work)):
                for name, value in found:
                    into[name] = into.get(name, 0.0) + value
        return cls(seconds, tuple(parts.items()), tuple(work.items()))

    def __add__(self, other: Cost) -> Cost:
        return Cost.sum((self, other))

    def __repr__(self) -> str:
        rows = [("time", seconds_text(self.seconds), "")]
        for name, seconds in self.parts:
            share = f"{seconds / self.seconds:4.0%}" if self.seconds else ""
            rows.append((f"  {name}", seconds_text(seconds), share))
        rows += [("work", "", "")] * bool(self.work)
        rows += [(f"  {name}", f"{value:,.0f}", "") for name, value in self.work]
        width, figures = (max(len(row[at]) for row in rows) for at in (0, 1))
        return "\n".join(f"{a:{width}}  {b:>{figures}}  {c}".rstrip() for a, b, c in rows)


class CostModel(Protocol):
    """The cost model of a search. All answers are for one thread or more, as the model was made."""

    def of_group(self, state: State, group: int) -> Cost:
        """The cost of a group, or of a node that stands outside all groups, as it is lowered."""
        ...

    def of_state(self, state: State) -> Cost:
        """The cost of all that stands outside all groups, groups as wholes: of the function."""
        ...

    def what_if(self, state: State, group: int, tiling: tuple[int, ...]) -> Cost:
        """Return the cost of a group with another tiling; the state stays as it is."""
        ...
