"""A graph without cycles in layers: what stands in each, and in which order.

The usual steps (K. Sugiyama, S. Tagawa, M. Toda, IEEE Transactions on Systems,
Man, and Cybernetics 11(2), 1981): each item goes below all that it reads; an edge that
reaches over layers has a place in each of them; within a layer all stand at the mean place of their
neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

_SWEEPS = 4

_MOST_PASSED = 4
"""Places that edges pass, for each item; where there would be more, edges pass behind boxes."""

Pair = tuple[int, int]
"""An edge: what is read, and what reads it."""


class Layers(NamedTuple):
    """A graph in layers.

    Attributes:
        layers: the first one first, each from left to right: items, and places that edges pass.
        passed: for each edge that reaches over layers, the places that it passes, one a layer.
    """

    layers: list[list[int]]
    passed: dict[Pair, tuple[int, ...]]


def layered(keys: Sequence[int], edges: Sequence[Pair]) -> Layers:
    """The layers of a graph.

    Args:
        keys: of its items, each after all those that it reads.
        edges: between them, each once.
    """
    layers = _layers(keys, edges)
    depth = {key: at for at, layer in enumerate(layers) for key in layer}
    passed: dict[Pair, tuple[int, ...]] = {}
    reach = {(source, end): range(depth[source] + 1, depth[end]) for source, end in edges}
    if sum(map(len, reach.values())) <= _MOST_PASSED * len(keys):
        fresh = itertools.count(max(keys, default=0) + 1)
        passed = {edge: tuple(next(fresh) for _ in over) for edge, over in reach.items() if over}
    for edge, places in passed.items():
        for at, place in zip(reach[edge], places, strict=True):
            layers[at].append(place)
    steps = [
        step
        for source, end in edges
        for step in pairwise((source, *passed.get((source, end), ()), end))
    ]
    return Layers(_ordered(layers, steps), passed)


def _layers(keys: Sequence[int], edges: Sequence[Pair]) -> list[list[int]]:
    """The items, each one layer below the lowest that it reads.

    An item that reads nothing goes right above what reads it.
    """
    reads: dict[int, list[int]] = {}
    users: dict[int, list[int]] = {}
    for source, end in edges:
        reads.setdefault(end, []).append(source)
        users.setdefault(source, []).append(end)
    depth: dict[int, int] = {}
    for key in keys:
        depth[key] = max((depth.get(k, 0) + 1 for k in reads.get(key, ())), default=0)
    for key in depth:
        if key not in reads and key in users:
            depth[key] = min(depth[user] for user in users[key]) - 1
    layers: list[list[int]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for key, layer in depth.items():
        layers[layer].append(key)
    return layers


def _ordered(layers: list[list[int]], edges: Sequence[Pair]) -> list[list[int]]:
    """The items of each layer by the mean place of their neighbours, down and up a few times."""
    neighbours: dict[int, list[int]] = {}
    for source, end in edges:
        neighbours.setdefault(source, []).append(end)
        neighbours.setdefault(end, []).append(source)
    place = {key: at / len(layer) for layer in layers for at, key in enumerate(layer)}

    def mean(key: int) -> float:
        near = neighbours.get(key, ())
        return sum(place[other] for other in near) / len(near) if near else place[key]

    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            layer.sort(key=mean)
            place.update((key, (at + 0.5) / len(layer)) for at, key in enumerate(layer))
    return layers
