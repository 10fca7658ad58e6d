"""Strategies: how a search goes from state to state. Each is a function of an `Exploration`."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from linalg_ext.errors import GroupingError

from ._exploration import Exploration, Path, Reached
from ._state import Move

Strategy: TypeAlias = Callable[[Exploration], None]
"""Makes moves until it knows no better or `is_over`; what it leaves behind does not matter."""

BEAM_WIDTH = 4
HOTTEST, COLDEST = 0.05, 1e-4
"""Annealing: the share of the first cost that a step may cost, at the start and at the end."""

_STEPS = 2000
"""Annealing: the most steps from the hottest to the coldest."""


def greedy(x: Exploration) -> None:
    """Make the move that gains most, as long as one gains anything."""
    ages: Counter[int] = Counter()
    order = itertools.count()
    waiting: list[tuple[float, int, Move, list[int]]] = []

    def age(move: Move) -> list[int]:
        """Count the changes of each item that a move names."""
        return [ages[item] for item in sorted(x.touched(move))]

    def consider(near: set[int] | None) -> None:
        for move in x.moves(near):
            if x.is_over:
                return
            gain = x.gain(move)
            if gain is not None and gain > 0:
                heapq.heappush(waiting, (-gain, next(order), move, age(move)))

    consider(None)
    while waiting and not x.is_over:
        _, _, move, then = heapq.heappop(waiting)
        try:
            is_known = age(move) == then
        except GroupingError:  # what it names is gone
            continue
        # Where that was changed, it was tried again then.
        if is_known:
            changed = x.make(move)
            ages.update(changed)
            consider(changed)


def beam(x: Exploration) -> None:
    """Follow several states at once: of all that their moves lead to, the cheapest."""
    front = [Reached(x.cost, x.path)]
    while front and not x.is_over:
        found: list[tuple[float, int, Path, Move]] = []
        order = itertools.count()
        for reached in front:
            x.go_to(reached.path)
            for move in x.moves():
                if x.is_over:
                    break
                gain = x.gain(move)
                if gain is not None and gain > 0 and x.is_new(move):
                    found.append((reached.cost - gain, next(order), reached.path, move))
        front = []
        for _, _, path, move in heapq.nsmallest(BEAM_WIDTH, found):
            x.go_to(path)
            x.make(move)
            front.append(Reached(x.cost, x.path))


def anneal(x: Exploration) -> None:
    """Make random moves, those that cost something too, ever more rarely."""
    first = x.cost
    for step in range(_STEPS):
        move = x.random_move()
        if move is None or x.is_over:
            return
        heat = first * HOTTEST * (COLDEST / HOTTEST) ** (step / _STEPS)
        gain = x.gain(move)
        if gain is None or (gain < 0 and x.random.random() >= math.exp(gain / max(heat, 1e-30))):
            continue
        x.make(move)


STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {"greedy": greedy, "beam": beam, "anneal": anneal}
)
"""All of them, by name."""
