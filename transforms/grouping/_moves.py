"""Moves: of groups (insert, dissolve, merge, split, annotate) and of single items."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from linalg_ext.errors import ArgumentTypeError, GroupingError
from linalg_ext.structured.destination_ops.group import MOST_INITS, MOST_INPUTS, PRESERVE

from ._annotations import AttributeText, Note, Notes, check_name, note_text, notes_of
from ._graph import ARGUMENTS, Value
from ._state import ITEMS, ROOT, Arranged, GroupData, Item, Move, State, named


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
                expected=f"an item of {named(state, state.parent(group))}",
            )
        check_groupable(state, item)
        state.check_changeable(group)
        before, held = state.children(parent), state.children(group)
        around = gathered(state, parent, (item, group), group)
        is_first = before.index(item) < before.index(group)
        inner = [item, *held] if is_first else [*held, item]
        arranged = [
            self.arrange(state, group, inner, [item]),
            self.arrange(state, parent, around),
        ]
        check_orders(state, *arranged)
        check_interface(state, group)
        return MoveOut(item, orders=((parent, before), (group, held)))


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
        parent, held = state.parent(group), state.children(group)
        kept = [each for each in held if each != item]
        if not kept:
            raise GroupingError(
                f"{state.describe(item)} is all that {state.describe(group)} holds",
                hint=f"Dissolve({group})",
            )
        needs = state.needs(item, group)
        needing = [each for each in kept if item in state.needs(each, group)]
        if needs and needing:
            raise GroupingError(
                f"{state.describe(item)} stands between {state.describe(min(needs))} and "
                f"{state.describe(needing[0])} in {state.describe(group)}: outside it could stand "
                "neither before the group nor after it"
            )
        before = state.children(parent)
        at = before.index(group)
        pair = [group, item] if needs else [item, group]
        arranged = [
            self.arrange(state, parent, [*before[:at], *pair, *before[at + 1 :]], [item]),
            self.arrange(state, group, kept),
        ]
        check_orders(state, *arranged)
        check_interface(state, group)
        return MoveIn(item, group, orders=((parent, before), (group, held)))


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
        at = old.index(item)
        follower = old[at + 1] if at + 1 < len(old) else None
        if before in (item, follower):
            raise GroupingError(f"{state.describe(item)} stands there already")
        rest = [each for each in old if each != item]
        to = len(rest) if before is None else rest.index(before)
        for passed in rest[min(at, to) : max(at, to)]:
            first, second = (item, passed) if to > at else (passed, item)
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
        group: where the copy goes, before what reads it.
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
        if self.node in inside and self.readers is None:
            raise GroupingError(
                f"{state.describe(self.node)} stands in {named(state, group)} already",
                hint="name the readers of the copy",
            )
        found = tuple(dict.fromkeys(state.users(self.node)))
        if wrong := set(self.readers or ()) - set(found):
            raise GroupingError(
                f"item {min(wrong)} does not read {state.describe(self.node)}",
                expected=f"some of {found}",
            )
        readers = self.readers
        if readers is None:
            readers = tuple(user for user in found if user in inside)
        if self.readers is None and not readers:
            raise GroupingError(f"{state.describe(self.node)} is not read in {named(state, group)}")
        if not state.node(self.node).is_cheap:
            raise GroupingError(
                f"{state.describe(self.node)} is not cheap: computing it twice costs more than "
                "reading it",
                expected="an element-wise op, or one without loops",
            )
        if self.readers is None and not _is_read_elsewhere(state, self.node, inside):
            raise GroupingError(
                f"{state.describe(self.node)} is read in {state.describe(group)} alone",
                hint=f"move it in: MoveIn({self.node}, {group})",
            )
        copy = state.fresh(self.copy)
        state.put_copy(copy, self.node)
        held = state.children(group)
        reading = (_child_of(state, each, group) for each in readers if each in inside)
        at = min(map(held.index, reading), default=len(held))
        arranged = self.arrange(state, group, [*held[:at], copy, *held[at:]], [copy])
        for reader in readers:
            _read_instead(state, reader, self.node, copy)
        check_orders(state, arranged)
        # The group reads now what the node reads, which may be a value inside another group.
        for each in (copy, *readers):
            _check_reach(state, each)
        return Deduplicate(copy, self.node)


@dataclass(frozen=True, repr=False)
class Deduplicate(Move):
    """Remove a node that computes what another does; what reads it reads the other.

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
        for each in (self.copy, self.node):
            if state.is_group(each):
                raise GroupingError(f"{state.describe(each)} is a group, and no copy of an op")
        one, other = state.node(self.copy), state.node(self.node)
        is_same = one is other or (one.meaning is not None and one.meaning == other.meaning)
        if self.copy == self.node or not is_same:
            raise GroupingError(
                f"{state.describe(self.copy)} does not compute what {state.describe(self.node)} "
                "computes"
            )
        if any(value.node == self.copy for value in state.graph.returned):
            raise GroupingError(f"the function returns {state.describe(self.copy)}: it stays")
        if state.reads(self.copy) != state.reads(self.node):
            raise GroupingError(
                f"{state.describe(self.copy)} and {state.describe(self.node)} read other values"
            )
        state.check_changeable(group)
        held = state.children(group)
        if len(held) == 1:
            raise GroupingError(f"{named(state, group)} would hold nothing")
        readers = tuple(dict.fromkeys(state.users(self.copy)))
        if both := set(readers) & set(state.users(self.node)):
            # A copy made again would be read in the place of both.
            raise GroupingError(
                f"{state.describe(min(both))} reads both {state.describe(self.copy)} and "
                f"{state.describe(self.node)}"
            )
        for reader in readers:
            _read_instead(state, reader, self.copy, self.node)
        arranged = self.arrange(state, group, [each for each in held if each != self.copy])
        state.remove(self.copy)
        check_orders(state, arranged)
        for reader in readers:
            _check_reach(state, reader)
        return Duplicate(self.node, group, self.copy, readers, orders=((group, held),))


