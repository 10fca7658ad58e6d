"""The light graph: the ops of a function and what they read, in Python alone.

Made once from a module (`_reading.py`). Groups over it are a `State`; the graph itself is never
changed.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

from ._work import NOTHING, Work

ARGUMENTS = -1
"""The node that stands for the arguments of the function."""


class Value(NamedTuple):
    """A result of a node, or an argument of the function where the node is `ARGUMENTS`."""

    node: int
    number: int = 0

    def __str__(self) -> str:
        if self.node == ARGUMENTS:
            return f"arg{self.number}"
        return str(self.node) if self.number == 0 else f"{self.node}#{self.number}"


@dataclass(frozen=True)
class Result:
    """The properties of a result of a node.

    Attributes:
        type: its type as MLIR prints it.
        is_tensor: True for a ranked tensor.
        is_static: True where all its sizes are known.
        destination: the number of the read of its node that it is computed in; None if absent.
    """

    type: str
    is_tensor: bool
    is_static: bool
    destination: int | None


@dataclass(frozen=True)
class Node:
    """An op of a function.

    Attributes:
        number: where it stands among the ops of the function once all groups are inlined.
        op: its name.
        reads: its operands, and then what the ops in its regions use from outside.
        results: what is known of each of its results.
        effect: what it does besides computing results, empty where nothing.
        is_cheap: whether it is worth no more than the traffic that computing it twice saves: no
            op that reduces.
        after: the nodes that it must follow though it does not read them.
        meaning: equal for two nodes that compute the same from the same reads; None where unknown.
        work: what it does, for what asks how long that takes.
    """

    number: int
    op: str
    reads: tuple[Value, ...]
    results: tuple[Result, ...]
    effect: str = ""
    is_cheap: bool = False
    after: tuple[int, ...] = ()
    meaning: Hashable = None
    work: Work = NOTHING


class GivenGroup(NamedTuple):
    """A group that a module has already.

    Attributes:
        number: above those of all nodes.
        members: the nodes and groups in it, in the order of the text.
        annotations: its attributes, name and text of each.
        is_isolated: whether it is a `linalg_ext.isolated_group`.
    """

    number: int
    members: tuple[int, ...]
    annotations: tuple[tuple[str, str], ...]
    is_isolated: bool


@dataclass(frozen=True)
class Graph:
    """The ops of one function.

    Attributes:
        function: its name.
        nodes: in the order of the text.
        returned: the values that the function's terminator uses.
        groups: those that the module has already.
        order: what stands outside all groups, nodes and groups, in the order of the text.
    """

    function: str
    nodes: tuple[Node, ...]
    returned: frozenset[Value]
    groups: tuple[GivenGroup, ...] = ()
    order: tuple[int, ...] = ()

    def first_alike(self, node: Node) -> int:
        """The first node that says what another says: one number for all that could be copies."""
        if node.meaning is None:
            return node.number
        return self._firsts[node.meaning]

    @functools.cached_property
    def _firsts(self) -> dict[Hashable, int]:
        return {node.meaning: node.number for node in reversed(self.nodes)}

    def __repr__(self) -> str:
        rows = [f"Graph of @{self.function}: {len(self.nodes)} ops, {len(self.groups)} groups"]
        width = max((len(node.op) for node in self.nodes), default=0)
        for node in self.nodes:
            reads = ", ".join(map(str, node.reads))
            rows.append(f"  {node.number:>4}  {node.op:{width}}  {reads}".rstrip())
        return "\n".join(rows)
