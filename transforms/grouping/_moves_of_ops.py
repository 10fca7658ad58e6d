"""Moves of single items: in, out, to another place, and copies of nodes."""

from __future__ import annotations

from dataclasses import dataclass, field

from linalg_ext.errors import GroupingError

from ._graph import ARGUMENTS, Value
from ._group_data import Item
from ._interfaces import check_interface
from ._item_order import check_orders, gathered
from ._moves_of_groups import check_groupable
from ._state import ITEMS, ROOT, Move, State, named


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
