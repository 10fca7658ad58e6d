"""The rounds over a model: until nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from linalg_ext.frameworks.onnx.rewriting import (
    control,
    elements,
    integers,
    quantized,
    recurrent,
    resizing,
    windows,
)
from linalg_ext.frameworks.onnx.rewriting.constants import compute, known_of
from linalg_ext.frameworks.onnx.rewriting.function_bodies import call_of_function
from linalg_ext.frameworks.onnx.rewriting.writing import Known, Unwritten, Writer, attributes_of
from linalg_ext.frameworks.requirements import onnx

Rewrite = Callable[[Writer, Any, Mapping[str, Any]], None]

_MOST_ROUNDS = 16
"""Functions of functions, and loops in loops, are no deeper."""

_EARLY: Mapping[str, Rewrite] = MappingProxyType(
    {"If": control.branch, "Loop": control.loop, "Scan": control.scan}
)
"""These know nothing of the types of their inputs."""

_REWRITES: Mapping[str, Rewrite] = MappingProxyType(
    {
        **elements.REWRITES,
        **quantized.REWRITES,
        **recurrent.REWRITES,
        **resizing.REWRITES,
        **windows.REWRITES,
    }
)


def rewritten(model: Any) -> Any:
    """A model, its shapes inferred, without nodes that do not come through as they are.

    The model itself is changed.
    """
    for number in range(_MOST_ROUNDS):
        known = known_of(model)
        graph = model.graph
        nodes = list(graph.node)
        written = _Round(model, known, number).nodes(nodes)
        if written == nodes:
            break
        del graph.node[:]
        graph.node.extend(written)
        _drop_unused(graph)
        # What was known of values that are gone, or made otherwise, is inferred anew.
        del graph.value_info[:]
        model = onnx().shape_inference.infer_shapes(model, data_prop=True)
    return model


class _Round:
    """One pass over the nodes of a model."""

    def __init__(self, model: Any, known: Known, number: int) -> None:
        self._model = model
        self._constants = dict(known.constants)
        self._known = Known(known.kinds, known.shapes, self._constants, known.opset)
        self._number = number

    def nodes(self, nodes: Sequence[Any]) -> list[Any]:
        """The nodes that stand for those of a graph."""
        return [each for node in nodes for each in self._written(node)]

    def _written(self, node: Any) -> Sequence[Any]:
        name = next((each for each in node.output if each), "")
        if (found := compute(node, self._known)) is not None:
            pairs = [each for each in zip(node.output, found, strict=False) if each[0]]
            self._constants.update(pairs)
            return [node] if node.op_type == "Constant" else self._told(node, pairs)
        prefix = f"{name}/{node.op_type}"
        nodes = self._by_rewrite(node, prefix)
        if nodes is None:
            nodes = call_of_function(self._model, node, self._known, f"{prefix}/")
        for each in nodes or ():
            each.name, each.doc_string = node.name, node.doc_string
        return [node] if nodes is None else nodes

    def _told(self, node: Any, pairs: Sequence[tuple[str, Any]]) -> list[Any]:
        write = Writer("", self._known)
        for name, value in pairs:
            write.constant(value, gives=name)
        for each in write.nodes:
            each.name, each.doc_string = node.name, node.doc_string
        return write.nodes

    def _by_rewrite(self, node: Any, prefix: str) -> list[Any] | None:
        if node.domain not in ("", "ai.onnx"):
            return None
        rewrites = [_EARLY.get(node.op_type)]
        shapes, kinds = self._known.shapes, self._known.kinds
        if all(not name or (name in shapes and kinds.get(name)) for name in node.input):
            rewrites += [_REWRITES.get(node.op_type), integers.widened]
        for rewrite in rewrites:
            write = Writer(prefix, self._known)
            try:
                if rewrite is not None:
                    rewrite(write, node, attributes_of(node))
            except Unwritten:
                continue
            if write.nodes:
                return write.nodes
        return None


def _drop_unused(graph: Any) -> None:
    """Drop nodes whose results have no uses."""
    used = {each.name for each in graph.output}
    kept = []
    for node in reversed(list(graph.node)):
        if any(name in used for name in node.output):
            kept.append(node)
            used |= set(node.input) | _read_within(node)
    del graph.node[:]
    graph.node.extend(reversed(kept))


def _read_within(node: Any) -> set[str]:
    """Return the names that the subgraphs of a node read, their own or those of outer graphs."""
    found: set[str] = set()
    for attribute in node.attribute:
        graphs = [attribute.g] if attribute.HasField("g") else []
        for graph in (*graphs, *attribute.graphs):
            found |= {each.name for each in graph.output}
            for each in graph.node:
                found |= set(each.input) | _read_within(each)
    return found
