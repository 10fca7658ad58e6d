"""Groupings of the ops of a graph, and the moves that change them.

A state is changed by moves alone (`Move`); each takes time proportional to the items it touches,
and can be undone. In every state

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
from linalg_ext.structured.group import INIT_SLOTS, INPUT_SLOTS, LABEL, PRESERVE
from linalg_ext.utils import hooks

from ._annotations import AttributeText, Note, annotations_text, note_of
from ._graph import ARGUMENTS, Graph, Node, Value

ROOT = -1
"""The parent of items that stand in no group."""

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

    @property
    def label(self) -> str:
        """Its name for people; empty where it has none."""
        return str(note_of(self.texts.get(LABEL, '""')))

    def __repr__(self) -> str:
        return f"GroupData({self.annotations!r}, is_isolated={self.is_isolated})"


class State:
    """Groups over a graph.

    >>> state = State(graph)
    >>> undo = state.apply(Insert((3, 4, 5)))
    >>> state.why_not(Merge(7, 9))          # None where the move is legal
    >>> state.apply(undo)

    Attributes:
        graph: the ops that it groups.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._parents = dict.fromkeys(graph.order, ROOT)
        self._children: dict[int, tuple[int, ...]] = {}
        self._groups: dict[int, GroupData] = {}
        self._copies: dict[int, int] = {}
        self._gone: dict[int, None] = {}
        self._reads: dict[int, tuple[Value, ...]] = {}
        self._users: dict[int, tuple[int, ...]] = {}
        self._log: list[tuple[dict[int, Any], int, Any]] = []
        self._marks: list[tuple[int, int]] = []
        self._ordered: dict[int, Sequence[int]] = {}
        self._next = len(graph.nodes) + len(graph.groups)
        users: dict[int, list[int]] = {}
        for node in graph.nodes:
            for value in node.reads:
                users.setdefault(value.node, []).append(node.number)
        self._users = {producer: tuple(readers) for producer, readers in users.items()}
        for group in graph.groups:
            self._groups[group.number] = GroupData(dict(group.annotations), group.is_isolated)
            self._children[group.number] = group.members
            self._parents.update(dict.fromkeys(group.members, group.number))
        self._children[ROOT] = graph.order

    @property
    def groups(self) -> tuple[int, ...]:
        """The numbers of all groups."""
        return tuple(self._groups)

    def item(self, named: Item) -> int:
        """Return the number of an item, by the label for a group; raise as `group` does."""
        if isinstance(named, str):
            return self._labelled(named)
        self.check_item(named)
        return named

    def group(self, named: Item) -> int:
        """Return the number of a group, by its label for one: `state.group("softmax")`.

        Raises:
            GroupingError: there is no such group, or several have the label.
        """
        number = ROOT if named == ROOT else self.item(named)
        if number != ROOT and number not in self._groups:
            raise GroupingError(f"{self.describe(number)} is not a group")
        return number

    def data(self, group: Item) -> GroupData:
        """Return the attributes and the kind of a group."""
        return self._groups[self.group(self.item(group))]

    def children(self, group: Item = ROOT) -> tuple[int, ...]:
        """Return the items of a group, in order; those outside all groups by default."""
        return self._children[self.group(group)]

    def parent(self, item: int) -> int:
        """Return the group that an item stands in; `ROOT` where it stands in none."""
        self.check_item(item)
        return self._parents[item]

    def outermost(self, item: int) -> int:
        """Return the item outside all groups that holds another, or is it."""
        while (above := self.parent(item)) != ROOT:
            item = above
        return item

    def node(self, item: int) -> Node:
        """Return the node that an item is, or is a copy of."""
        return self.graph.nodes[self._copies.get(item, item)]

    def reads(self, item: int) -> tuple[Value, ...]:
        """Return the values that a node reads: a copy's result where it reads a copy now."""
        return self._reads[item] if item in self._reads else self.graph.nodes[item].reads

    def users(self, item: int) -> tuple[int, ...]:
        """Return the nodes that read a node, one for each time."""
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
    def removed(self) -> tuple[int, ...]:
        """The nodes of the graph that were removed, because another computes the same."""
        return tuple(self._gone)

    def nodes_of(self, item: int) -> tuple[int, ...]:
        """Return the nodes and copies that an item holds, in order; a node holds itself."""
        children = self._children.get(item)
        if children is None:
            return (item,)
        if self._groups.keys().isdisjoint(children):
            return children
        return tuple(node for child in children for node in self.nodes_of(child))

    def key(self, group: int = ROOT) -> int:
        """Return a fingerprint of 64 bits of a state, or a group, independent of names.

        Equal for states that hold the same nodes in the same groups with the same annotations. The
        numbers and labels of groups, and the order of independent items, do not matter. A state
        without groups has the key 0.
        """
        if group == ROOT:
            outer = (self.key(item) for item in self._children[ROOT] if item in self._groups)
            return _sum([*(_token(f"gone {node}") for node in self._gone), *outer])
        inner = _sum(map(self._item_key, self._children[group]))
        data = self._groups[group]
        return _group_token(inner, tuple(data.texts.items()), data.is_isolated)

    def _item_key(self, item: int) -> int:
        if item in self._groups:
            return self.key(item)
        copied: tuple[int, ...] = ()
        if copies := self._copies:
            copied = tuple(
                position for position, value in enumerate(self.reads(item)) if value.node in copies
            )
        return _item_token(item in copies, copies.get(item, item), copied)

    def inputs(self, group: int) -> tuple[Value, ...]:
        """Return the values from outside that a group reads, each once."""
        members = self.nodes_of(group)
        inside = set(members)
        reads = (value for member in members for value in self.reads(member))
        return tuple(dict.fromkeys(value for value in reads if value.node not in inside))

    def outputs(self, group: int) -> tuple[Value, ...]:
        """Return the values that a group computes and something outside reads."""
        members = self.nodes_of(group)
        inside = set(members)
        outputs = []
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
                    outputs.append(value)
        return tuple(outputs)

    def apply(self, move: Move) -> Move:
        """Make a move; returns the one that takes it back.

        Raises:
            GroupingError: it is not legal; says why. The state is as it was.
            ArgumentError: it names something that is not there.
        """
        if not hasattr(move, "make"):
            raise ArgumentTypeError(
                f"{move!r} is not a move",
                expected="a move, such as Insert((3, 4))",
                hint="plan.apply_to(state) makes all moves of a plan",
            )
        mark = len(self._log), self._next
        self._ordered.clear()
        try:
            inverse = move.make(self)
            self._check(self._log[mark[0] :])
        except BaseException:
            self._rewind(*mark)
            raise
        self._marks.append(mark)
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
            self._rewind(*self._marks.pop())

    def copy(self) -> State:
        """Return a copy that can be changed independently; it starts without moves to undo."""
        new = State.__new__(State)
        for name, value in vars(self).items():
            setattr(new, name, dict(value) if isinstance(value, dict) else value)
        new._log, new._marks = [], []
        return new

    def _check(self, writes: Iterable[tuple[dict[int, Any], int, Any]]) -> None:
        """Check the orders that a move names, and the interfaces and reads that it changed.

        Raises:
            GroupingError: an item stands before one that it needs; or a group cannot have the
                inputs or results that it would get.
        """
        for group, natural in self._ordered.items():
            _check_order(self, group, natural)
        written = [(table, key) for table, key, _ in writes]
        groups = {key: None for table, key in written if table is self._children}
        for reader in {key: None for table, key in written if table is self._reads}:
            if reader in self._parents:
                groups.update(dict.fromkeys(self._crossed_by(reader)))
        for group in groups:
            if group in self._groups:
                check_interface(self, group)

    def _crossed_by(self, reader: int) -> Iterator[int]:
        """Yield the groups whose borders the reads of a node cross.

        Raises:
            GroupingError: a value that it reads stands behind it.
        """
        above = [*self._groups_around(reader), ROOT]
        for value in self.reads(reader):
            if value.node == ARGUMENTS:
                continue
            around = self._groups_around(value.node)
            common = next(group for group in above if group == ROOT or group in around)
            order = self._children[common]
            source, target = (self.child_of(common, node) for node in (value.node, reader))
            if order.index(source) >= order.index(target):
                raise GroupingError(
                    f"{self.describe(target)} would need {self.describe(source)}, which stands "
                    "behind it"
                )
            yield from around[: around.index(common) if common != ROOT else None]
        yield from above[:-1]

    def _groups_around(self, item: int) -> list[int]:
        groups: list[int] = []
        while (item := self._parents[item]) != ROOT:
            groups.append(item)
        return groups

    # For moves alone.

    def _put(self, table: dict[int, Any], key: int, value: Any) -> None:
        """Write to a table, or remove the entry for `_ABSENT`; the log takes it back."""
        self._log.append((table, key, table.get(key, _ABSENT)))
        _set(table, key, value)

    def _rewind(self, length: int, following: int) -> None:
        self._next = following
        while len(self._log) > length:
            _set(*self._log.pop())

    def fresh(self, number: int | None) -> int:
        """Return a number for a new item: the wanted one, or the next.

        Raises:
            GroupingError: the wanted one is taken.
        """
        if number is None:
            number = self._next
        elif number in self._parents:
            raise GroupingError(f"the number {number} is taken", hint="leave it out")
        self._next = max(self._next, number + 1)
        return number

    def put_group(self, group: int, data: GroupData | None) -> None:
        """Set the data of a group; None removes it."""
        self._put(self._groups, group, _ABSENT if data is None else data)
        if data is None:
            self._put(self._children, group, _ABSENT)
            self._put(self._parents, group, _ABSENT)

    def put_children(
        self,
        group: int,
        children: Sequence[int],
        new: Sequence[int],
        sound: Sequence[int] | None = None,
    ) -> None:
        """Set the items of a group; `new` among them did not stand in it before.

        Once the move is made, their order is checked against one that is known to be sound.
        """
        if sound is not None and tuple(children) != tuple(sound):
            self._ordered[group] = sound
        for child in new:
            self._put(self._parents, child, group)
        self._put(self._children, group, tuple(children))

    def put_copy(self, copy: int, source: int) -> None:
        """Make a copy of a node, with the same operands; or a node that is gone once more.

        Raises:
            GroupingError: that one computes something else.
        """
        if copy in self._gone:
            if self.graph.nodes[copy].meaning != self.node(source).meaning:
                raise GroupingError(
                    f"the number {copy} is that of {self.graph.nodes[copy].op}, which is gone",
                    hint="leave it out",
                )
            self._put(self._gone, copy, _ABSENT)
        else:
            self._put(self._copies, copy, self.graph.first_alike(self.node(source)))
        self._put(self._reads, copy, ())
        self.put_reads(copy, self.reads(source))

    def remove(self, node: int) -> None:
        """Take a node or a copy, which nothing reads, out of the state."""
        self.put_reads(node, ())
        for table in (self._reads, self._parents, self._copies):
            self._put(table, node, _ABSENT)
        if node < len(self.graph.nodes):
            self._put(self._gone, node, None)

    def put_reads(self, node: int, reads: tuple[Value, ...]) -> None:
        """Set the values that a node reads."""
        for value in self.reads(node):
            users = list(self._users[value.node])
            users.remove(node)
            self._put(self._users, value.node, tuple(users) or _ABSENT)
        for value in reads:
            self._put(self._users, value.node, (*self.users(value.node), node))
        self._put(self._reads, node, reads)

    def needs(self, item: int, parent: int) -> set[int]:
        """Return the items in `parent` that an item depends on."""
        parents, needed = self._parents, set[int]()
        for node in self.nodes_of(item):
            sources = [value.node for value in self.reads(node) if value.node != ARGUMENTS]
            for source in (*sources, *self.node(node).after):
                while source != ROOT and parents[source] != parent:
                    source = parents[source]
                needed.add(source)
        return needed - {item, ROOT}

    def _labelled(self, label: str) -> int:
        labels = {number: data.label for number, data in self._groups.items()}
        numbers = [number for number, other in labels.items() if other == label]
        if len(numbers) == 1:
            return numbers[0]
        if numbers:
            raise GroupingError(
                f"{len(numbers)} groups have the label {label!r}",
                expected="one of that label, or its number, which is "
                + " or ".join(map(str, sorted(numbers))),
            )
        names = sorted({other for other in labels.values() if other})
        near = get_close_matches(label, names, n=1)
        raise GroupingError(
            f"{label!r} is the label of no group",
            expected="one of " + ", ".join(map(repr, names)) if names else "the number of an item",
            hint=f"did you mean {near[0]!r}?" if near else None,
        )

    def child_of(self, group: int, item: int) -> int:
        """Return the item that stands in `group` and holds another, or is it."""
        while self._parents[item] != group:
            item = self._parents[item]
        return item

    def describe(self, item: int) -> str:
        """Return an item for a message: its number and its kind."""
        if item == ROOT:
            return "the function"
        if item in self._groups:
            label = self._groups[item].label
            return f'group {item} "{label}"' if label else f"group {item}"
        return f"{self.node(item).op} ({item})"

    def check_item(self, item: int) -> None:
        """Raise GroupingError where there is no such item."""
        if not isinstance(item, int) or isinstance(item, bool):
            raise ArgumentTypeError(
                f"{item!r} is not an item",
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

    def check_changeable(self, group: int) -> None:
        """Raise GroupingError where a group, or one that it stands in, must stay as it is."""
        while group != ROOT:
            if PRESERVE in self._groups[group].texts:
                raise GroupingError(
                    f"{self.describe(group)} says {PRESERVE}: it must stay as it is",
                    hint=f"Annotate({group}, {PRESERVE!r}, None) takes the word back",
                )
            group = self._parents[group]

    def __repr__(self) -> str:
        head = f"State of @{self.graph.function}: {len(self._groups)} groups, key {self.key():016x}"
        return "\n".join([head, *_listed(self)])

    def _repr_svg_(self) -> str:
        return str(hooks.facade("views").state_svg(self))


def check_interface(state: State, group: int) -> None:
    """Raise GroupingError where a group cannot have the inputs or results that it would get."""
    outputs = state.outputs(group)
    for kind, values, most in (
        ("inputs", state.inputs(group), INPUT_SLOTS),
        ("results", outputs, INIT_SLOTS),
    ):
        if len(values) > most:
            raise GroupingError(
                f"the group would have {len(values)} {kind}", expected=f"{most} at most"
            )
    members = set(state.nodes_of(group))
    for value in outputs:
        destination(state, value, members)


def destination(state: State, value: Value, members: set[int]) -> Value | None:
    """Return the value from outside that a result of a group is computed in.

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
        f"the sizes of {state.describe(first.node)}, which ops outside read, {result.type}, "
        f"come from {state.describe(value.node)} in the group: there is no destination for it",
        hint="leave that op outside the group",
    )


def _check_order(state: State, group: int, sound: Sequence[int]) -> None:
    order = state.children(group)
    start, end = 0, len(order)
    while order[start] == sound[start]:
        start += 1
    while order[end - 1] == sound[end - 1]:
        end -= 1
    later = set(order[start:end])
    for item in order[start:end]:
        later.discard(item)
        if wrong := state.needs(item, group) & later:
            raise GroupingError(
                f"{state.describe(item)} would stand before {state.describe(min(wrong))}, "
                "which it needs"
            )


_ABSENT = object()
"""The mark of a missing entry: a table has no value for that key."""


def _set(table: dict[int, Any], key: int, value: Any) -> None:
    if value is _ABSENT:
        table.pop(key, None)
    else:
        table[key] = value


# A key is a sum over the keys of the items, so their order does not matter.


@functools.lru_cache(maxsize=65536)
def _group_token(inner: int, texts: tuple[tuple[str, str], ...], is_isolated: bool) -> int:
    # By value: the same number is written in several ways.
    notes = sorted((name, repr(note_of(text))) for name, text in texts if name != LABEL)
    return _token(f"group {inner} {notes} {is_isolated}")


@functools.lru_cache(maxsize=65536)
def _item_token(is_copy: bool, number: int, copied: tuple[int, ...]) -> int:
    return _token(f"{'copy' if is_copy else 'node'} {number} {list(copied)}")


def _token(text: str) -> int:
    # Not `hash`: a key must be the same in every process.
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _sum(numbers: Iterable[int]) -> int:
    return sum(numbers) & ((1 << 64) - 1)


def _listed(state: State, group: int = ROOT, depth: int = 1) -> Iterator[str]:
    """Yield a line for each item of a group, and of those in it."""
    indent = "  " * depth
    for item in state.children(group):
        if not state.is_group(item):
            reads = ", ".join(map(str, state.reads(item)))
            yield f"{indent}{item:>4}  {state.node(item).op}  {reads}".rstrip()
            continue
        data = state.data(item)
        kind = "isolated group" if data.is_isolated else "group"
        label = f'"{data.label}"' if data.label else ""
        row = "  ".join(filter(None, (label, annotations_text(data.texts))))
        yield f"{indent}{item:>4}  {kind} {row}".rstrip()
        yield from _listed(state, item, depth + 1)


Orders = tuple[tuple[int, tuple[int, ...]], ...]
"""For some groups, the items that they hold, in order."""

ITEMS = {"items": True}
"""The metadata of a field of a move that holds numbers of items."""

_Moved = TypeVar("_Moved", bound="Move")


@dataclass(frozen=True, kw_only=True, repr=False)
class Move(ABC):
    """A change of a state that can be taken back, as data.

    Items are named by their numbers, and groups by their labels, too. A move chooses the order in
    which items stand after it, where it is not said: an item in the way of a group that comes
    together goes before it where it can, and else after it. `orders` gives it instead, for any of
    the groups that the move changes; a move that takes another back has them, so that all is as it
    was.

    Attributes:
        orders: the order of the items in groups after the move, where that matters.
    """

    orders: Orders = field(default=(), repr=False, metadata=ITEMS)

    @abstractmethod
    def make(self, state: State) -> Move:
        """Make the move on a state; returns the one that takes it back.

        Raises:
            GroupingError: it is not legal.
        """

    def __repr__(self) -> str:
        """The call that makes it, without arguments that are defaults."""
        arguments = []
        for own in fields(self):
            value = getattr(self, own.name)
            if own.repr and value != own.default:
                name = "" if own.default is MISSING else f"{own.name}="
                if own.name == "annotations":
                    value = {note: note_of(text) for note, text in value}
                elif isinstance(value, AttributeText):
                    value = note_of(value)
                arguments.append(f"{name}{value!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    def renumbered(self: _Moved, number: Callable[[int], int]) -> _Moved:
        """Return the same move where items have other numbers."""

        def other(value: object) -> object:
            if isinstance(value, tuple):
                return tuple(map(other, value))
            return number(value) if isinstance(value, int) else value

        changes: dict[str, Any] = {
            own.name: other(getattr(self, own.name))
            for own in fields(self)
            if own.metadata.get("items")
        }
        return replace(self, **changes)

    def arrange(
        self, state: State, group: int, natural: Sequence[int], new: Sequence[int] = ()
    ) -> None:
        """Set the items of a group: in the order that the move says, else as given.

        Args:
            natural: an order in which each item stands after its producers.
            new: those that did not stand in the group before.

        Raises:
            GroupingError: the move says an order of other items.
        """
        order = dict(self.orders).get(group, natural)
        if sorted(order) != sorted(natural):
            raise GroupingError(
                f"the order of {state.describe(group)} is of other items than it holds",
                expected=f"an order of {sorted(natural)}",
            )
        state.put_children(group, order, new, natural)
