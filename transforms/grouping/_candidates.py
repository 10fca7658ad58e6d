"""Moves that a search tries: of neighbours, which read each other or the same, and cuts of groups.

None of them need be legal.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

from ._graph import ARGUMENTS
from ._moves_of_groups import Merge, Split
from ._moves_of_ops import Duplicate
from ._state import ROOT, Move, State

FREE = frozenset(
    {"arith.constant", "tensor.empty", "tensor.splat", "tensor.dim", "tensor.from_elements"}
)
"""Ops that no group is made for: each user has its own."""

_MOST_CUTS = 6
"""The most cuts of a group, and the most neighbours taken from the readers of one value."""


def moves_near(state: State, items: Iterable[int]) -> Iterator[Move]:
    """Moves of groups that stand outside all others: merge two, cut one, copy into one.

    Args:
        state: it is not changed while the moves are taken.
        items: the groups; what is no group is passed over.
    """
    pairs: set[tuple[int, int]] = set()
    for item in items:
        if not state.is_group(item):
            continue
        for other in neighbours(state, item):
            pair = (min(item, other), max(item, other))
            if pair not in pairs:
                pairs.add(pair)
                yield Merge(*pair)
        held = state.children(item)
        for at in _cuts(len(held)):
            yield Split(item, held[at:])
        yield from _copies(state, item)


def neighbours(state: State, group: int) -> list[int]:
    """The groups that a group reads, that read it, and the nearest that read what it reads."""
    found: dict[int, None] = {}
    inputs = state.inputs(group)
    for value in inputs:
        if value.node != ARGUMENTS:
            found[outermost(state, value.node)] = None
    for node in state.nodes_of(group):
        for user in state.users(node):
            found[outermost(state, user)] = None
    for value in inputs:
        if value.node != ARGUMENTS and state.node(value.node).op not in FREE:
            for user in state.users(value.node)[:_MOST_CUTS]:
                found[outermost(state, user)] = None
    return [item for item in found if item != group and state.is_group(item)]


def random_move(state: State, rng: random.Random) -> Move | None:
    """A move by chance: two groups merged, one cut, an op copied; None if absent."""
    groups = [item for item in state.children() if state.is_group(item)]
    for group in rng.sample(groups, len(groups)):
        kinds: list[Sequence[Move]] = [
            [Merge(group, other) for other in neighbours(state, group)],
            _random_cut(state, group, rng),
            list(_copies(state, group)),
        ]
        found = [kind for kind in kinds if kind]
        if found:
            return rng.choice(rng.choice(found))
    return None


def outermost(state: State, item: int) -> int:
    """The item outside all groups that holds another, or is it."""
    while (above := state.parent(item)) != ROOT:
        item = above
    return item


def _cuts(length: int) -> list[int]:
    """Return the places where a group of `length` items is cut, spread evenly."""
    count = min(_MOST_CUTS, length - 1)
    return sorted({round((at + 1) * length / (count + 1)) for at in range(count)} - {0, length})


def _random_cut(state: State, group: int, rng: random.Random) -> list[Move]:
    held = state.children(group)
    return [Split(group, held[rng.randrange(1, len(held)) :])] if len(held) > 1 else []


def _copies(state: State, group: int) -> Iterator[Move]:
    """Cheap ops of other groups, copied into this one."""
    for value in state.inputs(group):
        if value.node == ARGUMENTS:
            continue
        node = state.node(value.node)
        if node.is_cheap and node.op not in FREE:
            yield Duplicate(value.node, group)
