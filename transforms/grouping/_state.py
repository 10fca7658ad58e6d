"""A way of grouping the ops of a graph: which stands in which group, in which order.

A state is changed by moves alone (`_moves.py`); each is O(what it touches), and can be undone. What
this file keeps true of every state:

- an item (a node, a copy of one, or a group) stands after all that it needs;
- a group holds at least one item, and none with side effects;
- every result of a group is a tensor that has a destination, and `linalg_ext.group` has room for
  all that goes in and out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linalg_ext.errors import ArgumentTypeError, GroupingError
from linalg_ext.structured.destination_ops.group import PRESERVE

from ._graph import ARGUMENTS, Graph, Node, Value
from ._group_data import GroupData, Item, group_of_label
from ._hashing import hash_of, hash_of_group
from ._journal import ABSENT, Journal
from ._listing import listed

if TYPE_CHECKING:
    from ._move import Move

ROOT = -1
"""The parent of what stands in no group."""


@dataclass(frozen=True)
class Copy:
    """A node that was made by a move: it computes what `source` computes."""

    source: int


class State:
    """Groups over a graph.

    >>> state = State(graph)
    >>> undo = state.apply(Insert((3, 4, 5)))
    >>> state.why_not(Merge(7, 9))          # None where the move is legal
    >>> state.apply(undo)

    Attributes:
        graph: what it groups.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._parents: dict[int, int] = {}
        self._children: dict[int, tuple[int, ...]] = {}
        self._groups: dict[int, GroupData] = {}
        self._copies: dict[int, Copy] = {}
        self._gone: dict[int, bool] = {}
        self._reads: dict[int, tuple[Value, ...]] = {}
        self._users: dict[int, tuple[int, ...]] = {}
        self._journal = Journal()
        self._marks: list[tuple[int, int]] = []
        self._hashes: dict[int, int] = {}
        self._next = len(graph.nodes) + len(graph.groups)
        self._fill()

    def _fill(self) -> None:
        users: dict[int, list[int]] = {}
        for node in self.graph.nodes:
            for value in node.reads:
                users.setdefault(value.node, []).append(node.number)
        self._users = {producer: tuple(found) for producer, found in users.items()}
        for group in self.graph.groups:
            self._groups[group.number] = GroupData(dict(group.annotations), group.is_isolated)
            self._children[group.number] = group.members
            self._parents.update(dict.fromkeys(group.members, group.number))
        self._children[ROOT] = self.graph.order
        self._parents.update(dict.fromkeys(self.graph.order, ROOT))

    # What it is.

    @property
    def groups(self) -> tuple[int, ...]:
        """The numbers of all groups."""
        return tuple(self._groups)

    def item(self, named: Item) -> int:
        """The number of an item, which for a group its label may stand for; raises as `group`."""
        if isinstance(named, str):
            return group_of_label(named, self._groups.items())
        self.check_item(named)
        return named

    def group(self, named: Item) -> int:
        """The number of a group, by its label for one: `state.group("softmax")`.

        Raises:
            GroupingError: there is no such group, or several have the label.
        """
        number = ROOT if named == ROOT else self.item(named)
        self.check_group(number)
        return number

    def data(self, group: Item) -> GroupData:
        """What a group says besides what it holds."""
        number = self.item(group)
        self.check_group(number)
        return self._groups[number]

    def children(self, group: Item = ROOT) -> tuple[int, ...]:
        """What stands in a group, in order; outside all groups where none is named."""
        return self._children[self.group(group)]

    def parent(self, item: int) -> int:
        """The group that an item stands in; `ROOT` where it stands in none."""
        self.check_item(item)
        return self._parents[item]

    def node(self, item: int) -> Node:
        """The node that an item is, or is a copy of."""
        source = self._copies[item].source if item in self._copies else item
        return self.graph.nodes[source]

    def reads(self, item: int) -> tuple[Value, ...]:
        """What a node reads: not what it read at first, where it reads a copy now."""
        return self._reads[item] if item in self._reads else self.graph.nodes[item].reads

    def users(self, item: int) -> tuple[int, ...]:
        """The nodes that read a node, one for each time."""
        return self._users.get(item, ())

    def is_group(self, item: int) -> bool:
        """Whether an item is a group."""
        return item in self._groups

    def is_nested(self, item: int) -> bool:
        """Whether an item stands in a group."""
        return self._parents[item] != ROOT

    def is_copy(self, item: int) -> bool:
        """Whether an item is a copy of a node."""
        return item in self._copies

    @property
    def gone(self) -> tuple[int, ...]:
        """The nodes of the graph that are no more, because another computes the same."""
        return tuple(self._gone)

    def nodes_of(self, item: int) -> Iterator[int]:
        """The nodes and copies that an item holds, in order; a node holds itself."""
        if item not in self._children:
            yield item
            return
        for child in self._children[item]:
            yield from self.nodes_of(child)

    def key(self, group: int = ROOT) -> int:
        """A number of 64 bits that tells states apart, or groups, whatever they are called.

        Equal for states that hold the same nodes in the same groups with the same annotations; what
        groups are numbered and labelled, and the order of what is independent, does not matter.
        """
        if group != ROOT:
            return hash_of_group(self, group, self._hashes)
        return hash_of(self, self._hashes)

    def inputs(self, group: int) -> tuple[Value, ...]:
        """The values from outside that a group reads, each once."""
        members = set(self.nodes_of(group))
        reads = (value for node in self.nodes_of(group) for value in self.reads(node))
        return tuple(dict.fromkeys(value for value in reads if value.node not in members))

    def outputs(self, group: int) -> tuple[Value, ...]:
        """The values that a group computes and something outside reads."""
        members = list(self.nodes_of(group))
        inside = set(members)
        found = []
        for member in members:
            outer = {
                value
                for user in self.users(member)
                if user not in inside
                for value in self.reads(user)
                if value.node == member
            }
            for number in range(len(self.node(member).results)):
                value = Value(member, number)
                if value in outer or value in self.graph.returned:
                    found.append(value)
        return tuple(found)

    # Moves.

    def apply(self, move: Move) -> Move:
        """Make a move; returns the one that takes it back.

        Raises:
            GroupingError: it is not legal; says why. The state is as it was.
            ArgumentError: it names something that is not there.
        """
        if not hasattr(move, "make"):
            raise ArgumentTypeError(
                f"{move!r} is no move",
                expected="a move, such as Insert((3, 4))",
                cure="plan.apply_to(state) makes all moves of a plan",
            )
        mark, following = len(self._journal), self._next
        try:
            inverse = move.make(self)
        except BaseException:
            self._journal.rewind(mark)
            self._next = following
            raise
        self._marks.append((mark, following))
        return inverse

    def why_not(self, move: Move) -> str | None:
        """Why a move is not legal now; None where it is. The state stays as it is."""
        try:
            self.apply(move)
        except GroupingError as error:
            return error.what
        self.undo()
        return None

    def undo(self, moves: int = 1) -> None:
        """Take back the last moves, exactly, inverses among them.

        Raises:
            GroupingError: so many were not made.
        """
        if not 0 <= moves <= len(self._marks):
            raise GroupingError(
                f"{moves} moves cannot be taken back", expected=f"0 to {len(self._marks)}"
            )
        for _ in range(moves):
            mark, self._next = self._marks.pop()
            self._journal.rewind(mark)

    def copy(self) -> State:
        """The same groups, to be changed apart; it starts without moves to undo."""
        new = State.__new__(State)
        new.graph, new._next = self.graph, self._next
        tables = "_parents _children _groups _copies _gone _reads _users _hashes"
        for table in tables.split():
            setattr(new, table, dict(getattr(self, table)))
        new._journal, new._marks = Journal(), []
        return new

    # What moves are made of.

    def fresh(self, wanted: int | None) -> int:
        """A number for a new item: the wanted one, or the next.

        Raises:
            GroupingError: the wanted one is taken.
        """
        if wanted is None:
            wanted = self._next
        elif wanted in self._parents:
            raise GroupingError(f"the number {wanted} is taken", cure="leave it out")
        self._next = max(self._next, wanted + 1)
        return wanted

    def put_group(self, group: int, data: GroupData | None) -> None:
        """Set what a group says; None removes it."""
        self._touch(group)
        self._journal.put(self._groups, group, ABSENT if data is None else data)
        if data is None:
            self._journal.put(self._children, group, ABSENT)
            self._journal.put(self._parents, group, ABSENT)

    def put_children(self, group: int, children: Sequence[int], new: Sequence[int]) -> None:
        """Set what a group holds; `new` among them did not stand in it before."""
        for child in new:
            self._journal.put(self._parents, child, group)
        self._journal.put(self._children, group, tuple(children))
        self._touch(group)

    def put_copy(self, copy: int, source: int) -> None:
        """Make a copy of a node, which reads what that reads; or a node that is gone once more.

        Raises:
            GroupingError: that one computes something else.
        """
        if copy in self._gone:
            if self.graph.nodes[copy].meaning != self.node(source).meaning:
                raise GroupingError(
                    f"the number {copy} is that of {self.graph.nodes[copy].op}, which is gone",
                    cure="leave it out",
                )
            self._journal.put(self._gone, copy, ABSENT)
        else:
            self._journal.put(self._copies, copy, Copy(self.graph.first_alike(self.node(source))))
        self._journal.put(self._reads, copy, ())
        self.put_reads(copy, self.reads(source))

    def remove(self, node: int) -> None:
        """Take a node or a copy, which nothing reads, out of the state."""
        self.put_reads(node, ())
        self._journal.put(self._reads, node, ABSENT)
        self._journal.put(self._parents, node, ABSENT)
        self._journal.put(self._copies, node, ABSENT)
        if node < len(self.graph.nodes):
            self._journal.put(self._gone, node, True)

    def put_reads(self, node: int, reads: tuple[Value, ...]) -> None:
        """Set what a node reads."""
        for value in self.reads(node):
            users = list(self._users[value.node])
            users.remove(node)
            self._journal.put(self._users, value.node, tuple(users) or ABSENT)
        for value in reads:
            self._journal.put(self._users, value.node, (*self._users.get(value.node, ()), node))
        self._journal.put(self._reads, node, reads)
        if node in self._parents:
            self._touch(self._parents[node])

    def needs(self, item: int, parent: int) -> set[int]:
        """What an item needs among those that stand in `parent`."""
        found: set[int] = set()
        for node in self.nodes_of(item):
            for value in self.reads(node):
                if value.node != ARGUMENTS:
                    found.add(self._lifted(value.node, parent))
            for before in self.node(node).after:
                found.add(self._lifted(before, parent))
        return found - {item, ROOT}

    def _lifted(self, item: int, parent: int) -> int:
        """The item of `parent` that holds another; ROOT where none does."""
        while item != ROOT:
            above = self._parents[item]
            if above == parent:
                return item
            item = above
        return ROOT

    def describe(self, item: int) -> str:
        """An item for a message: its number and what it is."""
        if item in self._groups:
            label = self._groups[item].label
            return f'group {item} "{label}"' if label else f"group {item}"
        return f"{self.node(item).op} ({item})"

    # Checks.

    def check_item(self, item: int) -> None:
        """Raise GroupingError where there is no such item."""
        if not isinstance(item, int) or isinstance(item, bool):
            raise ArgumentTypeError(
                f"{item!r} is no item",
                expected="the number of a node or group",
                cure=f"state.item({item!r}) is that of a label" if isinstance(item, str) else None,
            )
        if item not in self._parents:
            raise GroupingError(
                f"there is no item {item}",
                expected=f"a node, 0 to {len(self.graph.nodes) - 1}, or one of the groups "
                f"{sorted(self._groups)}",
                cure="print(state) lists them",
            )

    def check_group(self, group: int) -> None:
        """Raise GroupingError where there is no such group; `ROOT` is one here."""
        if group != ROOT:
            self.check_item(group)
            if group not in self._groups:
                raise GroupingError(f"{self.describe(group)} is no group")

    def check_changeable(self, group: int) -> None:
        """Raise GroupingError where a group, or one that it stands in, must stay as it is."""
        while group != ROOT:
            if PRESERVE in self._groups[group].texts:
                raise GroupingError(
                    f"{self.describe(group)} says {PRESERVE}: it must stay as it is",
                    cure=f"Annotate({group}, {PRESERVE!r}, None) takes the word back",
                )
            group = self._parents[group]

    # Keeping.

    def _touch(self, group: int) -> None:
        """Forget the hash of a group, and of all that it stands in."""
        while group != ROOT:
            self._journal.put(self._hashes, group, ABSENT)
            group = self._parents.get(group, ROOT)

    def __repr__(self) -> str:
        head = f"State of @{self.graph.function}: {len(self._groups)} groups, key {self.key():016x}"
        return "\n".join([head, *listed(self)])

    def _repr_svg_(self) -> str:
        from .state_picture import picture

        return picture(self)
