"""Costs: the answers of a cost model, in seconds, and their parts.

A search depends on a `CostModel` and nothing else of the machine, so any object with its three
methods will do: a calibrated one (`TargetModel`), one that counts bytes, one that measures.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from linalg_ext.errors import ArgumentTypeError, GroupingError
from linalg_ext.runtime import threads as crews
from linalg_ext.target import Figures, Level, Target, current, figures, named
from linalg_ext.target.performance import BESIDE_FUNCTIONS
from linalg_ext.target.performance import FUNCTIONS as ALL_FUNCTIONS
from linalg_ext.target.text import seconds_text

from ._graph import ARGUMENTS, CONTRACTION, FREE, MOVE, WINDOW, Access, Graph, Value, Work
from ._nests import Members, Nest, nests_of
from ._state import ROOT, Item, State
from ._tiling import SLICE, loops_of, tiles_of, tiling_of


@dataclass(frozen=True, repr=False)
class Cost:
    """Seconds, and their parts.

    >>> print(Cost(3e-6, (("memory", 2e-6), ("calls", 1e-6))))

    Attributes:
        seconds: in all.
        parts: seconds of each part by name, in the order of the table; their sum is `seconds`.
        work: the counts behind them (bytes of each level, operations of each kind), by name and
            with the unit in the name.
    """

    seconds: float
    parts: tuple[tuple[str, float], ...] = ()
    work: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, parts: Iterable[tuple[str, float]], work: Iterable[tuple[str, float]] = ()) -> Cost:
        """Return the cost that has these parts."""
        own_parts = tuple(parts)
        return cls(sum(seconds for _, seconds in own_parts), own_parts, tuple(work))

    @classmethod
    def sum(cls, costs: Iterable[Cost]) -> Cost:
        """Return all costs together: parts and work of one name are added."""
        seconds, parts, work = 0.0, defaultdict[str, float](float), defaultdict[str, float](float)
        for cost in costs:
            seconds += cost.seconds
            for name, value in cost.parts:
                parts[name] += value
            for name, value in cost.work:
                work[name] += value
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
        width, figures = (max(len(row[column]) for row in rows) for column in (0, 1))
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


_MOST_KEPT = 1 << 16
"""Answers that are kept."""

_ALONE = frozenset({"nests", "call"})
"""Parts of a cost that threads do not share."""


class TargetModel:
    """Costs by the figures of a target.

    Attributes:
        target: whose they are.
        figures: they.
        threads: how many may work on a call.
    """

    def __init__(self, target: Target | str | None = None, *, threads: int | None = None) -> None:
        """A model of a machine.

        Args:
            target: it, or its name; the one in force where nothing is given.
            threads: as many as are in force where nothing is given.

        Raises:
            TargetError: there is no target of that name.
            ArgumentError: not a number of threads.
        """
        self.target = named(target) if isinstance(target, str) else target or current()
        self.figures = figures(self.target)
        count = crews.current() if threads is None else crews.checked(threads)
        self.threads = min(count, self.figures.threads)
        self._graph: Graph | None = None
        self._around = 0.0
        self._known: dict[Hashable, Cost] = {}

    def __repr__(self) -> str:
        plural = "s" * (self.threads != 1)
        return (
            f"<TargetModel of {self.target.name}, {self.threads} thread{plural}, "
            f"{self.figures.source} figures>"
        )

    def of_group(self, state: State, group: Item) -> Cost:
        """The cost of a group, or of a node that stands alone, under the tiling that it says.

        Args:
            state: it.
            group: the number of an item of it, or the label of a group.

        Raises:
            GroupingError: there is no such item.
        """
        self._turn_to(state.graph)
        group = state.item(group)
        is_group = state.is_group(group)
        outputs = state.outputs(group) if is_group else ()
        key = (state.key(group), outputs) if is_group else state.node(group).number
        cost = self._known.get(key)
        if cost is None:
            tiling = tiling_of(state, group) if is_group else ()
            outputs = outputs or state.outputs(group)
            cost = self._computed(state, group, outputs, tiling)
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = cost
        return cost

    def of_state(self, state: State) -> Cost:
        """The cost of all that stands outside all groups, groups as wholes, and of one call."""
        begin = Cost.of([("call", self.figures.call)])
        return Cost.sum([begin, *(self.of_group(state, item) for item in state.children(ROOT))])

    def what_if(self, state: State, group: Item, tiling: Sequence[int]) -> Cost:
        """Return the cost of a group, or a node, with another tiling of its last op.

        Args:
            state: it is not changed.
            group: the number of an item of it, or the label of a group.
            tiling: a size for each of the leading loops of the op that gives the result, 0 for one
                that is not tiled.

        Raises:
            GroupingError: there is no such item; or these are not sizes.
            ArgumentTypeError: the tiling is not a sequence.
        """
        group = state.item(group)
        if not isinstance(tiling, Sequence):
            raise ArgumentTypeError(
                f"{tiling!r} is not a tiling", expected="sizes, such as (8, 64)"
            )
        tiling = tuple(tiling)
        loops = loops_of(state, group)
        if any(type(size) is not int or size < 0 for size in tiling) or len(tiling) > len(loops):
            raise GroupingError(
                f"{state.describe(group)} cannot be tiled by {tiling!r}",
                expected=f"sizes for its leading loops, which are {list(loops)}, 0 for one that is "
                "not tiled",
            )
        self._turn_to(state.graph)
        return self._computed(state, group, state.outputs(group), tiling)

    def _computed(
        self, state: State, item: int, outputs: Sequence[Value], tiling: Sequence[int]
    ) -> Cost:
        tiles, count = tiles_of(state, item, tiling)
        members = Members(state, item, outputs, tiles)
        counting = Counting(self.target, self.figures, members, self._around, count)
        cost = counting.of(nests_of(members))
        return cost if self.threads == 1 else self._on_threads(cost, members, count)

    def _on_threads(self, cost: Cost, members: Members, tiles: int) -> Cost:
        slack = max((_slack(work) for work in members.work.values()), default=1)
        threads = min(self.threads, slack * tiles)
        # Reading from a level is faster by the rate of all cores together.
        speedups: dict[str, float] = {
            level.name: max(1.0, min(threads, level.shared / level.read))
            for level in self.figures.levels
        }
        parts = [
            (name, seconds / (1.0 if name in _ALONE else speedups.get(name, threads)))
            for name, seconds in cost.parts
        ]
        shared = Cost.of([*parts, ("threads", self.figures.fork)], cost.work)
        return min(cost, shared, key=lambda option: option.seconds)

    def _turn_to(self, graph: Graph) -> None:
        if graph is not self._graph:
            self._graph, self._around = graph, given_bytes(graph)
            self._known.clear()


def _slack(work: Work) -> int:
    """Return the number of parts that can run at the same time: iterations outside of the rows."""
    rows = len(work.loops) - 1
    return max(1, math.prod(work.loops[loop] for loop in work.parallel if loop != rows))


def given_bytes(graph: Graph) -> float:
    """Return the bytes of a function's arguments, constants and results."""
    sizes: dict[Value, float] = {}
    for node in graph.nodes:
        for access in node.work.reads:
            value = _viewed(graph, node.reads[access.position])
            if value.node == ARGUMENTS or graph.nodes[value.node].work.kind == FREE:
                sizes[value] = max(access.bytes, sizes.get(value, 0.0))
        for number, access in enumerate(node.work.writes):
            if Value(node.number, number) in graph.returned:
                sizes[Value(node.number, number)] = access.bytes
    return sum(sizes.values())


