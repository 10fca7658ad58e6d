"""What all moves share: numbers of items, the order that they leave, and how they arrange.

A move is data. What it does not say of the order in which items stand after it, it chooses: what
is in the way of a group that comes together goes before it where it can, and else after it.
`orders` says it instead, for any of the groups that the move changes; a move that takes another
back has them, so that all is as it was.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, TypeVar

from linalg_ext.errors import GroupingError

from ._annotations import AttributeText, note_of
from ._state import ROOT, State

Orders = tuple[tuple[int, tuple[int, ...]], ...]
"""For some groups, the items that they hold, in order."""

Arranged = tuple[int, tuple[int, ...]]
"""A group, and an order of what it holds that is known to be sound."""

ITEMS = {"items": True}
"""The metadata of a field of a move that holds numbers of items."""

_Moved = TypeVar("_Moved", bound="Move")

_FEW = 8
"""Items that are each looked for among their siblings; for more, all siblings are gone through."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Move(ABC):
    """A change of a state that can be taken back.

    Items are named by their numbers, and groups by their labels, too.

    Attributes:
        orders: how what groups hold is to be ordered after it, where that matters.
    """

    orders: Orders = field(default=(), repr=False, metadata=ITEMS)

    @abstractmethod
    def make(self, state: State) -> Move:
        """Make the move on a state; returns the one that takes it back.

        Raises:
            GroupingError: it is not legal.
        """

    def __repr__(self) -> str:
        """The call that makes it, without what would be so anyway."""
        said = []
        for each in fields(self):
            value = getattr(self, each.name)
            if each.repr and value != each.default:
                given = "" if each.default is MISSING else f"{each.name}="
                said.append(given + repr(_meant(each.name, value)))
        return f"{type(self).__name__}({', '.join(said)})"

    def renumbered(self: _Moved, number: Callable[[int], int]) -> _Moved:
        """The same move where items have other numbers."""

        def other(value: object) -> object:
            if isinstance(value, tuple):
                return tuple(map(other, value))
            return number(value) if isinstance(value, int) else value

        changes: dict[str, Any] = {
            each.name: other(getattr(self, each.name))
            for each in fields(self)
            if each.metadata.get("items")
        }
        return replace(self, **changes)

    def arrange(
        self, state: State, group: int, natural: Sequence[int], new: Sequence[int] = ()
    ) -> Arranged:
        """Set what a group holds: in the order that the move says, else as given.

        Args:
            natural: an order in which each item stands after what it needs.
            new: those that did not stand in the group before.

        Raises:
            GroupingError: the move says an order of other items.
        """
        order = dict(self.orders).get(group, tuple(natural))
        if order != tuple(natural) and sorted(order) != sorted(natural):
            raise GroupingError(
                f"the order of {named(state, group)} is of other items than it holds",
                expected=f"an order of {sorted(natural)}",
            )
        state.put_children(group, order, new)
        return group, tuple(natural)


def _meant(name: str, value: Any) -> Any:
    """The value of a field of a move, annotations as they would be given."""
    if name == "annotations":
        return {each: note_of(text) for each, text in value}
    return note_of(value) if isinstance(value, AttributeText) else value


def named(state: State, group: int) -> str:
    """A group, or what stands in none, for a message."""
    return "the function" if group == ROOT else state.describe(group)


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
                    cure=f"take {through} into the group too",
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
