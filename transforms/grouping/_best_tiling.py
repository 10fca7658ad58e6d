"""The tiling that a search gives a group: the cheapest of a few, by the model.

Tiles pay where a product of matrices, a convolution, or a producer of one of these or of a stencil
hands on more than the near caches hold: its result is used while it is still there. Tiles are of
rows, of channels where there are windows; loops that stand outside these, over a batch say, are
tiled one by one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from linalg_ext.structured.group import TILING

from ._graph import WINDOW, Value, Work
from ._moves import Annotate
from ._state import State
from ._tiling import read_in_slices, tiles_of, tiling_of, working_nodes
from .cost import CostModel

Tiling = tuple[int, ...]

_ROWS = (48, 96, 192, 384, 768)
"""Sizes of tiles of rows: multiples of those that register tiles have."""

_AROUND = 3 / 2
"""The largest factor between the rows wanted for a tile and those that divide a size evenly."""

_PARTS = (4, 8, 16)
"""Sizes of tiles of images, along their channels or their rows."""

_LARGE = 1 << 18
"""Bytes of an intermediate that is worth tiles; a smaller result stays in the caches."""

_NEAR = 1 << 20
"""Bytes that a product hands on in a tile at most: the last cache is others' too."""

_MOST_OPS = 128
"""Ops of a group that is tiled at most: to ask takes longer the more there are."""

_GAIN = 0.05
"""The least share of its cost that a tiling saves: a model does not resolve less."""

_MOST_KEPT = 1 << 12
"""Answers that are kept."""


class BestTilings:
    """Tilings of groups by a cost model. Groups that a module came with keep their own."""

    def __init__(self, model: CostModel) -> None:
        self._model = model
        self._known: dict[tuple[int, tuple[Value, ...]], tuple[Tiling, float]] = {}

    def of(self, state: State, item: int) -> tuple[Tiling, float]:
        """Return the tiling that an item should have, empty where none, and its cost so."""
        if not state.is_group(item):
            return (), self._model.of_group(state, item).seconds
        tiling = tiling_of(state, item)
        if _is_given(state, item):
            return tiling, self._model.of_group(state, item).seconds
        outputs = state.outputs(item)
        tilings = tuple(_worth_asking(state, item, outputs))
        if not tilings and not tiling:  # the part that the model keeps itself
            return (), self._model.of_group(state, item).seconds
        key = state.key(item), outputs
        if key not in self._known:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            costs = self._costs(state, item, tilings)
            best = min(costs, key=costs.__getitem__)
            best = best if costs[best] <= costs[()] * (1 - _GAIN) else ()
            self._known[key] = best, costs[best]
        return self._known[key]

    def ranked(self, state: State, item: int) -> list[tuple[Tiling, float]]:
        """Return the seconds of an item in each tiling that may pay, and in none: best first."""
        if not state.is_group(item) or _is_given(state, item):
            return []
        tilings = tuple(_worth_asking(state, item, state.outputs(item)))
        if not tilings:
            return []
        return sorted(self._costs(state, item, tilings).items(), key=lambda pair: pair[1])

    def _costs(self, state: State, group: int, tilings: Sequence[Tiling]) -> dict[Tiling, float]:
        return {t: self._model.what_if(state, group, t).seconds for t in ((), *tilings)}


def untiled(state: State) -> State:
    """Return the same groups without the tilings that a search gave them."""
    bare = state.copy()
    for item in bare.children():
        if bare.is_group(item) and tiling_of(bare, item) and not _is_given(bare, item):
            bare.apply(Annotate(item, TILING, None))
    return bare


def _is_given(state: State, group: int) -> bool:
    return group < len(state.graph.nodes) + len(state.graph.groups)


def _worth_asking(state: State, group: int, outputs: Sequence[Value]) -> Iterator[Tiling]:
    nodes = working_nodes(state, group)
    if not 2 <= len(nodes) <= _MOST_OPS or [value.node for value in outputs] != [nodes[-1]]:
        return
    if any(map(state.is_group, state.children(group))):
        return
    works = {node: state.node(node).work for node in nodes}
    slices = read_in_slices(state, group)
    read = {value.node for node in nodes if works[node].is_product for value in state.reads(node)}
    read = {node for node in read & works.keys() if not works[node].is_constant}
    handing = [n for n in nodes[:-1] if works[n].is_product or n in slices or n in read]
    if not any(_handed_on(works[node], works[node]) > _LARGE for node in handing):
        return
    is_of_images = any(works[node].kind == WINDOW for node in handing)
    for tiling in (_of_images if is_of_images else _of_rows)(works[nodes[-1]]):
        tiles, _ = tiles_of(state, group, tiling)
        if all(_handed_on(works[n], works[n].tiled(tiles.get(n, {}))) <= _NEAR for n in handing):
            yield tiling


def _handed_on(work: Work, tile: Work) -> float:
    """Return the bytes that an op writes in a tile."""
    return sum(access.touched(tile.loops) for access in work.writes)


def _of_rows(work: Work) -> Iterator[Tiling]:
    """Yield tilings of the outermost long loop; the loops outside it are tiled by 1."""
    loops, parallel = work.loops, work.parallel
    prefix: Tiling = ()
    for loop in parallel[: max(1, len(parallel) - 1)]:
        if loop != len(prefix):
            return
        if loops[loop] > _ROWS[0]:
            sizes = (_even(loops[loop], rows) for rows in _ROWS if rows < loops[loop])
            yield from ((*prefix, rows) for rows in dict.fromkeys(sizes))
            return
        prefix = (*prefix, 1)
        yield prefix


def _even(size: int, rows: int) -> int:
    """Return the rows of a tile near `rows` that divide a size: code of one size is faster."""
    around = range(math.ceil(rows / _AROUND), min(size - 1, int(rows * _AROUND)) + 1)
    dividing = [divisor for divisor in around if size % divisor == 0]
    return min(dividing, key=lambda divisor: (abs(divisor - rows), -divisor), default=rows)


def _of_images(work: Work) -> Iterator[Tiling]:
    """Yield tilings of single images by their channels and rows."""
    loops, parallel = work.loops, work.parallel
    if parallel[:3] == (0, 1, 2):
        parts = ([0, *(size for size in _PARTS if size < loops[loop])] for loop in (1, 2))
        yield from ((1, *sizes) for sizes in itertools.product(*parts))
