"""Moves: of groups (insert, dissolve, merge, split, annotate) and of single items."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from linalg_ext.errors import ArgumentTypeError, GroupingError
from linalg_ext.structured.group import PRESERVE

from ._annotations import AttributeText, Note, Notes, check_name, note_text, notes_of
from ._graph import Value
from ._state import ITEMS, ROOT, GroupData, Item, Move, State


@dataclass(frozen=True, repr=False)
class Insert(Move):
    """Put a new group around items that stand in one place; groups among them are nested in it.

        >>> state.apply(Insert((3, 4, 5), {"label": "layer", "tiling": (8, 64)}))

    Attributes:
        items: the nodes and groups that it holds.
        annotations: its annotations, by name: see `Annotate`.
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
            _check_groupable(state, item)
        group = state.fresh(self.group)
        before = state.children(parent)
        around = _gathered(state, parent, members, group)
        items = [before[position] for position in _positions(before, members)]
        notes = dict(notes_of(self.annotations))
        state.put_group(group, GroupData(notes, self.isolated))
        self.arrange(state, group, items, items)
        self.arrange(state, parent, around, [group])
        return Dissolve(group, even_preserved=PRESERVE in notes, orders=((parent, before),))


@dataclass(frozen=True, repr=False)
class Dissolve(Move):
    """Put the items of a group in its place.

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
        self.arrange(state, parent, _instead(before, group, items), items)
        state.put_group(group, None)
        orders = ((parent, before), (group, items))
        return Insert(items, tuple(data.texts.items()), data.is_isolated, group, orders=orders)


@dataclass(frozen=True, repr=False)
class Merge(Move):
    """Make one group of two that stand in one place; it has the annotations of the first.

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
        first_items, second_items = state.children(first), state.children(second)
        around = _gathered(state, parent, (first, second), first)
        # The group that stands first needs nothing of the other.
        in_order = sorted((first, second), key=before.index)
        merged = [item for group in in_order for item in state.children(group)]
        self.arrange(state, first, merged, second_items)
        self.arrange(state, parent, around)
        state.put_group(second, None)
        orders = ((parent, before), (first, first_items), (second, second_items))
        notes = tuple(data.texts.items())
        return Split(first, second_items, notes, data.is_isolated, second, orders=orders)


@dataclass(frozen=True, repr=False)
class Split(Move):
    """Make a group of some of the items of another, next to it.

    Attributes:
        group: the one that keeps the others.
        items: the nodes and groups that the new one holds.
        annotations, isolated: its annotations, and whether it is isolated, as of `Insert`.
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
        parent, children = state.parent(group), state.children(group)
        state.check_changeable(group)
        moving = set(items)
        for item in items:
            if state.parent(item) != group:
                raise GroupingError(
                    f"{state.describe(item)} does not stand in {state.describe(group)}",
                    expected=f"some of {children}",
                )
        remaining = [item for item in children if item not in moving]
        if not remaining:
            raise GroupingError(f"{state.describe(group)} would be empty")
        moved = [item for item in children if item in moving]
        needing = {item for item in remaining if state.needs(item, group) & moving}
        needed = {item for item in moved if state.needs(item, group) - moving}
        if needing and needed:
            raise GroupingError(
                f"{state.describe(min(needing))} needs an item that would be split off, and "
                f"{state.describe(min(needed))}, split off, needs one that would stay"
            )
        new = state.fresh(self.new)
        before = state.children(parent)
        pair = [new, group] if needing else [group, new]
        state.put_group(new, GroupData(dict(notes_of(self.annotations)), self.isolated))
        self.arrange(state, parent, _instead(before, group, pair), [new])
        self.arrange(state, new, moved, moved)
        self.arrange(state, group, remaining)
        return Merge(group, new, orders=((parent, before), (group, children)))


@dataclass(frozen=True, repr=False)
class Annotate(Move):
    """Set the annotations of a group, its tiling for one; None takes it away.

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


@dataclass(frozen=True, repr=False)
class MoveIn(Move):
    """Move an item, a group too, into a group that stands next to it.

    Attributes:
        item: it.
        group: where it goes.
    """

    item: Item = field(metadata=ITEMS)
    group: Item = field(metadata=ITEMS)

    def make(self, state: State) -> Move:
        """Move it in; the inverse moves it out."""
        item, group = state.item(self.item), state.group(self.group)
        parent = state.parent(item)
        if item == group or parent != state.parent(group):
            raise GroupingError(
                f"{state.describe(item)} does not stand beside {state.describe(group)}",
                expected=f"an item of {state.describe(state.parent(group))}",
            )
        _check_groupable(state, item)
        state.check_changeable(group)
        before, children = state.children(parent), state.children(group)
        around = _gathered(state, parent, (item, group), group)
        is_first = before.index(item) < before.index(group)
        self.arrange(state, group, [item, *children] if is_first else [*children, item], [item])
        self.arrange(state, parent, around)
        return MoveOut(item, orders=((parent, before), (group, children)))


