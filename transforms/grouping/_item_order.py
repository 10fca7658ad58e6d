"""The order in which items stand after a move: chosen, or checked where the move says it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from linalg_ext.errors import GroupingError

from ._state import Arranged, State

_FEW = 8
"""Items that are each looked for among their siblings; for more, all siblings are gone through."""


def check_orders(state: State, *arranged: Arranged) -> None:
    """Check the order of each group where it is not the one that is known to be sound.

    Raises:
        GroupingError: an item stands before one that it needs.
    """
    for group, sound in arranged:
        if state.children(group) != sound:
            _check_order(state, group, sound)


def _check_order(state: State, group: int, sound: Sequence[int]) -> None:
    now = state.children(group)
    start, end = 0, len(now)
    while now[start] == sound[start]:
        start += 1
    while now[end - 1] == sound[end - 1]:
        end -= 1
    later = set(now[start:end])
    for each in now[start:end]:
        later.discard(each)
        if wrong := state.needs(each, group) & later:
            raise GroupingError(
                f"{state.describe(each)} would stand before {state.describe(min(wrong))}, "
                "which it needs"
            )


def gathered(state: State, parent: int, members: Collection[int], place: int) -> list[int]:
    """The items of `parent` with `place` where `members` were, and nothing between them any more.

    Raises:
        GroupingError: what stands between them needs one of them, and is needed by another.
    """
    siblings = state.children(parent)
    at = _places(siblings, members)
    first, last = min(at), max(at)
    early: list[int] = []
    late: list[int] = []
    inside = set(members)
    behind: set[int] = set()
    for sibling in siblings[first : last + 1]:
        needed = state.needs(sibling, parent)
        if sibling in inside:
            if between := needed & behind:
                through = min(between)
                raise GroupingError(
                    f"{state.describe(through)} would stand between two parts of the group: it is "
                    f"computed from one, and {state.describe(sibling)}, of the group too, needs it",
                    hint=f"take {through} into the group too",
                )
        elif needed & (inside | behind):
            behind.add(sibling)
            late.append(sibling)
        else:
            early.append(sibling)
    return [*siblings[:first], *early, place, *late, *siblings[last + 1 :]]


def in_order(siblings: Sequence[int], items: Collection[int]) -> list[int]:
    """Items in the order in which they stand among their siblings."""
    return [siblings[at] for at in _places(siblings, items)]


def _places(siblings: Sequence[int], items: Collection[int]) -> list[int]:
    if len(items) <= _FEW:
        return sorted(map(siblings.index, items))
    inside = set(items)
    return [at for at, sibling in enumerate(siblings) if sibling in inside]
