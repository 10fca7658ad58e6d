"""Searching for the grouping of a function's ops that costs least."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from linalg_ext.errors import (
    ArgumentError,
    ArgumentTypeError,
    GroupingError,
    UntrustedError,
    caller_location,
)
from linalg_ext.module import Module, ModuleLike, as_module
from linalg_ext.structured.group import TILING
from linalg_ext.target.text import seconds_text
from linalg_ext.utils.hooks import facade
from linalg_ext.utils.progress import Progress
from linalg_ext.utils.svg import drawing

from ._best_tiling import BestTilings, untiled
from ._exploration import FREE, Exploration, Path, Reached, Trace
from ._graph import ARGUMENTS, LOOPS, Graph, Value
from ._moves import Annotate, Duplicate, Insert, Merge, MoveIn
from ._plan import Plan, realize
from ._reading import read_graph
from ._state import ROOT, Move, State
from ._tiling import tiling_of
from .cost import Cost, CostModel, TargetModel
from .state_picture import lines_of, picture_of, shown_items, text_of

if TYPE_CHECKING:
    from rich.tree import Tree


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
    """Return the cheapest grouping of the ops of a function that a strategy finds within a budget.

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
    overrides = {name: value for name, value in named.items() if value is not None}
    base = strategy if isinstance(strategy, Search) else Search(strategy)
    settings = replace(base, **overrides)  # type: ignore[arg-type]
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
    return run.result(as_module(module), timer or facade("compiler").seconds_of)