@dataclass(frozen=True, repr=False)
class MoveOut(Move):
    """Move an item out of its group, to stand before or after it.

    Attributes:
        item: it.
    """

    item: Item = field(metadata=ITEMS)

    def make(self, state: State) -> Move:
        """Move it out; the inverse moves it in."""
        item = state.item(self.item)
        group = state.parent(item)
        if group == ROOT:
            raise GroupingError(f"{state.describe(item)} stands in no group")
        state.check_changeable(group)
        parent, children = state.parent(group), state.children(group)
        remaining = [other for other in children if other != item]
        if not remaining:
            raise GroupingError(
                f"{state.describe(item)} is all that {state.describe(group)} holds",
                hint=f"Dissolve({group})",
            )
        needs = state.needs(item, group)
        needing = [other for other in remaining if item in state.needs(other, group)]
        if needs and needing:
            raise GroupingError(
                f"{state.describe(item)} stands between {state.describe(min(needs))} and "
                f"{state.describe(needing[0])} in {state.describe(group)}: outside it could stand "
                "neither before the group nor after it"
            )
        before = state.children(parent)
        pair = [group, item] if needs else [item, group]
        self.arrange(state, parent, _instead(before, group, pair), [item])
        self.arrange(state, group, remaining)
        return MoveIn(item, group, orders=((parent, before), (group, children)))


@dataclass(frozen=True, repr=False)
class Reorder(Move):
    """Move an item to another place among those that it stands with, past independent ones.

    Attributes:
        item: it.
        before: the item that it is to stand before; None: after all of them.
    """

    item: Item = field(metadata=ITEMS)
    before: Item | None = field(default=None, metadata=ITEMS)

    def make(self, state: State) -> Move:
        """Move it there; the inverse moves it back."""
        item = state.item(self.item)
        before = None if self.before is None else state.item(self.before)
        group = state.parent(item)
        old = state.children(group)
        if before is not None and state.parent(before) != group:
            raise GroupingError(
                f"{state.describe(before)} does not stand beside {state.describe(item)}",
                expected=f"one of {old}",
            )
        position = old.index(item)
        follower = old[position + 1] if position + 1 < len(old) else None
        if before in (item, follower):
            raise GroupingError(f"{state.describe(item)} stands there already")
        rest = [other for other in old if other != item]
        to = len(rest) if before is None else rest.index(before)
        for passed in rest[min(position, to) : max(position, to)]:
            first, second = (item, passed) if to > position else (passed, item)
            if first in state.needs(second, group):
                raise GroupingError(
                    f"{state.describe(second)} needs {state.describe(first)}, and cannot stand "
                    "before it"
                )
        rest.insert(to, item)
        state.put_children(group, rest, ())
        return Reorder(item, follower)


@dataclass(frozen=True, repr=False)
class Duplicate(Move):
    """Copy a cheap node into a group that reads it: the group computes it once more for itself.

    Attributes:
        node: it, outside the group.
        group: the destination of the copy, before the ops that read it.
        copy: the number of the copy; the next one by default.
        readers: the nodes that are to read the copy; by default those of the group that read the
            node, which something outside must read too then.
    """

    node: int = field(metadata=ITEMS)
    group: Item = field(metadata=ITEMS)
    copy: int | None = field(default=None, metadata=ITEMS)
    readers: tuple[int, ...] | None = field(default=None, metadata=ITEMS)

    def make(self, state: State) -> Move:
        """Make the copy; the inverse removes it."""
        state.check_item(self.node)
        group = state.group(self.group)
        if state.is_group(self.node):
            raise GroupingError(f"{state.describe(self.node)} is a group: only an op is copied")
        state.check_changeable(group)
        inside = set(state.nodes_of(group))
        readers = self._checked_readers(state, group, inside)
        copy = state.fresh(self.copy)
        state.put_copy(copy, self.node)
        children = state.children(group)
        reading = (state.child_of(group, reader) for reader in readers if reader in inside)
        position = min(map(children.index, reading), default=len(children))
        self.arrange(state, group, [*children[:position], copy, *children[position:]], [copy])
        for reader in readers:
            _read_instead(state, reader, self.node, copy)
        return Deduplicate(copy, self.node)

    def _checked_readers(self, state: State, group: int, inside: set[int]) -> tuple[int, ...]:
        node, users = self.node, tuple(dict.fromkeys(state.users(self.node)))
        if node in inside and self.readers is None:
            raise GroupingError(
                f"{state.describe(node)} stands in {state.describe(group)} already",
                hint="name the readers of the copy",
            )
        if wrong := set(self.readers or ()) - set(users):
            raise GroupingError(
                f"item {min(wrong)} does not read {state.describe(node)}",
                expected=f"some of {users}",
            )
        readers = self.readers
        if readers is None:
            readers = tuple(user for user in users if user in inside)
            if not readers:
                raise GroupingError(
                    f"{state.describe(node)} is not read in {state.describe(group)}"
                )
        if not state.node(node).is_cheap:
            raise GroupingError(
                f"{state.describe(node)} is not cheap: computing it twice costs more than "
                "reading it",
                expected="an element-wise op, or one without loops",
            )
        is_returned = any(value.node == node for value in state.graph.returned)
        if self.readers is None and not is_returned and inside.issuperset(users):
            raise GroupingError(
                f"{state.describe(node)} is read in {state.describe(group)} alone",
                hint=f"move it in: MoveIn({node}, {group})",
            )
        return readers