def _viewed(graph: Graph, value: Value) -> Value:
    """Return the value that another is a view or a slice of, or the value itself."""
    while value.node != ARGUMENTS:
        node = graph.nodes[value.node]
        if not node.work.is_view and node.op != SLICE:
            break
        value = node.reads[0]
    return value


_CROWDING = frozenset(set(ALL_FUNCTIONS) - {"simple", "divide"})
"""The functions that crowd a nest: several of them wait for each other."""


@dataclass(frozen=True)
class Counting:
    """The cost of the nests of one group on one core.

    Attributes:
        target, figures: the machine.
        members: the group.
        around: bytes that a call of the whole function touches, without its intermediate results.
        tiles: how many times all of it is done, each time for one tile.
    """

    target: Target
    figures: Figures
    members: Members
    around: float
    tiles: int

    def of(self, nests: Sequence[Nest]) -> Cost:
        """Return the cost of all nests together."""
        near: set[int] = set()
        costs = []
        for nest in nests:
            near = near if nest.shares_rows else set()
            costs.append(self._of_nest(nest, near))
            near = near | set(nest.ops)
        cost = Cost.sum(costs)
        if self.tiles == 1:
            return cost
        return Cost.of(
            [(name, seconds * self.tiles) for name, seconds in cost.parts],
            [(name, count * self.tiles) for name, count in cost.work],
        )

    def _of_nest(self, nest: Nest, near: set[int]) -> Cost:
        """Return the cost of one nest; `near` are ops whose results are in the nearest cache."""
        computing, moving, work = (defaultdict[str, float](float) for _ in range(3))
        for node in nest.ops:
            node_work = self.members.work[node]
            rounds = nest.rounds[node]
            for kind, seconds, count in arithmetic(node_work, rounds, self.target, self.figures):
                computing[kind] += seconds
                work[kind] += count
        # Functions wait for each other where a nest has several; simple ops fill the gaps.
        functions = _CROWDING & computing.keys()
        if functions and "simple" in computing:
            computing["simple"] *= BESIDE_FUNCTIONS
        if len(functions) > 1:
            for kind in functions:
                computing[kind] *= self.figures.crowding
        traffic = [(level, moved, level.read) for level, moved in self._reads(nest, near)]
        written = (*self._writes(nest), *self._packed(nest))
        traffic += [(level, moved, level.write) for level, moved in written]
        for level, moved, rate in traffic:
            moving[level.name] += moved / rate
            work[f"bytes of {level.name}"] += moved
        main = self.members.work[nest.main]
        beyond = 1.0  # of a product: operands are packed, and tiles of the result written, apart
        if not main.is_product:
            in_memory = sum(moving.values())
            waiting = max(0.0, in_memory - sum(computing.values()))
            beyond = waiting / in_memory if in_memory else 0.0
        parts = [
            *computing.items(),
            *((name, beyond * seconds) for name, seconds in moving.items() if beyond),
            ("nests", 0.0 if nest.shares_rows else self.figures.nest),
            ("loops", _innermost_starts(main) * self.figures.loop),
        ]
        return Cost.of(parts, work.items())

    def _reads(self, nest: Nest, near: set[int]) -> Iterator[tuple[Level, float]]:
        """Yield the levels that tensors are read from, with the bytes, each tensor once."""
        members, counted = self.members, set[Value]()
        for node in nest.ops:
            loops = members.work[node].loops
            for access, value in members.reads(node):
                if value in counted or value.node in nest.ops or members.is_for_free(value):
                    continue
                counted.add(value)
                yield from self._reading(value, access, loops, near)

    def _writes(self, nest: Nest) -> Iterator[tuple[Level, float]]:
        """Yield the levels that results are written to, with the bytes; the memory is mapped."""
        members, node = self.members, nest.ops[-1]
        last = members.work[node]
        for access in last.writes:
            moved = access.touched(last.loops)
            if node not in members.outputs and (nest.gives_rows or self.tiles > 1):
                level = self.figures.levels[0] if nest.gives_rows else self._nearest_for(moved)
                yield level, moved
                continue
            yield self._nearest_for(access.bytes), moved

    def _packed(self, nest: Nest) -> Iterator[tuple[Level, float]]:
        """Yield the levels that a product's packed operands are written to, with the bytes."""
        work = self.members.work[nest.main]
        if work.kind == CONTRACTION and is_of_matrices(work):
            # Packed operands share the caches with the result.
            touched = [access.touched(work.loops) for access in (*work.reads, *work.writes)]
            level = self.figures.level_of(sum(touched) + sum(touched[:2]))
            for access, moved in zip(work.reads, touched[:2], strict=False):
                # An operand that all tiles read whole is packed before them.
                yield level, moved / self.tiles if moved == access.bytes else moved

    def _reading(
        self, value: Value, access: Access, loops: Sequence[int], near: set[int]
    ) -> Iterator[tuple[Level, float]]:
        moved = access.touched(loops)
        if value.node in near:
            yield self.figures.levels[0], moved
            return
        if value.node in self.members.inside:
            yield self._nearest_for(moved), moved
            return
        # An argument or a constant is there before the call.
        is_given = value.node == ARGUMENTS or self.members.state.node(value.node).work.kind == FREE
        outside = self.around if is_given else 2 * access.bytes
        # A tile finds the data that every tile reads where the tile before has left it.
        first = min(moved, access.bytes / self.tiles)
        yield self.figures.level_of(outside), first
        if moved > first:
            yield self._nearest_for(moved), moved - first

    def _nearest_for(self, moved: float) -> Level:
        """Return the level that holds a value after as many bytes as its own were written since."""
        return self.figures.level_of(2 * moved)


