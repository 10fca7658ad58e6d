"""Nodes of ONNX written as others, where torch-mlir has no way for them.

The rewrites run until nothing changes. Values that are known are computed, functions and branches
that are known become their nodes, and loops of known lengths are unrolled. Other ops that
torch-mlir lacks are written by ops of ONNX that every opset since 13 has; models of older opsets
are converted first.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from linalg_ext.frameworks.onnx import control_flow, elements, recurrent, resizing
from linalg_ext.frameworks.onnx.control_flow import call_of_function
from linalg_ext.frameworks.onnx.writing import (
    DOMAIN,
    Known,
    Rewrite,
    Unwritten,
    Writer,
    attributes_of,
    compute,
    known_of,
    put,
)
from linalg_ext.frameworks.requirements import onnx

_MOST_ROUNDS = 16
"""Functions of functions, and loops in loops, are no deeper."""

_EARLY: Mapping[str, Rewrite] = MappingProxyType(
    {"If": control_flow.branch, "Loop": control_flow.loop, "Scan": control_flow.scan}
)
"""These know nothing of the types of their inputs."""

_REWRITES: Mapping[str, Rewrite] = MappingProxyType(
    {
        **elements.REWRITES,
        **recurrent.REWRITES,
        **resizing.REWRITES,
    }
)


def rewritten(model: Any) -> Any:
    """Return a model, its shapes inferred, without nodes that do not come through as they are.

    The model itself is changed.
    """
    for _ in range(_MOST_ROUNDS):
        known = known_of(model)
        graph = model.graph
        nodes = list(graph.node)
        written = _Round(model, known).nodes(nodes)
        if written == nodes:
            break
        put(graph.node, written)
        _drop_unused(graph)
        # What was known of values that are gone, or made otherwise, is inferred anew.
        put(graph.value_info, _own_results(graph))
        if graph.value_info and DOMAIN not in [opset.domain for opset in model.opset_import]:
            model.opset_import.append(onnx().helper.make_opsetid(DOMAIN, 1))
        model = onnx().shape_inference.infer_shapes(model, data_prop=True)
    return model


def _own_results(graph: Any) -> list[Any]:
    """Return the types of what nodes of our own give, which ONNX cannot infer.

    Such a node says its element type and the shape of its first result; the others lack the first
    axis.
    """
    found = []
    for node in graph.node:
        if node.domain == DOMAIN:
            own = attributes_of(node)
            shape = [None if size < 0 else size for size in own["shape"]]
            for place, name in enumerate(node.output):
                info = onnx().helper.make_tensor_value_info
                found.append(info(name, own["kind"], shape[1:] if place else shape))
    return found


class _Round:
    def __init__(self, model: Any, known: Known) -> None:
        self._model = model
        self._constants = dict(known.constants)
        self._known = Known(known.kinds, known.shapes, self._constants, known.opset)

    def nodes(self, nodes: Sequence[Any]) -> list[Any]:
        """Return the nodes that stand for those of a graph."""
        return [each for node in nodes for each in self._written(node)]

    def _written(self, node: Any) -> Sequence[Any]:
        name = next((each for each in node.output if each), "")
        if (found := compute(node, self._known)) is not None:
            pairs = [each for each in zip(node.output, found, strict=False) if each[0]]
            self._constants.update(pairs)
            return [node] if node.op_type == "Constant" else self._as_constants(node, pairs)
        prefix = f"{name}/{node.op_type}"
        nodes = self._by_rewrite(node, prefix)
        if nodes is None:
            nodes = call_of_function(self._model, node, self._known, f"{prefix}/")
        for each in nodes or ():
            each.name, each.doc_string = node.name, node.doc_string
        return [node] if nodes is None else nodes

    def _as_constants(self, node: Any, pairs: Sequence[tuple[str, Any]]) -> list[Any]:
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
            rewrites += [_REWRITES.get(node.op_type), elements.widened]
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
    used = {each.name for each in graph.output}
    kept = []
    for node in reversed(list(graph.node)):
        if any(name in used for name in node.output):
            kept.append(node)
            used |= set(node.input) | _read_within(node)
    put(graph.node, list(reversed(kept)))


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


_OLDEST = 13
"""Axes are inputs since then, and rewrites write them so."""
_WANTED = 17
"""The opset that older models are converted to: torch-mlir supports batch norms since 15."""


def newer(model: Any) -> Any:
    """A model in an opset that rewrites know; itself if in one, or if ONNX cannot convert it."""
    own = [each for each in model.opset_import if each.domain in ("", "ai.onnx")]
    if len(own) != 1 or own[0].version >= _OLDEST or model.functions:
        return model
    if any(node.op_type == "Scan" for node in model.graph.node) and own[0].version < 9:
        return model  # its batches are gone since then, and ONNX leaves it as it is
    converter = importlib.import_module("onnx.version_converter")
    try:
        found = converter.convert_version(_with_slopes(model, own[0].version), _WANTED)
        found = onnx().shape_inference.infer_shapes(found, data_prop=True)
        onnx().checker.check_model(found)
    except Exception:
        # Of ops that it has no way for it raises errors of all kinds: they may come through as is.
        return model
    return found if _has_same_signature(model, found) else model


def _with_slopes(model: Any, version: int) -> Any:
    """Return a model whose slopes of channels, of PRelu before opset 7, have the shape of channels.

    Raises:
        ValueError: the rank of what they belong to is not known.
    """
    nodes = [node for node in model.graph.node if node.op_type == "PRelu"]
    if version >= 7 or not nodes:
        return model
    found = onnx().ModelProto()
    found.CopyFrom(model)
    known = known_of(found)
    written = []
    for node in found.graph.node:
        if node.op_type == "PRelu":
            x, slope = node.input
            rank, sizes = len(known.shapes.get(x, ())), known.sizes(slope)
            if not rank or sizes is None or len(sizes) != 1:
                raise ValueError
            shape = np.array([*sizes, *[1] * (rank - 2)], np.int64)
            write = Writer(f"{node.output[0]}/slope", known)
            node.input[1] = write("Reshape", slope, write.constant(shape))
            written += write.nodes
        written.append(node)
    put(found.graph.node, written)
    return found


def _has_same_signature(model: Any, found: Any) -> bool:
    pairs = (model.graph.input, found.graph.input), (model.graph.output, found.graph.output)
    return all([e.name for e in old] == [e.name for e in new] for old, new in pairs)
