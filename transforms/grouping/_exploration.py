"""The interface for strategies: a state, its moves and their gains, and the best state so far.

    def mine(x: Exploration) -> None:
        while not x.is_over:
            gains = {move: x.gain(move) or 0.0 for move in x.moves()}
            best = max(gains, key=gains.get, default=None)
            if best is None or gains[best] <= 0:
                return
            x.make(best)

    search(module, strategy=mine)

The cost of a state is the sum over the items outside all groups, groups as wholes. A move changes
the costs of the items that it names, and of no others: the model is asked for these alone. A group
that is made or changed gets the tiling at which it costs least by the model.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from linalg_ext.errors import ArgumentTypeError, GroupingError
from linalg_ext.structured.group import TILING

from ._annotations import notes_of
from ._best_tiling import BestTilings
from ._candidates import moves_near, outermost, random_move
from ._graph import Graph
from ._moves_of_groups import Annotate, Dissolve, Insert, Merge, Split
from ._moves_of_ops import Deduplicate, Duplicate, MoveIn, MoveOut, Reorder
from ._state import ROOT, Move, State
from ._tiling import tiling_of
from ._trace import Step, Trace
from .cost import CostModel

Path = tuple[Move, ...]
"""Moves from the graph as it was read to a state."""

_MOST_KEPT = 256
"""Moves that are taken back one by one; for more, all is done once more from the beginning."""

_NAMED: dict[type[Move], tuple[str, ...]] = {
    Insert: ("items",),
    Dissolve: ("group",),
    Merge: ("first", "second"),
    Split: ("group",),
    Annotate: ("group",),
    MoveIn: ("item", "group"),
    MoveOut: ("item",),
    Reorder: ("item",),
    Duplicate: ("node", "group"),
    Deduplicate: ("copy", "node"),
}
"""The fields of a move that name what is there before it, and whose cost it may change."""


@dataclass(frozen=True)
class Reached:
    """A state that was reached, and what it costs."""

    cost: float
    path: Path


@dataclass(frozen=True)
class _Made:
    """A move that was made.

    Attributes:
        move: it.
        after: what stood outside all groups then and was changed by it.
        cost: of the state after it.
    """

    move: Move
    after: set[int]
    cost: float


class Exploration:
    """One state after the other, until the budget is spent.

    Attributes:
        state: the state now, to be looked at; `make` and `back` change it, or put another object
            in its place.
        cost: seconds that it costs.
        random: numbers that are the same for the same seed.
        trace: all moves that were made, those that take others back among them.
        tried: how many moves were asked for their gain.
    """

    def __init__(
        self, graph: Graph, model: CostModel, *, seed: int, is_over: Callable[[int], bool]
    ) -> None:
        """
        Args:
            graph: the graph that is grouped.
            model: gives the costs.
            seed: of `random`.
            is_over: returns whether the budget is spent after that many moves were tried.
        """
        self.state = State(graph)
        self.random = random.Random(seed)
        self.trace = Trace()
        self.tried = 0
        self._begun = time.perf_counter()
        self._model, self._tilings = model, BestTilings(model)
        self._is_over = is_over
        self._made: list[_Made] = []
        self._settled = 0
        self._seen: set[int] = set()
        self._costs = {item: self._asked(item) for item in self.state.children()}
        self.cost = math.fsum(self._costs.values())
        self._first = self.cost
        self._best = Reached(self.cost, ())
        self._best_moves: int | None = None  # the first so many that were made lead to the best

    @property
    def is_over(self) -> bool:
        """Return whether the budget is spent: a strategy returns then."""
        return self._is_over(self.tried)

    @property
    def path(self) -> Path:
        """The moves to the state now."""
        return tuple(made.move for made in self._made)

    @property
    def best(self) -> Reached:
        """The cheapest state since `begin`."""
        if self._best_moves is not None:
            return replace(self._best, path=self.path[: self._best_moves])
        return self._best

    def begin(self, path: Path) -> None:
        """Go to a state; `best` is the best from there on."""
        self.go_to(path)
        self._best, self._best_moves = Reached(self.cost, self.path), None

    def moves(self, near: Iterable[int] | None = None) -> Iterator[Move]:
        """Moves that may be worth it: of some items with their neighbours, where any are named.

        They need not be legal: `gain` says.
        """
        return moves_near(self.state, self.state.children() if near is None else near)

    def random_move(self) -> Move | None:
        """A move of any kind, by chance, legal or not; None where there is nothing to move."""
        return random_move(self.state, self.random)

    def gain(self, move: Move) -> float | None:
        """The seconds that a move would save, negative where it costs some; None: it is not legal.

        The state stays as it is. Each call counts against the budget.
        """
        self.tried += 1
        try:
            before = self.touched(move)
            inverse = self.state.apply(move)
        except GroupingError:
            return None
        try:
            told = self._asked if _leaves_tiling(move) else self._asked_at_best
            after = math.fsum(map(told, self.touched(inverse)))
        finally:
            self.state.undo()
        return math.fsum(self._costs[item] for item in before) - after

    def touched(self, move: Move) -> set[int]:
        """Return the items outside all groups that are, or hold, the items that a move names.

        Raises:
            GroupingError: one of these items does not exist.
            ArgumentError: it is no move.
        """
        if type(move) not in _NAMED:
            raise ArgumentTypeError(f"{move!r} is no move", expected="such as Merge(3, 4)")
        found = set()
        for name in _NAMED[type(move)]:
            value = getattr(move, name)
            for item in value if isinstance(value, tuple) else (value,):
                if item != ROOT:
                    found.add(outermost(self.state, self.state.item(item)))
        return found

    def make(self, move: Move) -> set[int]:
        """Make a move; returns what stands outside all groups and was changed by it.

        Where groups among these should be tiled otherwise now, moves that do so follow; not after
        a move that annotates, or says a tiling.

        Raises:
            GroupingError: it is not legal; the state is as it was.
        """
        after = self._make(move)
        for item in () if _leaves_tiling(move) else sorted(after):
            self._tile(item)
        if self.cost < self._best.cost:
            self._best, self._best_moves = Reached(self.cost, ()), len(self._made)
        return after

    def _tile(self, item: int) -> None:
        if self.state.is_group(item):
            tiling, _ = self._tilings.of(self.state, item)
            if tiling != tiling_of(self.state, item):
                self._make(Annotate(item, TILING, tiling or None))

    def _make(self, move: Move) -> set[int]:
        before = self.touched(move)
        inverse = self.state.apply(move)
        after = self.touched(inverse)
        self._ask(before, after)
        self._made.append(_Made(_numbered(self.state, move, inverse), after, self.cost))
        self.trace.steps.append(self._step(self._made[-1].move, self.cost))
        if len(self._made) - self._settled > _MOST_KEPT:
            # What a state keeps so as to go back grows with its size.
            self.state, self._settled = self.state.copy(), len(self._made)
        return after

    def attempt(self, move: Move) -> bool:
        """Make a move where it is legal; whether it was."""
        try:
            self.make(move)
        except GroupingError:
            return False
        return True

    def back(self, moves: int = 1) -> None:
        """Take back the last moves that were made.

        Raises:
            GroupingError: fewer were made.
        """
        kept = len(self._made) - moves
        if moves < 0 or kept < 0:
            raise GroupingError(
                f"{moves} moves cannot be taken back", expected=f"0 to {len(self._made)}"
            )
        costs = [
            self._made[at - 1].cost if at else self._first
            for at in range(len(self._made) - 1, kept - 1, -1)
        ]
        if self._best_moves is not None and kept < self._best_moves:
            self._best, self._best_moves = self.best, None
        if kept < self._settled:
            self._begin_anew(kept)
        while len(self._made) > kept:
            made = self._made.pop()
            self.state.undo()
            self._ask(made.after, self.touched(made.move))
        self.trace.steps += [self._step(None, cost) for cost in costs]

    def _step(self, move: Move | None, cost: float) -> Step:
        return Step(move, cost, self.tried, time.perf_counter() - self._begun)

    def _begin_anew(self, moves: int) -> None:
        """Make the first moves once more, on the graph as it was read."""
        self.state, self._settled = State(self.state.graph), 0
        del self._made[moves:]
        for made in self._made:
            self.state.apply(made.move)
        self._costs = {item: self._asked(item) for item in self.state.children()}
        self.cost = math.fsum(self._costs.values())

    def go_to(self, path: Path) -> None:
        """Go to the state that some moves lead to, from the graph as it was read."""
        shared = 0
        for made, move in zip(self._made, path, strict=False):
            if made.move is not move and made.move != move:
                break
            shared += 1
        self.back(len(self._made) - shared)
        for move in path[shared:]:
            self._make(move)

    def is_new(self, move: Move) -> bool:
        """Return whether a legal move leads to a state with a new key, and remember the key."""
        self.state.apply(move)
        try:
            key = self.state.key()
        finally:
            self.state.undo()
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new

    def _ask(self, before: set[int], after: set[int]) -> None:
        """Put the costs of some items in the place of those of others."""
        for item in before:
            self.cost -= self._costs.pop(item)
        for item in after:
            self._costs[item] = self._asked(item)
            self.cost += self._costs[item]

    def _asked(self, item: int) -> float:
        return self._model.of_group(self.state, item).seconds

    def _asked_at_best(self, item: int) -> float:
        return self._tilings.of(self.state, item)[1]


def _leaves_tiling(move: Move) -> bool:
    """Return whether groups are tiled after a move as they say then."""
    if isinstance(move, Insert | Split):
        return TILING in dict(notes_of(move.annotations))
    return isinstance(move, Annotate)


def _numbered(state: State, move: Move, inverse: Move) -> Move:
    """A move that was made, with the number of what is new in it."""
    if isinstance(move, Insert) and isinstance(inverse, Dissolve):
        return replace(move, group=state.item(inverse.group))
    if isinstance(move, Split) and isinstance(inverse, Merge):
        return replace(move, new=state.item(inverse.second))
    if isinstance(move, Duplicate) and isinstance(inverse, Deduplicate):
        return replace(move, copy=inverse.copy)
    return move
