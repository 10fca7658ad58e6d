"""The part of its loops that each op of a group runs in one tile of the group.

A tiling is of the op that gives the result. The other ops compute in a tile the parts that that op
reads of them in it: its footprints are their tiles.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from linalg_ext.structured.group import TILING

from ._graph import ARGUMENTS, FREE, Work
from ._state import State

SLICE = "tensor.extract_slice"

Tiles = dict[int, dict[int, int]]
"""For each node, the sizes of those of its loops that are tiled."""


def tiling_of(state: State, group: int) -> tuple[int, ...]:
    """Return the tiling that a group asks for; empty where it asks for none."""
    text = state.data(group).texts.get(TILING, "")
    return tuple(map(int, re.findall(r"-?\d+", text.partition(":")[2])))


def tiles_of(state: State, item: int, tiling: Sequence[int]) -> tuple[Tiles, int]:
    """Return the tiles of each node, and how many of them there are of the result."""
    nodes = working_nodes(state, item)
    if not nodes or not any(tiling):
        return {}, 1
    last = nodes[-1]
    work = state.node(last).work
    sizes = {
        loop: size
        for loop, size in enumerate(tiling)
        if 0 < size < _size(work, loop) and loop not in work.reduced
    }
    tiles: Tiles = {last: sizes}
    for node in reversed(nodes):
        _tile_producers(state, node, tiles, set(nodes))
    return tiles, math.prod(-(-_size(work, loop) // size) for loop, size in sizes.items())


def loops_of(state: State, item: int) -> tuple[int, ...]:
    """Return the sizes of the loops that a tiling of an item is of: those of its last op."""
    nodes = working_nodes(state, item)
    return state.node(nodes[-1]).work.loops if nodes else ()


def working_nodes(state: State, item: int) -> list[int]:
    """Return the nodes of an item that do something at run time, in order."""
    return [node for node in state.nodes_of(item) if state.node(node).work.kind != FREE]


def read_in_slices(state: State, item: int) -> set[int]:
    """Return the nodes of an item that others in it read in slices, as a stencil does."""
    sources: set[int] = set()
    inside = set(state.nodes_of(item))
    for node in inside:
        for value in state.reads(node):
            source = value.node
            while source in inside and state.node(source).op == SLICE:
                source = state.reads(source)[0].node
            if source != value.node and source in inside:
                sources.add(source)
    return sources


def _tile_producers(state: State, node: int, tiles: Tiles, inside: set[int]) -> None:
    work = state.node(node).work.tiled(tiles.get(node, {}))
    reads = state.reads(node)
    for access in work.reads:
        producer, extents = _source(state, reads[access.position].node, access.extents(work.loops))
        if producer not in inside:
            continue
        work_of_producer = state.node(producer).work
        needed = _loops_of(work_of_producer, extents)
        sizes = tiles.get(producer, {})
        # Another reader may need more.
        tiles[producer] = {loop: max(size, sizes.get(loop, 0)) for loop, size in needed.items()}


def _source(state: State, node: int, extents: Sequence[float]) -> tuple[int, Sequence[float]]:
    """Return the node that a value is slices of, and the extents of it that these cover together.

    Overlapping slices add a rim to the extents of one.
    """
    while node != ARGUMENTS and state.node(node).op == SLICE:
        source = state.reads(node)[0]
        if source.node == ARGUMENTS:
            return ARGUMENTS, extents
        part = sizes_of(state.node(node).results[0].type)
        whole = sizes_of(state.node(source.node).results[source.number].type)
        if not len(part) == len(whole) == len(extents):
            return node, extents
        rims = [whole_size - size for whole_size, size in zip(whole, part, strict=True)]
        # A slice that lies further apart is computed by itself.
        extents = [e + rim if rim < e else e for e, rim in zip(extents, rims, strict=True)]
        node = source.node
    return node, extents


def sizes_of(type_: str) -> tuple[int, ...]:
    """Return the sizes of a tensor by the text of its type; none where some are open."""
    shape = re.fullmatch(r"tensor<((?:\d+x)*)[^x,]+>", type_)
    return tuple(map(int, shape[1].split("x")[:-1])) if shape else ()


def _loops_of(work: Work, extents: Sequence[float]) -> dict[int, int]:
    """Return the loops of a producer that give so much of its result."""
    if not work.writes:
        return {}
    axes = work.writes[0].axes
    return {
        axis[0]: math.ceil(extent)
        for axis, extent in zip(axes, extents, strict=False)
        if len(axis) == 1 and 0 < math.ceil(extent) < work.loops[axis[0]]
    }


def _size(work: Work, loop: int) -> int:
    return work.loops[loop] if loop < len(work.loops) else 0