def _innermost_starts(work: Work) -> float:
    """Return the number of times that an innermost loop begins; 0 for contractions and windows.

    The rate of contractions contains these starts already.
    """
    if work.kind in (CONTRACTION, WINDOW) or not work.iterations:
        return 0.0
    return 1.0 if is_contiguous(work) else work.iterations / work.loops[-1]


_TILE_ROWS = 6
"""Rows of a tile of a contraction."""

_TILE_STEPS = 10.0
"""Steps of the depth that beginning and ending such a tile takes."""

_POOLING = 0.5
"""Part of the rate of simple operations that poolings reach."""

_ACROSS = 4.0
"""Simple operations for an element that is read across its rows, to transpose it in registers."""


def arithmetic(
    work: Work, rounds: float, target: Target, figures: Figures
) -> Iterator[tuple[str, float, float]]:
    """Yield the name, the seconds on one core and the count of each kind of operation.

    Args:
        work: of the op.
        rounds: how many times each iteration is done.
        target: the machine, whose registers are filled.
        figures: of the target.
    """
    count = work.iterations * rounds
    lanes = target.lanes(work.dtype) if _is_known(work.dtype) else 1
    for kind, in_iteration in work.operations:
        total = count * in_iteration
        if kind == "multiply_add":
            yield "multiply-adds", 2 * total / _product_rate(work, lanes, figures), 2 * total
        elif work.is_scalar:
            # One after another, two at a time at best.
            yield kind, max(1.0, in_iteration / 2) * count / figures.scalar, total
        else:
            rate = figures.function_rate(kind, work.dtype) * _filled(work, lanes)
            yield kind, total / (rate * (_POOLING if work.kind == WINDOW else 1.0)), total
    if across := _read_across(work):
        seconds = _ACROSS * across * count / figures.function_rate("simple", work.dtype)
        yield "transposing", seconds, across * count


