"""Groupings that a search begins with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ._candidates import FREE, outermost
from ._exploration import Exploration
from ._graph import ARGUMENTS, Value
from ._moves_of_groups import Insert, Merge
from ._moves_of_ops import Duplicate, MoveIn
from ._state import ROOT, State
from ._work import LOOPS


def apart(x: Exploration) -> None:
    """A group for each op, with the fills that it starts from and the views that show it."""
    _insert(x, [[item] for item in _grouped(x.state)])


_RESHAPES = frozenset({"tensor.collapse_shape", "tensor.expand_shape"})


def chains(x: Exploration) -> None:
    """Groups of element-wise ops that nothing else reads than one another, and what they end in.

    Upstream's fusion of element-wise ops makes these, and goes through reshapes as it does.
    """
    state = x.state
    items = _grouped(state)
    last = {item: item for item in items}
    members = {item: [item] for item in items}
    for item in reversed(items):
        reshapes: list[int] = []
        ends = _ends(state, item, last, reshapes)
        if state.node(item).is_cheap and len(ends) == 1 and _may_end_chain(state, *ends):
            (last[item],) = ends
            members[item] += reshapes
    found: dict[int, list[int]] = {}
    for item, end in last.items():
        found.setdefault(end, []).extend(members[item])
    _insert(x, [sorted(group) for group in found.values()])


def _ends(state: State, item: int, last: Mapping[int, int], reshapes: list[int]) -> set[int]:
    """Return the last ops of the chains that read an item, directly or through reshapes.

    The reshapes on the way are added to `reshapes`.
    """
    if Value(item) in state.graph.returned:
        return {ARGUMENTS}
    found: set[int] = set()
    for user in set(state.users(item)):
        if state.node(user).op in _RESHAPES:
            reshapes.append(user)
            found |= _ends(state, user, last, reshapes)
        else:
            found.add(last.get(user, ARGUMENTS))
    return found


def _may_end_chain(state: State, item: int) -> bool:
    return item != ARGUMENTS and state.node(item).work.kind == LOOPS


def whole(x: Exploration) -> None:
    """As few groups as possible: all ops in one, if it is legal."""
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


def _computes(state: State, item: int) -> bool:
    node = state.node(item)
    is_pure = not node.effect and node.op not in FREE
    return is_pure and any(result.is_tensor for result in node.results)


def _is_made_of_nothing(state: State, item: int) -> bool:
    """Return whether an op reads no tensor but its destination: a fill, say."""
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