class _Run:
    """One search.

    The budget is shared: the rest goes in equal parts to the runs that have not begun. The starts
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

    def result(self, module: Module, timer: Timer) -> Found:
        """Run, and return the result."""
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
            fastest = min(measured, key=lambda grouping: grouping.seconds)
            # The last grouping has no groups, and is chosen if it is hardly slower.
            is_alike = measured[-1].seconds <= _ALIKE * fastest.seconds
            best = (measured[-1] if is_alike else fastest).plan
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
        retiled = [other for grouping in best for other in self._tiled_otherwise(grouping)]
        best += sorted(retiled, key=lambda other: other.cost)[:_OTHER_TILINGS]
        return [*_distinct(self._graph, [*best, *self._chains], len(best) + 1), first]

    def _tiled_otherwise(self, reached: Reached) -> list[Reached]:
        """Return a grouping with other tilings of its most expensive group that may be tiled."""
        state, tilings = State(self._graph), BestTilings(self._model)
        Plan(reached.path).apply_to(state)
        ranked = {item: tilings.ranked(state, item) for item in state.children()}
        ranked_items = [item for item in ranked if ranked[item]]
        if not ranked_items:
            return []
        costs = {item: self._model.of_group(state, item).seconds for item in ranked_items}
        group = max(ranked_items, key=costs.__getitem__)
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
                for _ in range(_CONFUSION):
                    if not x.is_over and (move := x.random_move()) is not None:
                        x.attempt(move)
            settings.function(x)
            self._reached.append(x.best)

    def _starts(self) -> list[Reached]:
        x = self._exploration
        starts: list[Reached] = []
        for name, start in STARTS.items():
            if starts and x.is_over:
                break
            x.go_to(())
            start(x)
            starts.append(Reached(x.cost, x.path))
            if name == "whole":
                self._together = self._model.of_state(untiled(x.state)).seconds
            elif name == "chains":
                self._chains = starts[-1:]
        return sorted(starts, key=lambda reached: reached.cost)

    def _share(self, runs: int) -> None:
        """Give the next of `runs` runs its share of the remaining budget."""
        tried, passed = self._exploration.tried, time.perf_counter() - self._begin
        self._moves = tried + (self._settings.moves - tried + runs - 1) // runs
        self._until = passed + (self._settings.seconds - passed) / runs

    def _is_over(self, tried: int) -> bool:
        if self._progress is not None:
            self._progress.reach(tried, self._settings.name)
        return tried >= self._moves or time.perf_counter() - self._begin >= self._until


def _distinct(graph: Graph, reached: Sequence[Reached], most: int) -> list[Reached]:
    by_path = {grouping.path: grouping for grouping in reversed(reached)}
    by_key: dict[int, Reached] = {}
    for path, grouping in by_path.items():
        state = State(graph)
        Plan(path).apply_to(state)
        by_key[state.key()] = grouping
    return sorted(by_key.values(), key=lambda grouping: grouping.cost)[:most]


_ALIKE = 1.01
"""Times that differ by less than this factor are the same."""


def _measured(
    module: Module, graph: Graph, candidates: Sequence[Reached], timer: Timer
) -> tuple[Measured, ...]:
    plans = [Plan(candidate.path) for candidate in candidates]
    grouped = []
    for plan in plans:
        clone = module.clone()
        plan.realize(clone, graph.function)
        grouped.append(clone)
    times = timer(grouped, graph.function)
    return tuple(
        Measured(plan, candidate.cost, seconds)
        for plan, candidate, seconds in zip(plans, candidates, times, strict=True)
    )


@dataclass(frozen=True)
class Search:
    """The settings of a search for groups.

    >>> lx.compile(module, search=Search("anneal", seconds=5, seed=1, measure=3), trusted=True)

    Attributes:
        strategy: `"greedy"`, `"beam"`, `"anneal"`, or a function of an `Exploration`.
        moves: the most moves that are tried.
        seconds: the most time that it takes. The result does not depend on it where the moves are
            used up first.
        seed: of random choices: the same seed, moves and strategy find the same.
        restarts: how often the strategy begins once more, each time from another grouping. All
            begin from their share of the budget.
        measure: how many of the best groupings are compiled and measured in the end; the fastest is
            taken. Measured too are a few other tilings of these, the result of upstream's fusion of
            element-wise ops, and the function without groups. 0: the model alone decides.
    """

    strategy: str | Strategy = "greedy"
    moves: int = 20_000
    seconds: float = 1.0
    seed: int = 0
    restarts: int = 2
    measure: int = 0

    def __post_init__(self) -> None:
        _count("moves", self.moves, 1)
        _count("restarts", self.restarts, 0)
        _count("measure", self.measure, 0)
        _count("seed", self.seed, None)
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int | float):
            raise ArgumentTypeError(f"seconds = {self.seconds!r}", expected="a number")
        if not self.seconds > 0 or math.isnan(self.seconds):
            raise ArgumentError(
                f"seconds = {self.seconds!r}: nothing can be searched in no time",
                expected="a number above 0",
            )
        expected = f"one of {', '.join(STRATEGIES)}, or a function of an Exploration"
        if isinstance(self.strategy, str):
            if self.strategy not in STRATEGIES:
                raise ArgumentError(f"{self.strategy!r} is not a strategy", expected=expected)
        elif not callable(self.strategy):
            raise ArgumentTypeError(f"strategy = {self.strategy!r}", expected=expected)

    @classmethod
    def of(cls, value: object) -> Search | None:
        """Return the settings for a value of `search=`; None where it is False or None.

        The value is a `Search`, the name of a strategy, or True for `SMALL`.

        Raises:
            ArgumentError: it is none of these.
        """
        if value is None or value is False:
            return None
        if value is True:
            return SMALL
        if isinstance(value, Search):
            return value
        if isinstance(value, str):
            return cls(value)
        raise ArgumentTypeError(
            f"search is {value!r}",
            expected=f"True, False, one of {', '.join(STRATEGIES)}, or a Search",
        )

    @property
    def key(self) -> tuple[object, ...] | None:
        """All that it says as plain data; None where the strategy is a function."""
        if not isinstance(self.strategy, str):
            return None
        rest = (self.moves, float(self.seconds), self.seed, self.restarts, self.measure)
        return (self.strategy, *rest)

    @property
    def function(self) -> Strategy:
        """The strategy as a function."""
        return STRATEGIES[self.strategy] if isinstance(self.strategy, str) else self.strategy

    @property
    def name(self) -> str:
        """The name of the strategy."""
        if isinstance(self.strategy, str):
            return self.strategy
        return getattr(self.strategy, "__name__", type(self.strategy).__name__)


def _count(name: str, value: object, least: int | None) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentTypeError(f"{name} = {value!r}", expected="a whole number")
    if least is not None and value < least:
        note = ": a budget of no moves finds nothing" if least else ""
        raise ArgumentError(f"{name} = {value}{note}", expected=f"{least} or more")


Strategy: TypeAlias = Callable[[Exploration], None]
"""Makes moves until it knows no better or `is_over`; the state that it leaves behind does not
matter.
"""

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
            is_current = age(move) == then
        except GroupingError:  # an item that it names was removed
            continue
        # A move whose items changed since then was queued again at that time.
        if is_current:
            changed = x.make(move)
            ages.update(changed)
            consider(changed)


def beam(x: Exploration) -> None:
    """Follow several states at once: of all that their moves lead to, the cheapest."""
    front = [Reached(x.cost, x.path)]
    while front and not x.is_over:
        successors: list[tuple[float, int, Path, Move]] = []
        order = itertools.count()
        for reached in front:
            x.go_to(reached.path)
            for move in x.moves():
                if x.is_over:
                    break
                gain = x.gain(move)
                if gain is not None and gain > 0 and x.is_new(move):
                    successors.append((reached.cost - gain, next(order), reached.path, move))
        front = []
        for _, _, path, move in heapq.nsmallest(BEAM_WIDTH, successors):
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


def apart(x: Exploration) -> None:
    """Make a group for each op, with its fills and the views of it."""
    _insert(x, [[item] for item in _grouped(x.state)])


_RESHAPES = frozenset({"tensor.collapse_shape", "tensor.expand_shape"})


def chains(x: Exploration) -> None:
    """Make groups of element-wise ops that only one another read, and of the op that they end in.

    Upstream's fusion of element-wise ops makes these, and goes through reshapes as it does.
    """
    state = x.state
    items = _grouped(state)
    last = {item: item for item in items}
    members = {item: [item] for item in items}
    for item in reversed(items):
        reshapes: list[int] = []
        ends = _ends(state, item, last, reshapes)
        end, *other_ends = ends or {ARGUMENTS}
        may_end = end != ARGUMENTS and state.node(end).work.kind == LOOPS
        if state.node(item).is_cheap and not other_ends and may_end:
            last[item] = end
            members[item] += reshapes
    groups: dict[int, list[int]] = {}
    for item, end in last.items():
        groups.setdefault(end, []).extend(members[item])
    _insert(x, [sorted(group) for group in groups.values()])


def _ends(state: State, item: int, last: Mapping[int, int], reshapes: list[int]) -> set[int]:
    """Return the last ops of the chains that read an item, directly or through reshapes.

    The reshapes on the way are added to `reshapes`.
    """
    if Value(item) in state.graph.returned:
        return {ARGUMENTS}
    ends: set[int] = set()
    for user in set(state.users(item)):
        if state.node(user).op in _RESHAPES:
            reshapes.append(user)
            ends |= _ends(state, user, last, reshapes)
        else:
            ends.add(last.get(user, ARGUMENTS))
    return ends


def whole(x: Exploration) -> None:
    """Make as few groups as possible: one of all ops, if it is legal."""
    items = [
        item for item in x.state.children() if x.state.is_group(item) or _computes(x.state, item)
    ]
    _insert_halves(x, items)
    last: int | None = None
    for item in x.state.children():
        if x.state.is_group(item) and (last is None or not x.attempt(Merge(last, item))):
            last = item


STARTS: Mapping[str, Callable[[Exploration], None]] = MappingProxyType(
    {"whole": whole, "apart": apart, "chains": chains}
)
"""All of them, by name; those that take least time first."""


def _grouped(state: State) -> list[int]:
    """Return the ops that get groups of their own: no fills and no views."""
    return [
        item
        for item in state.children()
        if not state.is_group(item)
        and _computes(state, item)
        and not state.node(item).work.is_view
        and not _reads_nothing(state, item)
    ]


def _insert_halves(x: Exploration, items: Sequence[int]) -> None:
    """Make one group of all items; where they may not be in one, the same of each half."""
    if not items or x.attempt(Insert(tuple(items))) or len(items) == 1:
        return
    middle = len(items) // 2
    _insert_halves(x, items[:middle])
    _insert_halves(x, items[middle:])


def _insert(x: Exploration, groups: Sequence[Sequence[int]]) -> None:
    """Make groups, or one for each op where they are illegal, and add their views and fills."""
    for group in groups:
        if not x.attempt(Insert(tuple(group))) and len(group) > 1:
            for item in group:
                x.attempt(Insert((item,)))
    state = x.state
    remaining = [item for item in state.children() if not state.is_group(item)]
    for item in remaining:
        source = state.reads(item)[0].node if state.node(item).work.is_view else ARGUMENTS
        if source != ARGUMENTS and state.is_nested(source):
            x.attempt(MoveIn(item, state.outermost(source)))
    for item in remaining:
        if _computes(state, item) and _reads_nothing(state, item):
            _give_to_readers(x, item)


def _computes(state: State, item: int) -> bool:
    node = state.node(item)
    is_pure = not node.effect and node.op not in FREE
    return is_pure and any(result.is_tensor for result in node.results)


def _reads_nothing(state: State, item: int) -> bool:
    """Return whether an op reads no tensor but its destination: a fill, say."""
    node = state.node(item)
    if not node.is_cheap:
        return False
    for position, value in enumerate(state.reads(item)):
        if position == node.results[0].destination:
            continue
        if value.node == ARGUMENTS or state.node(value.node).op not in FREE:
            return False
    return True


def _give_to_readers(x: Exploration, fill: int) -> None:
    """Put a fill into the group that reads it; a copy into each, where several do."""
    state = x.state
    readers = dict.fromkeys(state.outermost(user) for user in state.users(fill))
    groups = [reader for reader in readers if state.is_group(reader)]
    for group in groups[:-1]:
        x.attempt(Duplicate(fill, group))
    reader_items = {state.outermost(user) for user in state.users(fill)}
    if groups and reader_items == {groups[-1]}:
        x.attempt(MoveIn(fill, groups[-1]))
    elif groups:
        x.attempt(Duplicate(fill, groups[-1]))
    if state.parent(fill) == ROOT and not groups:
        x.attempt(Insert((fill,)))


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
        together: seconds by the model with all ops in as few groups as possible, as pipelines group
            a function without groups.
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
        """The cost of the grouping that was found."""
        return self.model.of_state(self.state)

    @property
    def is_worth_it(self) -> bool:
        """Return whether it is faster than no groups, as measured, or clearly by the model."""
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
        count = f"{len(groups)} group{'s' * (len(groups) != 1)}"
        before, after = self.before.seconds, self.cost.seconds
        how = f"{self.settings.name}, seed {self.settings.seed}: {self.tried} moves tried in "
        rows = [
            ("search", how + seconds_text(self.seconds) + ", interrupted" * self.is_interrupted),
            ("found", f"{count} of {len(self.state.graph.nodes)} ops"),
            ("model", f"{seconds_text(before)} -> {seconds_text(after)}"),
        ]
        if math.isfinite(self.together):
            rows.append(
                ("together", f"{seconds_text(self.together)} as pipelines fuse by themselves")
            )
        for grouping in self.measured:
            mark = ", taken" if grouping.plan is self.plan else ""
            model, seconds = seconds_text(grouping.model), seconds_text(grouping.seconds)
            rows.append(("measured", f"{seconds}, where the model says {model}{mark}"))
        return rows

    def __repr__(self) -> str:
        head = [f"{name:9} {text}" for name, text in self.rows()]
        return "\n".join([f"Grouping of @{self.state.graph.function}", *head, *self._lines()])

    def _lines(self) -> Iterator[str]:
        for name, cost, inner in self._items():
            yield f"  {name}  {cost}"
            yield from (f"      {line}" for line in inner)

    def _items(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield each item outside all groups: its text, its cost, and the lines of a group."""
        for item in shown_items(self.state):
            cost = seconds_text(self.model.of_group(self.state, item).seconds)
            is_group = self.state.is_group(item)
            inner = list(lines_of(self.state, item)) if is_group else []
            yield text_of(self.state, item), cost, inner

    def __rich__(self) -> Tree:
        from rich.text import Text
        from rich.tree import Tree

        tree = Tree(Text(f"grouping of @{self.state.graph.function}", style="bold"))
        for name, text in self.rows():
            tree.add(Text.assemble((f"{name}  ", "cyan"), text))
        for name, cost, inner in self._items():
            branch = tree.add(Text.assemble((name, "bold" if inner else ""), f"  {cost}"))
            for line in inner:
                branch.add(Text(line))
        return tree

    def _repr_svg_(self) -> str:
        before = f"before: {seconds_text(self.before.seconds)}"
        after = f"after: {seconds_text(self.cost.seconds)}"
        return drawing(
            picture_of(State(self.state.graph), self.model, title=before),
            picture_of(self.state, self.model, title=after),
        )


SMALL = Search(moves=100, seconds=0.25, restarts=0)
"""The default settings: less than 50 ms for 20 ops, on a machine at rest."""
