"""A way of grouping the ops of a graph: which stands in which group, in which order.

A state is changed by moves alone (`Move`); each is O(what it touches), and can be undone. What
this file keeps true of every state:

- an item (a node, a copy of one, or a group) stands after all that it needs;
- a group holds at least one item, and none with side effects;
- every result of a group is a tensor that has a destination, and `linalg_ext.group` has room for
  all that goes in and out.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from difflib import get_close_matches
from hashlib import blake2b
from typing import Any, TypeAlias, TypeVar

from linalg_ext.errors import ArgumentTypeError, GroupingError
from linalg_ext.structured.destination_ops.group import LABEL, PRESERVE
from linalg_ext.utils import hooks

from ._annotations import AttributeText, Note, note_of, said
from ._graph import ARGUMENTS, Graph, Node, Value
from ._journal import ABSENT, Journal

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
        """Return the attributes and the kind of a group."""
        number = self.item(group)
        self.check_group(number)
        return self._groups[number]

    def children(self, group: Item = ROOT) -> tuple[int, ...]:
        """Return the items of a group, in order; those outside all groups by default."""
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
        """Return the values that a node reads: a copy's result where it reads a copy now."""
        return self._reads[item] if item in self._reads else self.graph.nodes[item].reads

    def users(self, item: int) -> tuple[int, ...]:
        """The nodes that read a node, one for each time."""
        return self._users.get(item, ())

    def is_group(self, item: int) -> bool:
        """Return whether an item is a group."""
        return item in self._groups

    def is_nested(self, item: int) -> bool:
        """Return whether an item stands in a group."""
        return self._parents[item] != ROOT

    def is_copy(self, item: int) -> bool:
        """Return whether an item is a copy of a node."""
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
        """Return a fingerprint of 64 bits of a state, or a group, independent of names.

        Equal for states that hold the same nodes in the same groups with the same annotations. The
        numbers and labels of groups, and the order of independent items, do not matter.
        """
        if group != ROOT:
            return _hash_of_group(self, group, self._hashes)
        return _hash_of(self, self._hashes)

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
                hint="plan.apply_to(state) makes all moves of a plan",
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
        """Return the reason that a move is illegal now; None where it is legal.

        The state does not change.
        """
        try:
            self.apply(move)
        except GroupingError as error:
            return error.what
        self.undo()
        return None

    def undo(self, moves: int = 1) -> None:
        """Take back the last moves, exactly, inverses among them.

        Raises:
            GroupingError: fewer were made.
        """
        if not 0 <= moves <= len(self._marks):
            raise GroupingError(
                f"{moves} moves cannot be taken back", expected=f"0 to {len(self._marks)}"
            )
        for _ in range(moves):
            mark, self._next = self._marks.pop()
            self._journal.rewind(mark)

    def copy(self) -> State:
        """Return a copy that can be changed independently; it starts without moves to undo."""
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
            raise GroupingError(f"the number {wanted} is taken", hint="leave it out")
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
                    hint="leave it out",
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
        """Return the items in `parent` that an item depends on."""
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
                hint=f"state.item({item!r}) is that of a label" if isinstance(item, str) else None,
            )
        if item not in self._parents:
            raise GroupingError(
                f"item {item} does not exist",
                expected=f"a node, 0 to {len(self.graph.nodes) - 1}, or one of the groups "
                f"{sorted(self._groups)}",
                hint="print(state) lists them",
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
                    hint=f"Annotate({group}, {PRESERVE!r}, None) takes the word back",
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
        return "\n".join([head, *_listed(self)])

    def _repr_svg_(self) -> str:
        return str(hooks.facade("views").state_svg(self))


Orders = tuple[tuple[int, tuple[int, ...]], ...]
"""For some groups, the items that they hold, in order."""

Arranged = tuple[int, tuple[int, ...]]
"""A group, and an order of what it holds that is known to be sound."""

ITEMS = {"items": True}
"""The metadata of a field of a move that holds numbers of items."""

_Moved = TypeVar("_Moved", bound="Move")


@dataclass(frozen=True, kw_only=True, repr=False)
class Move(ABC):
    """A change of a state that can be taken back, as data.

    Items are named by their numbers, and groups by their labels, too. What a move does not say of
    the order in which items stand after it, it chooses: what is in the way of a group that comes
    together goes before it where it can, and else after it. `orders` says it instead, for any of
    the groups that the move changes; a move that takes another back has them, so that all is as it
    was.

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
        given = []
        for each in fields(self):
            value = getattr(self, each.name)
            if each.repr and value != each.default:
                name = "" if each.default is MISSING else f"{each.name}="
                given.append(name + repr(_meant(each.name, value)))
        return f"{type(self).__name__}({', '.join(given)})"

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


# A hash is a sum over what is hashed, so the order of items does not matter, and what stands in no
# group adds nothing: a state without groups hashes to 0.

_MASK = (1 << 64) - 1


def _hash_of(state: State, known: dict[int, int]) -> int:
    """The hash of a state; `known` keeps those of groups in which nothing changed since."""
    outer = (group for group in state.groups if not state.is_nested(group))
    gone = _sum(_token(f"gone {node}") for node in state.gone)
    return _sum([gone, *(_hash_of_group(state, group, known) for group in outer)])


def _hash_of_group(state: State, group: int, known: dict[int, int]) -> int:
    """The hash of a group; `known` keeps those in which nothing changed since."""
    if group not in known:
        inner = _sum(_of_item(state, item, known) for item in state.children(group))
        data = state.data(group)
        # By value: the same number is written in several ways.
        notes = sorted((n, repr(note_of(t))) for n, t in data.texts.items() if n != LABEL)
        known[group] = _token(f"group {inner} {notes} {data.is_isolated}")
    return known[group]


def _of_item(state: State, item: int, known: dict[int, int]) -> int:
    if state.is_group(item):
        return _hash_of_group(state, item, known)
    copied = [at for at, value in enumerate(state.reads(item)) if state.is_copy(value.node)]
    kind = "copy" if state.is_copy(item) else "node"
    return _token(f"{kind} {state.node(item).number} {copied}")


@functools.lru_cache(maxsize=65536)
def _token(text: str) -> int:
    # Not `hash`: a key must be the same in every process.
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _sum(numbers: Iterable[int]) -> int:
    return sum(numbers) & _MASK


def _listed(state: State, group: int = ROOT, depth: int = 1) -> Iterator[str]:
    """A line for each item of a group, and of those in it."""
    indent = "  " * depth
    for item in state.children(group):
        if not state.is_group(item):
            reads = ", ".join(map(str, state.reads(item)))
            yield f"{indent}{item:>4}  {state.node(item).op}  {reads}".rstrip()
            continue
        data = state.data(item)
        kind = "isolated group" if data.is_isolated else "group"
        label = f'"{data.label}"' if data.label else ""
        row = "  ".join(filter(None, (label, said(data.texts))))
        yield f"{indent}{item:>4}  {kind} {row}".rstrip()
        yield from _listed(state, item, depth + 1)


Item: TypeAlias = int | str
"""A reference to an item: its number, or the label of a group."""


@dataclass(frozen=True, repr=False)
class GroupData:
    """The attributes and the kind of a group, without its items.

    Attributes:
        texts: its attributes, as MLIR prints them, by name.
        is_isolated: True for a `linalg_ext.isolated_group`.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    is_isolated: bool = False

    @property
    def annotations(self) -> dict[str, Note]:
        """Its attributes as Python values, by name: `{"label": "layer", "tiling": (8, 64)}`."""
        return {name: note_of(text) for name, text in self.texts.items()}

    def __repr__(self) -> str:
        return f"GroupData({self.annotations!r}, is_isolated={self.is_isolated})"

    @property
    def label(self) -> str:
        """Its name for people; empty where it has none."""
        return str(note_of(self.texts.get(LABEL, '""')))


def group_of_label(label: str, groups: Iterable[tuple[int, GroupData]]) -> int:
    """The number of the group that has a label.

    Raises:
        GroupingError: none has it, or several have.
    """
    labels = {number: data.label for number, data in groups}
    found = [number for number, each in labels.items() if each == label]
    if len(found) == 1:
        return found[0]
    if found:
        raise GroupingError(
            f"{len(found)} groups have the label {label!r}",
            expected="one of that label, or its number, which is "
            + " or ".join(map(str, sorted(found))),
        )
    known = sorted({each for each in labels.values() if each})
    near = get_close_matches(label, known, n=1)
    raise GroupingError(
        f"{label!r} is the label of no group",
        expected="one of " + ", ".join(map(repr, known)) if known else "the number of an item",
        hint=f"did you mean {near[0]!r}?" if near else None,
    )