@dataclass(frozen=True, repr=False)
class Deduplicate(Move):
    """Remove a node that computes the same as another; its readers read the other.

    Attributes:
        copy: the one that goes.
        node: the one that stays.
    """

    copy: int = field(metadata=ITEMS)
    node: int = field(metadata=ITEMS)

    def make(self, state: State) -> Move:
        """Remove the copy; the inverse makes it again."""
        state.check_item(self.copy)
        state.check_item(self.node)
        group = state.parent(self.copy)
        copy, node = state.describe(self.copy), state.describe(self.node)
        for item in (self.copy, self.node):
            if state.is_group(item):
                raise GroupingError(f"{state.describe(item)} is a group, and no copy of an op")
        copied, original = state.node(self.copy), state.node(self.node)
        alike = state.graph.first_alike
        if self.copy == self.node or alike(copied) != alike(original):
            raise GroupingError(f"{copy} does not compute the same as {node} computes")
        if any(value.node == self.copy for value in state.graph.returned):
            raise GroupingError(f"the function returns {copy}: it stays")
        if state.reads(self.copy) != state.reads(self.node):
            raise GroupingError(f"{copy} and {node} read other values")
        state.check_changeable(group)
        children = state.children(group)
        if len(children) == 1:
            raise GroupingError(f"{state.describe(group)} would hold nothing")
        readers = tuple(dict.fromkeys(state.users(self.copy)))
        if both := set(readers) & set(state.users(self.node)):
            # A copy made again would be read in the place of both.
            raise GroupingError(f"{state.describe(min(both))} reads both {copy} and {node}")
        for reader in readers:
            _read_instead(state, reader, self.copy, self.node)
        self.arrange(state, group, [item for item in children if item != self.copy])
        state.remove(self.copy)
        return Duplicate(self.node, group, self.copy, readers, orders=((group, children),))


MOVES: dict[str, type[Move]] = {
    kind.__name__: kind
    for kind in (
        *(Insert, Dissolve, Merge, Split, Annotate),
        *(MoveIn, MoveOut, Reorder, Duplicate, Deduplicate),
    )
}
"""All kinds of moves, by name."""


def _items(items: Item | Sequence[Item]) -> tuple[Item, ...]:
    if isinstance(items, int | str):
        raise ArgumentTypeError(
            f"{items!r} is not a list of items",
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
        (first_parent, first), (second_parent, second), *_ = parents.items()
        raise GroupingError(
            f"{state.describe(first)} stands in {state.describe(first_parent)}, "
            f"{state.describe(second)} in {state.describe(second_parent)}",
            expected="items that stand in one place",
            hint="move them in or out before",
        )
    return next(iter(parents))


def _check_groupable(state: State, item: int) -> None:
    for node in state.nodes_of(item):
        if effect := state.node(node).effect:
            raise GroupingError(
                f"{state.describe(node)} cannot stand in a group: {effect}",
                hint="leave it outside",
            )


def _instead(siblings: Sequence[int], item: int, new: Sequence[int]) -> list[int]:
    position = siblings.index(item)
    return [*siblings[:position], *new, *siblings[position + 1 :]]


def _read_instead(state: State, reader: int, old: int, new: int) -> None:
    reads = state.reads(reader)
    state.put_reads(reader, tuple(Value(new, v.number) if v.node == old else v for v in reads))


def _gathered(
    state: State, parent: int, members: Collection[int], representative: int
) -> list[int]:
    """Return the items of `parent` with one item in the place of `members`, which stand together.

    Raises:
        GroupingError: an item between them reads one of them, and is read by another.
    """
    siblings = state.children(parent)
    positions = _positions(siblings, members)
    first, last = min(positions), max(positions)
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
    return [*siblings[:first], *early, representative, *late, *siblings[last + 1 :]]


_FEW = 8
"""Items that are each looked for among their siblings; for more, all siblings are gone through."""


def _positions(siblings: Sequence[int], items: Collection[int]) -> list[int]:
    if len(items) <= _FEW:
        return sorted(map(siblings.index, items))
    inside = set(items)
    return [position for position, sibling in enumerate(siblings) if sibling in inside]
