"""The trace of a search, move by move: it can be printed, plotted and replayed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import shorten

from linalg_ext.target.text import seconds_text
from linalg_ext.utils.svg import Plot

from ._graph import Graph
from ._state import Move, State

_SHOWN = 12
"""Rows at the begin and at the end of a long trace that are printed."""

_WIDE = 90
"""Characters of a move that are printed."""


@dataclass(frozen=True)
class Step:
    """A move that a search made.

    Attributes:
        move: it; None where the last move that was made and still stood was taken back.
        cost: seconds that the state after it costs.
        tried: how many moves were tried until then.
        seconds: how long the search had taken then.
    """

    move: Move | None
    cost: float
    tried: int
    seconds: float = field(default=0.0, compare=False)

    @property
    def text(self) -> str:
        """The move for people, long ones cut."""
        said = "back" if self.move is None else repr(self.move)
        return shorten(said, _WIDE, placeholder=" ...")


@dataclass
class Trace:
    """The steps of a search, from the graph as it was read.

    >>> print(trace)                    # a table
    >>> trace                           # in a notebook: cost against moves that were tried
    >>> for state in trace.replay(graph): ...

    Attributes:
        steps: the first one first.
    """

    steps: list[Step] = field(default_factory=list)

    def replay(self, graph: Graph) -> Iterator[State]:
        """The state after each step; the same object each time."""
        state = State(graph)
        for step in self.steps:
            if step.move is None:
                state.undo()
            else:
                state.apply(step.move)
            yield state

    def costs(self) -> list[tuple[int, float, float]]:
        """For each step the moves tried until then, its cost, and the lowest cost so far."""
        rows, lowest = [], float("inf")
        for step in self.steps:
            lowest = min(lowest, step.cost)
            rows.append((step.tried, step.cost, lowest))
        return rows

    def gains(self) -> list[Step]:
        """The first step, and those to a state that costs less than all before."""
        found: list[Step] = []
        for step in self.steps:
            # Sums of the same costs in another order differ in their last digits.
            if not found or step.cost < found[-1].cost * (1 - 1e-9):
                found.append(step)
        return found

    def _repr_svg_(self) -> str:
        rows = self.costs()
        plot = Plot("moves tried", "cost", seconds_text)
        plot.line("state", [(tried, cost) for tried, cost, _ in rows], "var(--faint,#9aa7b4)")
        plot.line("best", [(tried, lowest) for tried, _, lowest in rows], "var(--accent,#1f6feb)")
        return plot.svg()

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        head = f"Trace of {len(self.steps)} steps"
        rows = []
        for number, step in enumerate(self.steps):
            cost, taken = seconds_text(step.cost), seconds_text(step.seconds)
            row = f"  {number:>5}  {taken:>8}  {step.tried:>7} tried  {cost:>9}  {step.text}"
            rows.append(row)
        if len(rows) > 2 * _SHOWN:
            rows = [*rows[:_SHOWN], f"  ... {len(rows) - 2 * _SHOWN} more", *rows[-_SHOWN:]]
        return "\n".join([head, *rows])
