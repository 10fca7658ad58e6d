"""Groupings that a search begins with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ._candidates import FREE, outermost
from ._exploration import Exploration
from ._graph import ARGUMENTS
from ._moves_of_groups import Insert, Merge
from ._moves_of_ops import Duplicate, MoveIn
from ._state import ROOT, State

VIEWS = frozenset(
    {"tensor.cast", "tensor.collapse_shape", "tensor.expand_shape", "tensor.extract_slice"}
)
"""Ops that move nothing: they stay with what they show."""


def apart(x: Exploration) -> None:
    """A group for each op, with the fills that it starts from and the views that show it."""
    state = x.state
    outside = [item for item in state.children() if not state.is_group(item)]
    outside = [item for item in outside if _computes(state, item)]
    fills = [item for item in outside if _is_made_of_nothing(state, item)]
    for item in outside:
        if state.node(item).op in VIEWS:
            source = state.reads(item)[0].node
            if source != ARGUMENTS and state.is_nested(source):
                x.attempt(MoveIn(item, outermost(state, source)))
        elif item not in fills:
            x.attempt(Insert((item,)))
    for fill in fills:
        _give_to_readers(x, fill)


def chains(x: Exploration) -> None:
    """Groups of element-wise ops, each of which is read by the next alone."""
    apart(x)
    state = x.state
    for node in state.graph.nodes:
        users = set(state.users(node.number))
        if not node.is_cheap or node.op in FREE or len(users) != 1:
            continue
        (user,) = users
        groups = [outermost(state, each) for each in (node.number, user)]
        if state.node(user).is_cheap and all(map(state.is_group, groups)):
            x.attempt(Merge(*groups))


def whole(x: Exploration) -> None:
    """As few groups as can be: all ops in one, where that is legal."""
    items = [
        item for item in x.state.children() if x.state.is_group(item) or _computes(x.state, item)
    ]
    if items and x.attempt(Insert(tuple(items))):
        return
    apart(x)
    last: int | None = None
    for item in x.state.children():
        if x.state.is_group(item) and (last is None or not x.attempt(Merge(last, item))):
            last = item


STARTS: Mapping[str, Callable[[Exploration], None]] = MappingProxyType(
    {"apart": apart, "chains": chains, "whole": whole}
)
"""All of them, by name."""


def _computes(state: State, item: int) -> bool:
    node = state.node(item)
    is_pure = not node.effect and node.op not in FREE
    return is_pure and any(result.is_tensor for result in node.results)


def _is_made_of_nothing(state: State, item: int) -> bool:
    """Whether an op reads no tensor but its destination: a fill, say."""
    node = state.node(item)
    if not node.is_cheap:
        return False
    for at, value in enumerate(state.reads(item)):
        if at == node.results[0].destination:
            continue
        if value.node == ARGUMENTS or state.node(value.node).op not in FREE:
            return False
    return True


def _give_to_readers(x: Exploration, fill: int) -> None:
    """Put a fill into the group that reads it; a copy into each, where several do."""
    state = x.state
    readers = dict.fromkeys(outermost(state, user) for user in state.users(fill))
    groups = [reader for reader in readers if state.is_group(reader)]
    for group in groups[:-1]:
        x.attempt(Duplicate(fill, group))
    left = {outermost(state, user) for user in state.users(fill)}
    if groups and left == {groups[-1]}:
        x.attempt(MoveIn(fill, groups[-1]))
    elif groups:
        x.attempt(Duplicate(fill, groups[-1]))
    if state.parent(fill) == ROOT and not left:
        x.attempt(Insert((fill,)))
