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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import NamedTuple

from linalg_ext.errors import ArgumentTypeError, GroupingError
from linalg_ext.structured.group import TILING
from linalg_ext.target.text import seconds_text
from linalg_ext.utils.svg import Plot

from ._annotations import notes_of
from ._best_tiling import BestTilings
from ._graph import ARGUMENTS, Graph
from ._moves import (
    Annotate,
    Deduplicate,
    Dissolve,
    Duplicate,
    Insert,
    Merge,
    MoveIn,
    MoveOut,
    Reorder,
    Split,
)
from ._state import ROOT, Move, State
from ._tiling import tiling_of
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
"""The fields of a move that name items which exist before it, and whose cost it may change."""


@dataclass(frozen=True)
class Reached:
    """A state that was reached, and its cost."""

    cost: float
    path: Path


class _Made(NamedTuple):
    """A move that was made, the items outside all groups that it changed, the cost after it."""

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
        self._ask_all()
        self._first = self.cost
        self._best = Reached(self.cost, ())
        self._best_moves: int | None = None  # the number of moves to the best state, if on the path

    @property
    def is_over(self) -> bool:
        """Return whether the budget is spent: a strategy returns then."""
        return self._is_over(self.tried)

    @property
    def path(self) -> Path:
        """The moves to the state now."""
        return tuple(step.move for step in self._made)

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
        """Yield moves that may be worth it: two groups merged, one cut, an op copied into one.

        They are of all items or of some with their neighbours, and need not be legal: `gain` says.
        The state must not change while they are taken.
        """
        state = self.state
        pairs: set[tuple[int, int]] = set()
        for item in state.children() if near is None else near:
            if not state.is_group(item):
                continue
            for other in neighbours(state, item):
                pair = (min(item, other), max(item, other))
                if pair not in pairs:
                    pairs.add(pair)
                    yield Merge(*pair)
            children = state.children(item)
            for cut in _cuts(len(children)):
                yield Split(item, children[cut:])
            yield from _copies(state, item)

    def random_move(self) -> Move | None:
        """A move of any kind, by chance, legal or not; None where there is nothing to move."""
        state, rng = self.state, self.random
        groups = [item for item in state.children() if state.is_group(item)]
        for group in rng.sample(groups, len(groups)):
            children = state.children(group)
            cuts = [rng.randrange(1, len(children))] if len(children) > 1 else []
            kinds: list[Sequence[Move]] = [
                [Merge(group, other) for other in neighbours(state, group)],
                [Split(group, children[cut:]) for cut in cuts],
                list(_copies(state, group)),
            ]
            possible = [kind for kind in kinds if kind]
            if possible:
                return rng.choice(rng.choice(possible))
        return None

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
            at_best = not _leaves_tiling(move)
            items = self.touched(inverse)
            after = math.fsum(self._estimate(item, at_best=at_best) for item in items)
        finally:
            self.state.undo()
        return math.fsum(self._costs[item] for item in before) - after

    def touched(self, move: Move) -> set[int]:
        """Return the items outside all groups that are, or hold, the items that a move names.

        Raises:
            GroupingError: one of these items does not exist.
            ArgumentError: it is not a move.
        """
        if type(move) not in _NAMED:
            raise ArgumentTypeError(f"{move!r} is not a move", expected="such as Merge(3, 4)")
        items = set()
        for name in _NAMED[type(move)]:
            value = getattr(move, name)
            for item in value if isinstance(value, tuple) else (value,):
                if item != ROOT:
                    items.add(self.state.outermost(self.state.item(item)))
        return items

    def make(self, move: Move) -> set[int]:
        """Make a move; returns the items outside all groups that it changed.

        Where groups among these should be tiled otherwise now, moves that do so follow; not after
        a move that annotates, or says a tiling.

        Raises:
            GroupingError: it is not legal; the state is as it was.
        """
        after = self._make(move)
        for item in () if _leaves_tiling(move) else sorted(after):
            if self.state.is_group(item):
                tiling, _ = self._tilings.of(self.state, item)
                if tiling != tiling_of(self.state, item):
                    self._make(Annotate(item, TILING, tiling or None))
        if self.cost < self._best.cost:
            self._best, self._best_moves = Reached(self.cost, ()), len(self._made)
        return after

    def _make(self, move: Move) -> set[int]:
        before = self.touched(move)
        inverse = self.state.apply(move)
        after = self.touched(inverse)
        self._ask(before, after)
        self._made.append(_Made(_numbered(self.state, move, inverse), after, self.cost))
        self.trace.steps.append(self._step(self._made[-1].move, self.cost))
        if len(self._made) - self._settled > _MOST_KEPT:
            # The log of a state, by which it goes back, grows with each move.
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
        remaining = len(self._made) - moves
        if moves < 0 or remaining < 0:
            raise GroupingError(
                f"{moves} moves cannot be taken back", expected=f"0 to {len(self._made)}"
            )
        costs = [
            self._made[number - 1].cost if number else self._first
            for number in range(len(self._made) - 1, remaining - 1, -1)
        ]
        if self._best_moves is not None and remaining < self._best_moves:
            self._best, self._best_moves = self.best, None
        if remaining < self._settled:
            self._replay(remaining)
        while len(self._made) > remaining:
            step = self._made.pop()
            self.state.undo()
            self._ask(step.after, self.touched(step.move))
        self.trace.steps += [self._step(None, cost) for cost in costs]

    def _step(self, move: Move | None, cost: float) -> Step:
        return Step(move, cost, self.tried, time.perf_counter() - self._begun)

    def _replay(self, moves: int) -> None:
        """Make the first moves once more, on the graph as it was read."""
        self.state, self._settled = State(self.state.graph), 0
        del self._made[moves:]
        for step in self._made:
            self.state.apply(step.move)
        self._ask_all()

    def _ask_all(self) -> None:
        self._costs = {item: self._estimate(item) for item in self.state.children()}
        self.cost = math.fsum(self._costs.values())

    def go_to(self, path: Path) -> None:
        """Go to the state that some moves lead to, from the graph as it was read."""
        shared = 0
        for step, move in zip(self._made, path, strict=False):
            if step.move is not move and step.move != move:
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
        """Replace the costs of the items before a move by those after it."""
        for item in before:
            self.cost -= self._costs.pop(item)
        for item in after:
            self._costs[item] = self._estimate(item)
            self.cost += self._costs[item]

    def _estimate(self, item: int, *, at_best: bool = False) -> float:
        """Return the seconds of an item as it is tiled, or in its best tiling."""
        if at_best:
            return self._tilings.of(self.state, item)[1]
        return self._model.of_group(self.state, item).seconds


