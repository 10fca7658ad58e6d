"""The tiling that a search gives a group: the model is asked what a few would cost.

Tiles of rows pay where a product of matrices hands on more than the near caches hold: what it gives
is used while it is still there. The loops that stand outside rows, those over a batch say, are
tiled one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ._cost import CostModel
from ._graph import Value
from ._state import State
from ._tiling import loops_of, tiling_of, working_nodes
from ._work import CONTRACTION

Tiling = tuple[int, ...]

_ROWS = (48, 96, 192, 384, 768)
"""Sizes of tiles of rows: of as many whole tiles of registers as there are for all targets."""

_LARGE = 1 << 18
"""Bytes of an intermediate that is worth tiles; what is smaller stays in the caches."""

_GAIN = 0.05
"""Share of its cost that a tiling saves at least: what a model tells apart."""

_MOST_KEPT = 1 << 12
"""Answers that are kept."""


class BestTilings:
    """Tilings of groups by what a model says. Groups that a module came with keep their own."""

    def __init__(self, model: CostModel) -> None:
        self._model = model
        self._known: dict[tuple[int, tuple[Value, ...]], tuple[Tiling, float]] = {}

    def of(self, state: State, item: int) -> tuple[Tiling, float]:
        """The tiling that an item should have, empty where none, and what it costs so."""
        if not state.is_group(item):
            return (), self._model.of_group(state, item).seconds
        said = tiling_of(state, item)
        if _is_given(state, item):
            return said, self._model.of_group(state, item).seconds
        outputs = state.outputs(item)
        tilings = tuple(_worth_asking(state, item, outputs))
        if not tilings and not said:  # what the model keeps itself
            return (), self._model.of_group(state, item).seconds
        key = state.key(item), outputs
        if key not in self._known:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = self._asked(state, item, tilings)
        return self._known[key]

    def _asked(self, state: State, group: int, tilings: Sequence[Tiling]) -> tuple[Tiling, float]:
        whole = self._model.what_if(state, group, ()).seconds
        costs = {tiling: self._model.what_if(state, group, tiling).seconds for tiling in tilings}
        best = min(costs, key=costs.__getitem__, default=())
        if not best or costs[best] > whole * (1 - _GAIN):
            return (), whole
        return best, costs[best]


def _is_given(state: State, group: int) -> bool:
    return any(given.number == group for given in state.graph.groups)


def _worth_asking(state: State, group: int, outputs: Sequence[Value]) -> Iterator[Tiling]:
    """Tilings that may pay."""
    nodes = working_nodes(state, group)
    is_one = len(nodes) > 1 and [value.node for value in outputs] == [nodes[-1]]
    if is_one and any(_hands_on_much(state, node) for node in nodes[:-1]):
        yield from _of_rows(loops_of(state, group), state.node(nodes[-1]).work.reduced)


def _hands_on_much(state: State, node: int) -> bool:
    work = state.node(node).work
    return work.kind == CONTRACTION and any(access.bytes > _LARGE for access in work.writes)


def _of_rows(loops: Sequence[int], reduced: Collection[int]) -> Iterator[Tiling]:
    """Tilings of the outermost loop of many iterations, and one by one of those outside it."""
    ones: Tiling = ()
    for loop, size in enumerate(loops[: max(1, len(loops) - 1)]):
        if loop in reduced:
            return
        if size > _ROWS[0]:
            yield from ((*ones, rows) for rows in _ROWS if rows < size)
            return
        ones = (*ones, 1)
        yield ones
