"""Moves that make, change and dissolve groups: insert, dissolve, merge, split, annotate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from linalg_ext.errors import ArgumentTypeError, GroupingError
from linalg_ext.structured.group import PRESERVE

from ._annotations import AttributeText, Note, Notes, check_name, note_text, notes_of
from ._group_data import GroupData, Item
from ._interfaces import check_interface
from ._item_order import check_orders, gathered, in_order
from ._state import ITEMS, Move, State, named


@dataclass(frozen=True, repr=False)
class Insert(Move):
    """Put a new group around items that stand in one place; groups among them are nested in it.

        >>> state.apply(Insert((3, 4, 5), {"label": "layer", "tiling": (8, 64)}))

    Attributes:
        items: what it holds.
        annotations: what it says, by name: see `Annotate`.
        isolated: whether it is to be a `linalg_ext.isolated_group`.
        group: its number; the next one by default.
    """

    items: tuple[Item, ...] = field(metadata=ITEMS)
    annotations: Mapping[str, Note] | Notes = ()
    isolated: bool = False
    group: int | None = field(default=None, metadata=ITEMS)

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", _items(self.items))
        object.__setattr__(self, "annotations", notes_of(self.annotations))

    def make(self, state: State) -> Move:
        """Make the group; the inverse dissolves it."""
        members = tuple(map(state.item, self.items))
        parent = _common_parent(state, members)
        state.check_changeable(parent)
        for item in members:
            check_groupable(state, item)
        group = state.fresh(self.group)
        before = state.children(parent)
        around = gathered(state, parent, members, group)
        items = in_order(before, members)
        is_preserved = PRESERVE in dict(notes_of(self.annotations))
        state.put_group(group, GroupData(dict(notes_of(self.annotations)), self.isolated))
        arranged = [
            self.arrange(state, group, items, items),
            self.arrange(state, parent, around, [group]),
        ]
        check_orders(state, *arranged)
        check_interface(state, group)
        return Dissolve(group, even_preserved=is_preserved, orders=((parent, before),))


@dataclass(frozen=True, repr=False)
class Dissolve(Move):
    """Put what a group holds in its place.

    Attributes:
        group: it.
        even_preserved: do so where it says `preserve`.
    """

    group: Item = field(metadata=ITEMS)
    even_preserved: bool = False

    def make(self, state: State) -> Move:
        """Dissolve the group; the inverse inserts it."""
        group = state.group(self.group)
        data, parent = state.data(group), state.parent(group)
        state.check_changeable(parent if self.even_preserved else group)
        before, items = state.children(parent), state.children(group)
        at = before.index(group)
        arranged = self.arrange(state, parent, [*before[:at], *items, *before[at + 1 :]], items)
        state.put_group(group, None)
        check_orders(state, arranged)
        return Insert(
            items,
            tuple(data.texts.items()),
            data.is_isolated,
            group,
            orders=((parent, before), (group, items)),
        )


@dataclass(frozen=True, repr=False)
class Merge(Move):
    """Make one group of two that stand in one place; it says what the first one said.

    Attributes:
        first: the group that stays.
        second: the group whose items it takes.
    """

    first: Item = field(metadata=ITEMS)
    second: Item = field(metadata=ITEMS)

    def make(self, state: State) -> Move:
        """Merge the groups; the inverse splits the second off again."""
        first, second = state.group(self.first), state.group(self.second)
        data = state.data(second)
        if first == second:
            raise GroupingError(f"{state.describe(first)} cannot be merged with itself")
        parent = _common_parent(state, (first, second))
        for group in (first, second):
            state.check_changeable(group)
        before = state.children(parent)
        held = state.children(first), state.children(second)
        # What stands first of the two needs nothing of the other.
        place = min((first, second), key=before.index)
        around = gathered(state, parent, (first, second), first)
        inner = [*held[0], *held[1]] if place == first else [*held[1], *held[0]]
        arranged = [
            self.arrange(state, first, inner, held[1]),
            self.arrange(state, parent, around),
        ]
        state.put_group(second, None)
        check_orders(state, *arranged)
        check_interface(state, first)
        return Split(
            first,
            held[1],
            tuple(data.texts.items()),
            data.is_isolated,
            second,
            orders=((parent, before), (first, held[0]), (second, held[1])),
        )


@dataclass(frozen=True, repr=False)
class Split(Move):
    """Make a group of some of the items of another, next to it.

    Attributes:
        group: the one that keeps the others.
        items: what the new one holds.
        annotations, isolated: what it says, and what it is, as of `Insert`.
        new: its number; the next one by default.
    """

    group: Item = field(metadata=ITEMS)
    items: tuple[Item, ...] = field(metadata=ITEMS)
    annotations: Mapping[str, Note] | Notes = ()
    isolated: bool = False
    new: int | None = field(default=None, metadata=ITEMS)

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", _items(self.items))
        object.__setattr__(self, "annotations", notes_of(self.annotations))

    def make(self, state: State) -> Move:
        """Split the group; the inverse merges the two."""
        group, items = state.group(self.group), tuple(map(state.item, self.items))
        parent, held = state.parent(group), state.children(group)
        state.check_changeable(group)
        taken = set(items)
        for item in items:
            if state.parent(item) != group:
                raise GroupingError(
                    f"{state.describe(item)} does not stand in {state.describe(group)}",
                    expected=f"some of {held}",
                )
        kept = [each for each in held if each not in taken]
        if not kept:
            raise GroupingError(f"{state.describe(group)} would be empty")
        moved = [each for each in held if each in taken]
        needing = {each for each in kept if state.needs(each, group) & taken}
        needed = {each for each in moved if state.needs(each, group) - taken}
        if needing and needed:
            raise GroupingError(
                f"{state.describe(min(needing))} needs what would be split off, and "
                f"{state.describe(min(needed))}, split off, needs what would stay"
            )
        new = state.fresh(self.new)
        before = state.children(parent)
        at = before.index(group)
        pair = [new, group] if needing else [group, new]
        state.put_group(new, GroupData(dict(notes_of(self.annotations)), self.isolated))
        arranged = [
            self.arrange(state, parent, [*before[:at], *pair, *before[at + 1 :]], [new]),
            self.arrange(state, new, moved, moved),
            self.arrange(state, group, kept),
        ]
        check_orders(state, *arranged)
        check_interface(state, group)
        check_interface(state, new)
        return Merge(group, new, orders=((parent, before), (group, held)))


@dataclass(frozen=True, repr=False)
class Annotate(Move):
    """Set what a group says, its tiling for one; None takes it away.

        >>> state.apply(Annotate(7, "tiling", (8, 64)))

    Attributes:
        group: it.
        name: `"label"`, `"tiling"` (sizes, outermost first, 0 for a dimension that is not tiled),
            `"preserve"`, or any other word.
        value: a text, a number, a list of integers, True for a word that stands alone.
    """

    group: Item = field(metadata=ITEMS)
    name: str
    value: Note | None

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.value is not None:
            text = AttributeText(note_text(self.name, self.value))
            object.__setattr__(self, "value", text)

    def make(self, state: State) -> Move:
        """Set the annotation; the inverse sets it as it was."""
        group = state.group(self.group)
        data = state.data(group)
        if self.name != PRESERVE:
            state.check_changeable(state.parent(group))
        old = data.texts.get(self.name)
        notes = {name: text for name, text in data.texts.items() if name != self.name}
        if self.value is not None:
            notes[self.name] = str(self.value)
        state.put_group(group, GroupData(dict(sorted(notes.items())), data.is_isolated))
        return Annotate(group, self.name, None if old is None else AttributeText(old))


def check_groupable(state: State, item: int) -> None:
    """Raise GroupingError where an item may not stand in a group."""
    for node in state.nodes_of(item):
        if effect := state.node(node).effect:
            raise GroupingError(
                f"{state.describe(node)} cannot stand in a group: {effect}",
                hint="leave it outside",
            )


def _items(items: Item | Sequence[Item]) -> tuple[Item, ...]:
    if isinstance(items, int | str):
        raise ArgumentTypeError(
            f"{items!r} is no list of items",
            expected="numbers of items and labels of groups, as in (3, 4)",
        )
    return tuple(items)


def _common_parent(state: State, items: Sequence[int]) -> int:
    """Return the group that holds all of the items.

    Raises:
        GroupingError: there are none, one is named twice, or they stand in several places.
    """
    if not items:
        raise GroupingError("the list of items is empty: a group holds at least one")
    parents = {state.parent(item): item for item in items}
    if len(set(items)) != len(items):
        raise GroupingError(f"{items} names an item twice")
    if len(parents) > 1:
        (one, first), (other, second), *_ = parents.items()
        raise GroupingError(
            f"{state.describe(first)} stands in {named(state, one)}, "
            f"{state.describe(second)} in {named(state, other)}",
            expected="items that stand in one place",
            hint="move them in or out before",
        )
    return next(iter(parents))
