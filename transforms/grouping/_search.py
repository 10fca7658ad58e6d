"""Searching for the grouping of a function's ops that costs least."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from linalg_ext.errors import ArgumentTypeError, UntrustedError, caller_location
from linalg_ext.module import Module, ModuleLike, as_module
from linalg_ext.structured.group import TILING
from linalg_ext.utils.hooks import facade
from linalg_ext.utils.progress import Progress

from ._best_tiling import BestTilings, untiled
from ._exploration import Exploration, Reached
from ._found import Found, Measured
from ._graph import Graph
from ._model import TargetModel
from ._moves_of_groups import Annotate
from ._plan import Plan
from ._reading import read_graph
from ._settings import Search
from ._starts import STARTS
from ._state import State
from ._strategies import Strategy
from ._tiling import tiling_of
from .cost import CostModel

Timer = Callable[[Sequence[Module], str], Sequence[float]]
"""Gives the seconds of a function, which is named, of each of several modules."""

_CONFUSION = 4
"""Random moves that a run begins with where all starts were taken."""


_OTHER_TILINGS = 3
"""The number of tilings that are measured besides those that the model finds best."""


def search(
    module: ModuleLike,
    strategy: str | Strategy | Search = "greedy",
    *,
    function: str | None = None,
    moves: int | None = None,
    seconds: float | None = None,
    seed: int | None = None,
    restarts: int | None = None,
    measure: int | None = None,
    model: CostModel | None = None,
    timer: Timer | None = None,
    trusted: bool = False,
) -> Found:
    """The cheapest grouping of the ops of a function that a strategy finds within a budget.

        >>> found = search(module, "beam", seconds=5)
        >>> print(found)                    # before, after, each group with its cost
        >>> found.realize(module)           # linalg_ext.group ops; all pipelines keep them apart

    Interrupted by the keyboard it returns the best that was found until then.

    Args:
        module: it is not changed.
        strategy: `"greedy"`, `"beam"`, `"anneal"`, a function of an `Exploration`, or a `Search`
            that says all.
        function: its name; may be left out where the module has one function with a body.
        moves, seconds, seed, restarts, measure: as of `Search`.
        model: gives the costs; by default that of the target in force.
        timer: gives the seconds of a function of each of several modules; by default they are
            compiled, and called on arguments that are made up.
        trusted: True where the module is trusted: the code that is measured runs in this process.

    Raises:
        UntrustedError: it is to be measured, and is untrusted.
        ArgumentError: there is no such strategy or function, or a budget is of nothing.
        TargetError: the target lacks a figure that the model needs.
    """
    named = {
        "moves": moves,
        "seconds": seconds,
        "seed": seed,
        "restarts": restarts,
        "measure": measure,
    }
    given = {name: value for name, value in named.items() if value is not None}
    base = strategy if isinstance(strategy, Search) else Search(strategy)
    settings = replace(base, **given)  # type: ignore[arg-type]
    if model is not None and not hasattr(model, "of_group"):
        raise ArgumentTypeError(f"model = {model!r}", expected="a CostModel, or None")
    if settings.measure and timer is None and not trusted:
        raise UntrustedError(
            "measure= runs the module in this process, and it is untrusted",
            where=caller_location(),
            hint="pass trusted=True for a module whose author you trust, or leave out measure=",
        )
    graph = read_graph(module, function)
    run = _Run(graph, settings, model or TargetModel())
    return run.found(as_module(module), timer or facade("compiler").seconds_of)


class _Run:
    """One search.

    The budget is shared: what is left goes in equal parts to the runs that are left. The starts
    have a part of the time too; the first is made in any case.
    """

    def __init__(self, graph: Graph, settings: Search, model: CostModel) -> None:
        self._graph, self._settings, self._model = graph, settings, model
        self._begin = time.perf_counter()
        self._moves, self._until = settings.moves, settings.seconds
        self._exploration = Exploration(
            graph, model, seed=settings.seed, is_over=lambda tried: self._is_over(tried)
        )
        self._reached: list[Reached] = []
        self._chains: list[Reached] = []
        self._together = math.inf
        self._progress: Progress | None = None

    def found(self, module: Module, timer: Timer) -> Found:
        """Run, and say what came out."""
        settings, x = self._settings, self._exploration
        first = Reached(x.cost, ())
        is_interrupted = False
        with Progress("searching", settings.moves, time.perf_counter) as self._progress:
            try:
                self._run()
            except KeyboardInterrupt:
                is_interrupted = True
        ranked = sorted([*self._reached, x.best, first], key=lambda reached: reached.cost)
        seconds = time.perf_counter() - self._begin
        measured: tuple[Measured, ...] = ()
        best = Plan(ranked[0].path)
        if settings.measure and not is_interrupted:
            measured = _measured(module, self._graph, self._candidates(first), timer)
            best = _fastest(measured).plan
        state = State(self._graph)
        best.apply_to(state)
        return Found(
            settings,
            best,
            state,
            self._model,
            self._together,
            x.trace,
            x.tried,
            seconds,
            measured,
            is_interrupted,
        )

    def _candidates(self, first: Reached) -> list[Reached]:
        """Return the groupings to measure, with the grouping to begin with at the end.

        They are the best few, some of these with other tilings, and upstream's fusion.
        """
        reached = [*self._reached, self._exploration.best]
        best = _distinct(self._graph, reached, self._settings.measure)
        others = [other for one in best for other in self._tiled_otherwise(one)]
        best += sorted(others, key=lambda other: other.cost)[:_OTHER_TILINGS]
        return [*_distinct(self._graph, [*best, *self._chains], len(best) + 1), first]

    def _tiled_otherwise(self, reached: Reached) -> list[Reached]:
        """A grouping with other tilings of the group that costs most of those that may be tiled."""
        state, tilings = State(self._graph), BestTilings(self._model)
        Plan(reached.path).apply_to(state)
        ranked = {item: tilings.ranked(state, item) for item in state.children()}
        asked = [item for item in ranked if ranked[item]]
        if not asked:
            return []
        costs = {item: self._model.of_group(state, item).seconds for item in asked}
        group = max(asked, key=costs.__getitem__)
        return [
            Reached(
                reached.cost - costs[group] + seconds,
                (*reached.path, Annotate(group, TILING, tiling or None)),
            )
            for tiling, seconds in ranked[group]
            if tiling != tiling_of(state, group)
        ]

    def _run(self) -> None:
        x, settings = self._exploration, self._settings
        self._share(2 + settings.restarts)
        starts = self._starts()
        self._reached += starts
        for number in range(1 + settings.restarts):
            self._share(1 + settings.restarts - number)
            if number < len(starts):
                x.begin(starts[number].path)
            else:
                x.begin(min(self._reached, key=lambda reached: reached.cost).path)
                _confuse(x)
            settings.function(x)
            self._reached.append(x.best)

    def _starts(self) -> list[Reached]:
        """All groupings to begin with, the cheapest first."""
        x = self._exploration
        found: list[Reached] = []
        for name, start in STARTS.items():
            if found and x.is_over:
                break
            x.go_to(())
            start(x)
            found.append(Reached(x.cost, x.path))
            if name == "whole":
                self._together = self._model.of_state(untiled(x.state)).seconds
            elif name == "chains":
                self._chains = found[-1:]
        return sorted(found, key=lambda reached: reached.cost)

    def _share(self, runs: int) -> None:
        """Give the next of `runs` runs its share of the remaining budget."""
        tried, passed = self._exploration.tried, time.perf_counter() - self._begin
        self._moves = tried + (self._settings.moves - tried + runs - 1) // runs
        self._until = passed + (self._settings.seconds - passed) / runs

    def _is_over(self, tried: int) -> bool:
        if self._progress is not None:
            self._progress.reach(tried, self._settings.name)
        return tried >= self._moves or time.perf_counter() - self._begin >= self._until


def _confuse(x: Exploration) -> None:
    for _ in range(_CONFUSION):
        if x.is_over:
            return
        move = x.random_move()
        if move is not None:
            x.attempt(move)


def _distinct(graph: Graph, reached: Sequence[Reached], most: int) -> list[Reached]:
    """The first of those that lead to different states."""
    kept: dict[int, Reached] = {}
    for path, one in {one.path: one for one in reversed(reached)}.items():
        state = State(graph)
        Plan(path).apply_to(state)
        kept[state.key()] = one
    return sorted(kept.values(), key=lambda one: one.cost)[:most]


def _fastest(measured: Sequence[Measured]) -> Measured:
    """The fastest state; the last, which has no groups, if it is hardly slower."""
    best = min(measured, key=lambda one: one.seconds)
    return measured[-1] if measured[-1].seconds <= _ALIKE * best.seconds else best


_ALIKE = 1.01
"""Times that differ by less than this factor are the same."""


def _measured(
    module: Module, graph: Graph, candidates: Sequence[Reached], timer: Timer
) -> tuple[Measured, ...]:
    """The seconds that a call of each takes."""
    plans = [Plan(one.path) for one in candidates]
    grouped = []
    for plan in plans:
        clone = module.clone()
        plan.realize(clone, graph.function)
        grouped.append(clone)
    times = timer(grouped, graph.function)
    return tuple(
        Measured(plan, one.cost, seconds)
        for plan, one, seconds in zip(plans, candidates, times, strict=True)
    )
