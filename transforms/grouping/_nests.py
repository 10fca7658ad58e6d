"""The nests that code generation makes of a group: the ops of each, and the rows that they share.

    a constant result           is written where it is read, nowhere else
    an element-wise op          goes into the nest of its group that alone reads it, unless that is
                                a contraction or an op on windows, or reads slices of it
    an element-wise op          after a contraction or an op on windows, over all of its result, is
                                done with it (an epilogue)
    nests one after another     share the loops over their rows where these are alike; one hands
                                a row to the other then, which stays in the nearest cache
    attention                   products, a softmax between them: one nest, no scores in memory

This follows the passes of `transforms/codegen`, and upstream's element-wise fusion before them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ._graph import CONTRACTION, FREE, LOOPS, WINDOW, Access, Value, Work
from ._state import State
from ._tiling import read_in_slices


@dataclass
class Nest:
    """Ops that become one nest of loops.

    Attributes:
        main: the op whose loops they are.
        ops: all of them, in order.
        rounds: for each, how many times one of its iterations is done.
        shares_rows: whether it shares the loops over rows with the nest before it.
        gives_rows: whether the nest after it shares its loops over rows.
    """

    main: int
    ops: list[int]
    rounds: dict[int, float] = field(default_factory=dict)
    shares_rows: bool = False
    gives_rows: bool = False


class Members:
    """The ops of a group, and their operands with views looked through."""

    def __init__(
        self,
        state: State,
        group: int,
        outputs: Sequence[Value],
        tiles: Mapping[int, Mapping[int, int]],
    ) -> None:
        self.state = state
        self.all = tuple(state.nodes_of(group))
        self.inside = set(self.all)
        self._reads: dict[int, list[tuple[Access, Value]]] = {}
        self.work: dict[int, Work] = {
            node: state.node(node).work.tiled(tiles.get(node, {})) for node in self.all
        }
        self.outputs = {self.source(value).node for value in outputs}
        self.in_slices = read_in_slices(state, group)

    def source(self, value: Value) -> Value:
        """Return the value itself, or the one that it is a view of by ops of the group."""
        while value.node in self.inside and self.state.node(value.node).work.is_view:
            value = self.state.reads(value.node)[0]
        return value

    def reads(self, node: int) -> list[tuple[Access, Value]]:
        """Return the tensors that a node reads, and how."""
        if node not in self._reads:
            values = self.state.reads(node)
            self._reads[node] = [
                (access, self.source(values[access.position])) for access in self.work[node].reads
            ]
        return self._reads[node]

    def is_for_free(self, value: Value) -> bool:
        """Return whether a value is nowhere in memory: one number everywhere, made in the group."""
        return value.node in self.inside and self.work[value.node].is_constant


def nests_of(members: Members) -> list[Nest]:
    """Return the nests that a group becomes, in order."""
    users = _users(members)
    nests: dict[int, Nest] = {}
    home: dict[int, int] = {}
    for node in reversed(members.all):
        work = members.work[node]
        if work.kind == FREE or (work.is_constant and node not in members.outputs):
            continue
        into = _fused_into(members, node, users, home)
        if into is None:
            nests[node], home[node] = Nest(node, [node], {node: 1.0}), node
            continue
        nest = nests[into]
        nest.ops.insert(0, node)
        nest.rounds[node] = _rounds(members, node, users[node], nest)
        home[node] = into
    in_order = [nests[node] for node in members.all if node in nests]
    in_order = _with_epilogues(members, in_order, users)
    _share_rows(members, in_order)
    return in_order


def _users(members: Members) -> dict[int, list[int]]:
    """The nodes of the group that read each node, one for each time; views are looked through."""
    users: dict[int, list[int]] = {}
    for node in members.all:
        for _, value in members.reads(node):
            users.setdefault(value.node, []).append(node)
    return users


def _fused_into(
    members: Members, node: int, users: Mapping[int, list[int]], home: Mapping[int, int]
) -> int | None:
    """Return the nest that an element-wise op goes into; None where it has one of its own."""
    if not members.work[node].is_elementwise:
        return None
    if node in members.outputs or node in members.in_slices:
        return None
    homes = {home.get(user) for user in users.get(node, [])}
    if len(homes) != 1:
        return None
    (into,) = homes
    return into if into is not None and members.work[into].kind == LOOPS else None


def _rounds(members: Members, node: int, users: Sequence[int], nest: Nest) -> float:
    """Return the number of times that each element of a fused op is computed for its user."""
    user = members.work[users[0]]
    work = members.work[node]
    read = next((access for access, value in members.reads(users[0]) if value.node == node), None)
    above = nest.rounds[users[0]]
    if read is None or not work.iterations:
        return above
    own = sorted({loop for axis in read.axes for loop in axis})
    if own == list(range(len(own))):
        return above  # ops that only later loops lack are computed before them
    return max(1.0, above * user.iterations / work.iterations)


def _with_epilogues(
    members: Members, nests: list[Nest], users: Mapping[int, list[int]]
) -> list[Nest]:
    """Join a contraction or an op on windows with one element-wise nest that reads it."""
    by_main = {nest.main: nest for nest in nests}
    absorbed: set[int] = set()
    for nest in nests:
        work = members.work[nest.main]
        if work.kind not in (CONTRACTION, WINDOW) or nest.main in members.outputs:
            continue
        mine = set(users.get(nest.main, []))
        after = [reader for reader in nests if mine & set(reader.ops)]
        if len(after) == 1 and after[0].main not in absorbed and _is_over(members, after[0], work):
            nest.ops += after[0].ops
            nest.rounds.update(after[0].rounds)
            absorbed.add(after[0].main)
    return [nest for main, nest in by_main.items() if main not in absorbed]


def _is_over(members: Members, nest: Nest, product: Work) -> bool:
    """Return whether a nest is element-wise, and has one element for each of a product."""
    work = members.work[nest.main]
    return work.is_elementwise and work.writes[0].elements == product.writes[0].elements


def _share_rows(members: Members, nests: Sequence[Nest]) -> None:
    """Mark the nests that share the loops over rows with the one before."""
    is_attention = _is_attention(members, nests)
    for before, nest in itertools.pairwise(nests):
        is_shared = is_attention or _rows_alike(members, before, nest)
        nest.shares_rows = before.gives_rows = is_shared


def _rows_alike(members: Members, before: Nest, nest: Nest) -> bool:
    above, below = members.work[before.main], members.work[nest.main]
    if {above.kind, below.kind} != {LOOPS} or above.is_scalar or below.is_scalar:
        return False
    if len(above.loops) < 2 or len(below.loops) < 2 or above.loops[0] != below.loops[0]:
        return False
    if 0 in above.reduced or 0 in below.reduced:
        return False
    first = {before.main: above.writes[0]} if above.writes else {}
    return all(
        access.axes[:1] == ((0,),) and first[value.node].axes[:1] == ((0,),)
        for node in nest.ops
        for access, value in members.reads(node)
        if value.node in first
    )


def _is_attention(members: Members, nests: Sequence[Nest]) -> bool:
    """Return whether two contractions stand around exponentials and sums of rows, and no others."""
    products = [
        number for number, nest in enumerate(nests) if members.work[nest.main].kind == CONTRACTION
    ]
    if len(products) != 2 or products != [0, len(nests) - 1]:
        return False
    between = [members.work[node] for nest in nests[1:-1] for node in nest.ops]
    has_exponentials = any("exp" in dict(work.operations) for work in between)
    return has_exponentials and any(work.reduced for work in between)