def is_contiguous(work: Work) -> bool:
    """Return whether the loops are one over memory: all operands lie as the result does."""
    own = tuple((loop,) for loop in range(len(work.loops)))
    return all(access.axes in (own, ()) for access in (*work.reads, *work.writes))


def is_of_matrices(work: Work) -> bool:
    """Return whether both operands of a contraction have own dimensions, of more than 1."""
    return len(work.reads) >= 2 and min(_sizes(work)[:2]) > 1


def _sizes(work: Work) -> tuple[int, int, int]:
    """Return the rows, columns and depth of a contraction of two operands."""
    first, second = ({loop for axis in access.axes for loop in axis} for access in work.reads[:2])
    rows, columns, depth = (
        math.prod(work.loops[loop] for loop in loops)
        for loops in (first - second, second - first, first & second & set(work.reduced))
    )
    return rows, columns, depth


def _product_rate(work: Work, lanes: int, figures: Figures) -> float:
    if work.kind != CONTRACTION or len(work.reads) < 2:
        width = work.loops[work.parallel[-1]] if work.parallel else 1
        return figures.rate("windows", work.dtype) * _part_filled(width, lanes)
    rows, columns, depth = _sizes(work)
    if not is_of_matrices(work):
        # No element of a matrix is used twice: loads set the pace.
        return figures.rate("multiply_adds", work.dtype) / 4 * _part_filled(depth, lanes)
    edges = _part_filled(rows, _TILE_ROWS) * _part_filled(columns, lanes)
    return figures.rate("contractions", work.dtype) * edges * depth / (depth + _TILE_STEPS)


def _filled(work: Work, lanes: int) -> float:
    if work.kind == MOVE or not work.loops:
        return 1.0
    length = work.iterations if is_contiguous(work) else work.loops[-1]
    return _part_filled(length, lanes)


def _part_filled(length: int, step: int) -> float:
    return length / (-(-length // step) * step) if length else 1.0


def _read_across(work: Work) -> int:
    """Return the number of operands that lie across the innermost loop."""
    if work.kind in (CONTRACTION, WINDOW, MOVE) or len(work.loops) < 2:
        return 0
    inner = len(work.loops) - 1
    return sum(any(axis == (inner,) for axis in access.axes[:-1]) for access in work.reads)


def _is_known(dtype: str) -> bool:
    return dtype.lstrip("suibf").isdigit() or dtype == "index"
