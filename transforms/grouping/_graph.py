"""The light graph: the ops of a function and their operands, in Python alone.

Made once from a module (`_reading.py`). Groups over it are a `State`; the graph itself is never
changed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

FREE, LOOPS, CONTRACTION, WINDOW, MOVE = "free", "loops", "contraction", "window", "move"
"""Kinds of work: nothing at run time; element-wise work and reductions; products of matrices and
of tensors; convolutions and poolings; bytes that are moved by other means."""


@dataclass(frozen=True)
class Access:
    """An access of an op to a tensor: a read or a write.

    Attributes:
        position: the number of the read of its node, or that of its result.
        axes: for each axis of the tensor, the loops that its index is made of.
        element: bytes of an element.
        bytes: of the whole tensor.
        steps: for each axis, the elements that a step of its loops advances by, 2 where every other
            one is read; all 1 where none are given.
    """

    position: int
    axes: tuple[tuple[int, ...], ...]
    element: float
    bytes: float
    steps: tuple[float, ...] = ()

    @property
    def elements(self) -> float:
        """The number of elements of the whole tensor."""
        return self.bytes / self.element

    def touched(self, loops: Sequence[int]) -> float:
        """Return the bytes that loops of such sizes touch."""
        return min(self.bytes, self.element * math.prod(self.extents(loops)))

    def extents(self, loops: Sequence[int]) -> list[float]:
        """Return the elements along each axis that loops of such sizes go over."""
        steps = self.steps or (1.0,) * len(self.axes)
        return [step * _span(axis, loops) for step, axis in zip(steps, self.axes, strict=True)]


def steps_of(
    axes: Sequence[Sequence[int]], loops: Sequence[int], sizes: Sequence[int]
) -> tuple[float, ...]:
    """Return the `steps` of an access to a tensor of such sizes, which loops go over as a whole."""
    return tuple(
        size / max(1, _span(axis, loops)) if len(axis) > 1 else 1.0
        for axis, size in zip(axes, sizes, strict=True)
    )


def _span(axis: Sequence[int], loops: Sequence[int]) -> int:
    """Return the number of values of an index that is a sum of loops, all of which advance by 1."""
    return sum(loops[loop] for loop in axis) - len(axis) + 1


@dataclass(frozen=True)
class Work:
    """The work of an op.

    Attributes:
        kind: `FREE`, `LOOPS`, `CONTRACTION`, `WINDOW` or `MOVE`.
        loops: the size of each.
        reduced: the loops that reduce.
        reads: of its inputs, and of a destination whose old elements are used.
        writes: of its results.
        operations: the number of each kind in an iteration: `multiply_add` (two operations in one),
            or a function that figures know.
        dtype: element type of the result.
        is_scalar: True where it is not a loop over vectors.
        is_view: True where the result is the first operand under another shape.
        is_constant: True where the result is one value in every place, and reads nothing.
    """

    kind: str
    loops: tuple[int, ...] = ()
    reduced: frozenset[int] = frozenset()
    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    operations: tuple[tuple[str, float], ...] = ()
    dtype: str = "f32"
    is_scalar: bool = False
    is_view: bool = False
    is_constant: bool = False

    @property
    def iterations(self) -> int:
        """The number of iterations of all loops together."""
        return math.prod(self.loops)

    @property
    def parallel(self) -> tuple[int, ...]:
        """The loops that do not reduce."""
        return tuple(loop for loop in range(len(self.loops)) if loop not in self.reduced)

    @property
    def is_product(self) -> bool:
        """Return whether it multiplies and adds: a contraction or a convolution."""
        return self.kind in (CONTRACTION, WINDOW) and "multiply_add" in dict(self.operations)

    @property
    def is_elementwise(self) -> bool:
        """Return whether each iteration gives one element, and nothing is reduced."""
        return self.kind == LOOPS and not self.reduced and not self.is_scalar

    def tiled(self, sizes: Mapping[int, int]) -> Work:
        """Return the same on a part of some loops."""
        loops = tuple(
            min(size, sizes.get(loop, size)) or size for loop, size in enumerate(self.loops)
        )
        return self if loops == self.loops else replace(self, loops=loops)


NOTHING = Work(FREE)
"""The work of an op that leaves no code, or none to speak of."""


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
        reads: its operands, and then the values from outside that the ops in its regions use.
        results: the shape and type of each of its results, where known.
        effect: its side effect, empty where it has none.
        is_cheap: whether it is worth no more than the traffic that computing it twice saves: no
            op that reduces.
        after: the nodes that it must follow though it does not read them.
        meaning: equal for two nodes that compute the same from the same reads; None where unknown.
        work: its operations, for estimates of their time.
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


class ExistingGroup(NamedTuple):
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
        order: the nodes and groups that stand in no group, in the order of the text.
    """

    function: str
    nodes: tuple[Node, ...]
    returned: frozenset[Value]
    groups: tuple[ExistingGroup, ...] = ()
    order: tuple[int, ...] = ()

    def first_alike(self, node: Node) -> int:
        """Return the number of the first node with the same meaning: one for all copies."""
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