def _is_read_elsewhere(state: State, node: int, inside: set[int]) -> bool:
    if any(value.node == node for value in state.graph.returned):
        return True
    return any(user not in inside for user in state.users(node))


def _read_instead(state: State, reader: int, old: int, new: int) -> None:
    """Have a node read another node of the same results."""
    reads = state.reads(reader)
    changed = tuple(Value(new, v.number) if v.node == old else v for v in reads)
    state.put_reads(reader, changed)


def _check_reach(state: State, reader: int) -> None:
    """Check that what a node reads stands before it, and can come out of the groups it stands in.

    Raises:
        GroupingError: it does not, or cannot.
    """
    above = [*_groups_around(state, reader), ROOT]
    for value in state.reads(reader):
        if value.node == ARGUMENTS:
            continue
        around = _groups_around(state, value.node)
        common = next(group for group in above if group == ROOT or group in around)
        order = state.children(common)
        one, other = (_child_of(state, node, common) for node in (value.node, reader))
        if order.index(one) >= order.index(other):
            raise GroupingError(
                f"{state.describe(other)} would need {state.describe(one)}, which stands behind it"
            )
        for group in around:
            if group == common:
                break
            check_interface(state, group)
    for group in above[:-1]:
        check_interface(state, group)


def _groups_around(state: State, item: int) -> list[int]:
    """The groups that an item stands in, the innermost first."""
    found: list[int] = []
    while (item := state.parent(item)) != ROOT:
        found.append(item)
    return found


def _child_of(state: State, item: int, group: int) -> int:
    """The item that stands in `group` and holds another, or is it."""
    while state.parent(item) != group:
        item = state.parent(item)
    return item


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


def check_interface(state: State, group: int) -> None:
    """Raise GroupingError where what goes in and out of a group cannot be so."""
    outputs = state.outputs(group)
    inputs = state.inputs(group)
    for what, found, most in (
        ("inputs", inputs, MOST_INPUTS),
        ("results", outputs, MOST_INITS),
    ):
        if len(found) > most:
            raise GroupingError(
                f"the group would have {len(found)} {what}", expected=f"{most} at most"
            )
    members = set(state.nodes_of(group))
    for value in outputs:
        destination(state, value, members)


def destination(state: State, value: Value, members: set[int]) -> Value | None:
    """The value from outside that a result of a group is computed in.

    It is a result of a `tensor.empty` of the group where one with the same sizes can be made
    outside; None where any tensor of its type will do.

    Raises:
        GroupingError: there is none.
    """
    first = value
    while True:
        node, result = state.node(value.node), state.node(value.node).results[value.number]
        if not result.is_tensor:
            raise GroupingError(
                f"{state.describe(first.node)} gives {result.type} to ops outside, and a group "
                "gives tensors",
                hint="take the ops that read it into the group, or leave it outside",
            )
        if result.destination is None:
            break
        value = state.reads(value.node)[result.destination]
        if value.node not in members:
            return value
    if result.is_static:
        return None
    if node.op == "tensor.empty" and all(v.node not in members for v in state.reads(value.node)):
        return value
    raise GroupingError(
        f"the sizes of what {state.describe(first.node)} gives to ops outside, {result.type}, "
        f"come from {state.describe(value.node)} in the group: there is no destination for it",
        hint="leave that op outside the group",
    )
