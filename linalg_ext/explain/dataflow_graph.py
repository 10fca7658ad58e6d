"""Which op of a function reads what: a graph, with groups as boxes.

>>> lx.explain.dataflow(module)
Graph of @layer: 2 ops, 0 groups
     0  tensor.empty
     1  linalg.matmul  arg0, arg1, 0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linalg_ext.explain.graph_drawing import Box, Edge, drawing
from linalg_ext.explain.pieces import styled
from linalg_ext.module import ModuleLike
from linalg_ext.transforms.grouping import Graph, Value, read_graph
from linalg_ext.transforms.grouping._graph import ARGUMENTS

_SILENT = frozenset({"tensor.empty", "arith.constant", "tensor.dim"})
"""Ops that are not drawn: everything reads them, and they compute nothing."""

_ARGUMENTS, _RESULTS = -1, -2
"""The keys of two boxes that are no ops."""


@dataclass(frozen=True, repr=False)
class Dataflow:
    """The ops of a function and what they read.

    Attributes:
        graph: as `lx.transforms.grouping` reads it.
        lines: for each op the line of the module that it begins on, from 0, where that is known.
    """

    graph: Graph
    lines: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return repr(self.graph)

    def to_svg(self) -> str:
        """The graph as a drawing, without its style: data flows downwards.

        Constants, sizes and empty tensors are left out. What stands in a group is in its box.
        """
        boxes = []
        for top in self.graph.order:
            drawn = [node for node in self._members(top) if self._is_drawn(node)]
            if drawn:
                boxes.append(self._box(top, drawn))
        edges = self._edges()
        if any(edge.source == _ARGUMENTS for edge in edges):
            boxes.insert(0, Box(_ARGUMENTS, ("arguments",), kind="end"))
        boxes.append(Box(_RESULTS, ("results",), kind="end"))
        return drawing(boxes, edges)

    def _edges(self) -> list[Edge]:
        """What the boxes read of each other, each pair once."""
        graph = self.graph
        tops = {member: top for top in graph.order for member in self._members(top)}
        tops[ARGUMENTS] = _ARGUMENTS
        read = [
            (value, tops[node.number])
            for node in graph.nodes
            if self._is_drawn(node.number)
            for value in node.reads
        ]
        read += [(value, _RESULTS) for value in graph.returned if value.node != ARGUMENTS]
        found = {
            (tops[value.node], end): self._type(value)
            for value, end in reversed(read)
            if tops[value.node] != end and (value.node == ARGUMENTS or self._is_drawn(value.node))
        }
        return [Edge(source, end, type) for (source, end), type in reversed(found.items())]

    def _repr_html_(self) -> str:
        return styled(f'<div class="flow">{self.to_svg()}</div>')

    def _members(self, item: int) -> Iterator[int]:
        """The nodes of a group, those of inner groups too; a node is its own."""
        if item < len(self.graph.nodes):
            yield item
            return
        for member in self.graph.groups[item - len(self.graph.nodes)].members:
            yield from self._members(member)

    def _is_drawn(self, node: int) -> bool:
        return self.graph.nodes[node].op not in _SILENT

    def _box(self, item: int, nodes: Sequence[int]) -> Box:
        names = tuple(self._named(node) for node in nodes)
        lines = tuple(self.lines[node] for node in nodes) if self.lines else ()
        if item < len(self.graph.nodes):
            return Box(item, names, lines=lines)
        notes = dict(self.graph.groups[item - len(self.graph.nodes)].annotations)
        said = notes.pop("label", "").strip('"') or "group"
        more = ", ".join(f"{name} {text}" for name, text in notes.items())
        return Box(item, names, kind="group", title=f"{said}  {more}".strip(), lines=lines)

    def _named(self, node: int) -> str:
        results = self.graph.nodes[node].results
        return f"{self.graph.nodes[node].op}  {_short(results[0].type) if results else ''}".strip()

    def _type(self, value: Value) -> str:
        if value.node == ARGUMENTS:
            return ""
        return _short(self.graph.nodes[value.node].results[value.number].type)


def dataflow(
    module: ModuleLike, function: str | None = None, *, lines: Sequence[int] = ()
) -> Dataflow:
    """The graph of a function.

    Args:
        module: it is not changed.
        function: its name; may be left out where the module has one function with a body.
        lines: for each op the line that it begins on.

    Raises:
        ArgumentError: there is no such function, or it has several blocks.
    """
    graph = read_graph(module, function)
    return Dataflow(graph, tuple(lines) if len(lines) == len(graph.nodes) else ())


def _short(type: str) -> str:
    """`64x128xf32` of a tensor of that type."""
    if type.startswith("tensor<") and "," not in type:
        return type[7:-1]
    return type if len(type) <= 24 else type[:23] + "…"
