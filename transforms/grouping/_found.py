"""The result of a search: a plan, its cost, and the trace of the search."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linalg_ext.module import Module, ModuleLike
from linalg_ext.target.text import seconds_text
from linalg_ext.utils.svg import drawing

from ._plan import Plan
from ._realizing import realize
from ._settings import Search
from ._state import State
from ._trace import Trace
from .cost import Cost, CostModel
from .state_picture import lines_of, picture_of, shown_items, text_of

if TYPE_CHECKING:
    from rich.tree import Tree


MARGIN = 0.05
"""The least share of a cost that a model can resolve."""


@dataclass(frozen=True)
class Measured:
    """A grouping that was compiled and run.

    Attributes:
        plan: the moves to it.
        model: the seconds that the model says.
        seconds: those that a call took.
    """

    plan: Plan
    model: float
    seconds: float


@dataclass(frozen=True, repr=False)
class Found:
    """The result of a search.

    Attributes:
        settings: of the search.
        plan: the moves from the graph to the grouping that was found.
        state: the grouping.
        model: the cost model of the search.
        together: seconds by the model with all ops in as few groups as possible, which is what
            pipelines make of a function without groups.
        trace: the moves of the search.
        tried: the number of moves that were tried.
        seconds: the time that the search took, without measuring.
        measured: the groupings that were compiled and run, the best first by the model.
        is_interrupted: True where the search was told to stop; this is the best until then.
    """

    settings: Search
    plan: Plan
    state: State
    model: CostModel
    together: float
    trace: Trace
    tried: int
    seconds: float
    measured: tuple[Measured, ...] = ()
    is_interrupted: bool = False

    @property
    def before(self) -> Cost:
        """The cost of the function as it was."""
        return self.model.of_state(State(self.state.graph))

    @property
    def cost(self) -> Cost:
        """The cost of what was found."""
        return self.model.of_state(self.state)

    @property
    def is_worth_it(self) -> bool:
        """Return whether it was measured to be faster, or is clearly so by the model, than no
        groups.
        """
        if self.measured:
            return bool(self.plan)
        return self.cost.seconds < (1 - MARGIN) * self.together

    def realize(self, module: ModuleLike) -> Module:
        """Give the module that was searched the groups that were found; returns it.

        Raises:
            GroupingError: it is another one.
        """
        return realize(module, self.state)

    @property
    def title(self) -> str:
        """The title of the table in `kernel.explain()`."""
        return f"groups of @{self.state.graph.function}"

    def rows(self) -> list[tuple[str, str]]:
        """Return the settings, the result, and the effort of the search, as rows of a table."""
        groups = [item for item in self.state.children() if self.state.is_group(item)]
        found = f"{len(groups)} group{'s' * (len(groups) != 1)}"
        before, after = self.before.seconds, self.cost.seconds
        how = f"{self.settings.name}, seed {self.settings.seed}: {self.tried} moves tried in "
        rows = [
            ("search", how + seconds_text(self.seconds) + ", interrupted" * self.is_interrupted),
            ("found", f"{found} of {len(self.state.graph.nodes)} ops"),
            ("model", f"{seconds_text(before)} -> {seconds_text(after)}"),
        ]
        if math.isfinite(self.together):
            rows.append(
                ("together", f"{seconds_text(self.together)} as pipelines fuse by themselves")
            )
        for one in self.measured:
            taken = ", taken" if one.plan is self.plan else ""
            model, seconds = seconds_text(one.model), seconds_text(one.seconds)
            rows.append(("measured", f"{seconds}, where the model says {model}{taken}"))
        return rows

    def __repr__(self) -> str:
        head = [f"{name:9} {text}" for name, text in self.rows()]
        return "\n".join([f"Grouping of @{self.state.graph.function}", *head, *self._lines()])

    def _lines(self) -> Iterator[str]:
        for item in shown_items(self.state):
            cost = seconds_text(self.model.of_group(self.state, item).seconds)
            yield f"  {text_of(self.state, item)}  {cost}"
            if self.state.is_group(item):
                yield from (f"      {line}" for line in lines_of(self.state, item))

    def __rich__(self) -> Tree:
        from rich.text import Text
        from rich.tree import Tree

        tree = Tree(Text(f"grouping of @{self.state.graph.function}", style="bold"))
        for name, text in self.rows():
            tree.add(Text.assemble((f"{name}  ", "cyan"), text))
        for item in shown_items(self.state):
            cost = seconds_text(self.model.of_group(self.state, item).seconds)
            is_group = self.state.is_group(item)
            name = text_of(self.state, item)
            branch = tree.add(Text.assemble((name, "bold" if is_group else ""), f"  {cost}"))
            for line in lines_of(self.state, item) if is_group else ():
                branch.add(Text(line))
        return tree

    def _repr_svg_(self) -> str:
        before = f"before: {seconds_text(self.before.seconds)}"
        after = f"after: {seconds_text(self.cost.seconds)}"
        return drawing(
            picture_of(State(self.state.graph), self.model, title=before),
            picture_of(self.state, self.model, title=after),
        )
