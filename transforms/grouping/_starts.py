"""Groupings that a search begins with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ._candidates import FREE, outermost
from ._exploration import Exploration
from ._graph import ARGUMENTS
from ._moves_of_groups import Insert, Merge
from ._moves_of_ops import Duplicate, MoveIn
from ._state import ROOT, State


def apart(x: Exploration) -> None:
    """A group for each op, with the fills that it starts from and the views that show it."""
    _insert(x, [[item] for item in _grouped(x.state)])


def chains(x: Exploration) -> None:
    """Groups of element-wise ops, each of which is read by the next alone."""
    state = x.state
    items = _grouped(state)
    last = {item: item for item in items}
    for item in reversed(items):
        users = set(state.users(item))
        user = next(iter(users), None)
        if len(users) == 1 and user in last and _are_cheap(state, item, user):
            last[item] = last[user]
    found: dict[int, list[int]] = {}
    for item, end in last.items():
        found.setdefault(end, []).append(item)
    _insert(x, list(found.values()))


def whole(x: Exploration) -> None:
    """As few groups as can be: all ops in one, where that is legal."""
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
    """The ops that get groups of their own: no fills and no views."""
    return [
        item
        for item in state.children()
        if not state.is_group(item)
        and _computes(state, item)
        and not state.node(item).work.is_view
        and not _is_made_of_nothing(state, item)
    ]


def _insert_halves(x: Exploration, items: Sequence[int]) -> None:
    """Make one group of all items; where they may not be in one, the same of each half."""
    if not items or x.attempt(Insert(tuple(items))) or len(items) == 1:
        return
    middle = len(items) // 2
    _insert_halves(x, items[:middle])
    _insert_halves(x, items[middle:])


def _insert(x: Exploration, groups: Sequence[Sequence[int]]) -> None:
    """Make groups; each op one where several may not be in one. Then what belongs to them."""
    for group in groups:
        if not x.attempt(Insert(tuple(group))) and len(group) > 1:
            for item in group:
                x.attempt(Insert((item,)))
    state = x.state
    left = [item for item in state.children() if not state.is_group(item)]
    for item in left:
        source = state.reads(item)[0].node if state.node(item).work.is_view else ARGUMENTS
        if source != ARGUMENTS and state.is_nested(source):
            x.attempt(MoveIn(item, outermost(state, source)))
    for item in left:
        if _computes(state, item) and _is_made_of_nothing(state, item):
            _give_to_readers(x, item)


def _are_cheap(state: State, *items: int) -> bool:
    return all(state.node(item).is_cheap for item in items)


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
    if state.parent(fill) == ROOT and not groups:
        x.attempt(Insert((fill,)))
