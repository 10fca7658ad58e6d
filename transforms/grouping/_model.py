"""A cost model of the code that groups become: bytes at each level, operations, beginnings.

    model = TargetModel()                   # of the machine in force, for the threads in force
    print(model.of_state(state))
    print(model.what_if(state, group, (32, 64)))

For each nest that a group becomes (`_nests.py`): arithmetic takes as long as its operations do at
the rates that the target's figures say; memory as long as the bytes that come from each level and
go there; the longer of the two counts (S. Williams, A. Waterman, D. Patterson, CACM 52(4), 2009),
and what memory takes beyond arithmetic is told by level. Beginnings of nests and of innermost loops
are added. Several threads share arithmetic and the levels, if the work is worth waking them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

from linalg_ext.errors import ArgumentTypeError, GroupingError
from linalg_ext.runtime import threads as crews
from linalg_ext.target import Target, current, figures, named

from ._counting import Counting
from ._graph import ARGUMENTS, Graph, Value
from ._group_data import Item
from ._nests import Members, nests_of
from ._state import ROOT, State
from ._tiling import SLICE, loops_of, tiles_of, tiling_of
from ._work import FREE, Work
from .cost import Cost

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
        wanted = crews.current() if threads is None else crews.checked(threads)
        self.threads = min(wanted, self.figures.threads)
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
            cost = self._keep(key, self._computed(state, group, outputs, tiling))
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
            GroupingError: there is no such item; or these are no sizes.
            ArgumentTypeError: the tiling is no sequence.
        """
        group = state.item(group)
        if not isinstance(tiling, Sequence):
            raise ArgumentTypeError(f"{tiling!r} is no tiling", expected="sizes, such as (8, 64)")
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
        """The cost on all threads, if it is less."""
        slack = max((_slack(work) for work in members.work.values()), default=1)
        threads = min(self.threads, slack * tiles)
        faster = self._faster(threads)
        parts = [
            (name, seconds / (1.0 if name in _ALONE else faster.get(name, threads)))
            for name, seconds in cost.parts
        ]
        shared = Cost.of([*parts, ("threads", self.figures.fork)], cost.work)
        return min(cost, shared, key=lambda each: each.seconds)

    def _faster(self, threads: int) -> Mapping[str, float]:
        """Return the speedup of `threads` threads over one at reading from each level."""
        levels = self.figures.levels
        return {each.name: max(1.0, min(threads, each.shared / each.read)) for each in levels}

    def _keep(self, key: Hashable, cost: Cost) -> Cost:
        if len(self._known) >= _MOST_KEPT:
            self._known.clear()
        self._known[key] = cost
        return cost

    def _turn_to(self, graph: Graph) -> None:
        if graph is not self._graph:
            self._graph, self._around = graph, given_bytes(graph)
            self._known.clear()


def _slack(work: Work) -> int:
    """Return the number of parts that can run at the same time: iterations outside of the rows."""
    outer = [size for at, size in enumerate(work.loops[:-1]) if at not in work.reduced]
    return max(1, math.prod(outer))


def given_bytes(graph: Graph) -> float:
    """Bytes of what a function is given, holds as constants, and gives back."""
    given: dict[Value, float] = {}
    for node in graph.nodes:
        for access in node.work.reads:
            value = _viewed(graph, node.reads[access.position])
            if value.node == ARGUMENTS or graph.nodes[value.node].work.kind == FREE:
                given[value] = max(access.bytes, given.get(value, 0.0))
        for number, access in enumerate(node.work.writes):
            if Value(node.number, number) in graph.returned:
                given[Value(node.number, number)] = access.bytes
    return sum(given.values())


def _viewed(graph: Graph, value: Value) -> Value:
    """Return the value that another is a view or a slice of, or the value itself."""
    while value.node != ARGUMENTS:
        node = graph.nodes[value.node]
        if not node.work.is_view and node.op != SLICE:
            break
        value = node.reads[0]
    return value