def _leaves_tiling(move: Move) -> bool:
    """Return whether groups are tiled after a move as they say then."""
    if isinstance(move, Insert | Split):
        return TILING in dict(notes_of(move.annotations))
    return isinstance(move, Annotate)


def _numbered(state: State, move: Move, inverse: Move) -> Move:
    """Return a move that was made, with the numbers of its new items."""
    if isinstance(move, Insert) and isinstance(inverse, Dissolve):
        return replace(move, group=state.item(inverse.group))
    if isinstance(move, Split) and isinstance(inverse, Merge):
        return replace(move, new=state.item(inverse.second))
    if isinstance(move, Duplicate) and isinstance(inverse, Deduplicate):
        return replace(move, copy=inverse.copy)
    return move


FREE = frozenset(
    {"arith.constant", "tensor.empty", "tensor.splat", "tensor.dim", "tensor.from_elements"}
)
"""Ops that no group is made for: each user has its own."""

_MOST_CUTS = 6
"""The most cuts of a group, and the most neighbours taken from the readers of one value."""


def neighbours(state: State, group: int) -> list[int]:
    """The groups that a group reads or is read by, and the nearest that share an operand."""
    items: dict[int, None] = {}
    inputs = state.inputs(group)
    for value in inputs:
        if value.node != ARGUMENTS:
            items[state.outermost(value.node)] = None
    for node in state.nodes_of(group):
        for user in state.users(node):
            items[state.outermost(user)] = None
    for value in inputs:
        if value.node != ARGUMENTS and state.node(value.node).op not in FREE:
            for user in state.users(value.node)[:_MOST_CUTS]:
                items[state.outermost(user)] = None
    return [item for item in items if item != group and state.is_group(item)]


def _cuts(length: int) -> list[int]:
    """Return the places where a group of `length` items is cut, spread evenly."""
    count = min(_MOST_CUTS, length - 1)
    return sorted(
        {round((number + 1) * length / (count + 1)) for number in range(count)} - {0, length}
    )


def _copies(state: State, group: int) -> Iterator[Move]:
    """Yield copies of cheap ops of other groups into this one."""
    for value in state.inputs(group):
        if value.node == ARGUMENTS:
            continue
        node = state.node(value.node)
        if node.is_cheap and node.op not in FREE:
            yield Duplicate(value.node, group)


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
        text = "back" if self.move is None else repr(self.move)
        return shorten(text, _WIDE, placeholder=" ...")


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
        """Return the state after each step; the same object each time."""
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
        """Return the first step, and those to a state that costs less than all before."""
        steps: list[Step] = []
        for step in self.steps:
            # Sums of the same costs in another order differ in their last digits.
            if not steps or step.cost < steps[-1].cost * (1 - 1e-9):
                steps.append(step)
        return steps

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
            cost, elapsed = seconds_text(step.cost), seconds_text(step.seconds)
            row = f"  {number:>5}  {elapsed:>8}  {step.tried:>7} tried  {cost:>9}  {step.text}"
            rows.append(row)
        if len(rows) > 2 * _SHOWN:
            rows = [*rows[:_SHOWN], f"  ... {len(rows) - 2 * _SHOWN} more", *rows[-_SHOWN:]]
        return "\n".join([head, *rows])
