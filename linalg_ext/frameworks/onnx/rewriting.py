"""Nodes of ONNX that torch-mlir does not support, written as others.

The rewrites run until nothing changes. Known values are computed, functions and known branches
become their nodes, and loops of known lengths are unrolled. Other ops that torch-mlir lacks are
written by ops of ONNX that every opset since 13 has; models of older opsets are converted first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
"""Functions in functions, and loops in loops, are assumed not to be deeper."""

_EARLY: Mapping[str, Rewrite] = {
    "If": control_flow.branch,
    "Loop": control_flow.loop,
    "Scan": control_flow.scan,
}
"""Rewrites that do without the types of inputs."""

_REWRITES: Mapping[str, Rewrite] = {
    **elements.REWRITES,
    **recurrent.REWRITES,
    **resizing.REWRITES,
}


def rewritten(model: Any) -> Any:
    """Rewrite the unsupported nodes of a model in place, and return it with inferred shapes."""
    for _ in range(_MOST_ROUNDS):
        known = known_of(model)
        graph = model.graph
        nodes = list(graph.node)
        round_ = _Round(model, known)
        written = [new_node for node in nodes for new_node in round_.replacement(node)]
        if written == nodes:
            break
        put(graph.node, written)
        _drop_unused(graph)
        # Types are inferred again, because values were removed or replaced.
        put(graph.value_info, _own_results(graph))
        if graph.value_info and DOMAIN not in [opset.domain for opset in model.opset_import]:
            model.opset_import.append(onnx().helper.make_opsetid(DOMAIN, 1))
        model = onnx().shape_inference.infer_shapes(model, data_prop=True)
    return model


def _own_results(graph: Any) -> list[Any]:
    """Return the types of the results of this library's nodes, which ONNX cannot infer.

    Attributes of such a node state the element type and the shape of its first result; its other
    results lack the first axis.
    """
    types = []
    for node in graph.node:
        if node.domain == DOMAIN:
            own = attributes_of(node)
            shape = [None if size < 0 else size for size in own["shape"]]
            for index, name in enumerate(node.output):
                info = onnx().helper.make_tensor_value_info
                types.append(info(name, own["kind"], shape[1:] if index else shape))
    return types


class _Round:
    def __init__(self, model: Any, known: Known) -> None:
        self._model = model
        self._constants = dict(known.constants)
        self._known = Known(known.kinds, known.shapes, self._constants, known.opset)

    def replacement(self, node: Any) -> Sequence[Any]:
        """Return the nodes in the place of one."""
        name = next(filter(None, node.output), "")
        if (arrays := compute(node, self._known)) is not None:
            pairs = [pair for pair in zip(node.output, arrays, strict=False) if pair[0]]
            self._constants.update(pairs)
            return [node] if node.op_type == "Constant" else self._as_constants(node, pairs)
        prefix = f"{name}/{node.op_type}"
        nodes = self._by_rewrite(node, prefix)
        if nodes is None:
            nodes = call_of_function(self._model, node, self._known, f"{prefix}/")
        return [node] if nodes is None else _labelled(nodes, node)

    def _as_constants(self, node: Any, pairs: Sequence[tuple[str, Any]]) -> list[Any]:
        write = Writer("", self._known)
        for name, value in pairs:
            write.constant(value, gives=name)
        return _labelled(write.nodes, node)

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


def _labelled(nodes: list[Any], node: Any) -> list[Any]:
    """Give new nodes the name and the text of the node that they replace."""
    for new in nodes:
        new.name, new.doc_string = node.name, node.doc_string
    return nodes


def _drop_unused(graph: Any) -> None:
    used = {output.name for output in graph.output}
    nodes = []
    for node in reversed(list(graph.node)):
        if any(name in used for name in node.output):
            nodes.append(node)
            used |= set(node.input) | _read_within(node)
    put(graph.node, list(reversed(nodes)))


def _read_within(node: Any) -> set[str]:
    """Return the names that the subgraphs of a node read, their own or those of outer graphs."""
    names: set[str] = set()
    for attribute in node.attribute:
        graphs = [attribute.g] if attribute.HasField("g") else []
        for graph in (*graphs, *attribute.graphs):
            names |= {output.name for output in graph.output}
            for inner in graph.node:
                names |= set(inner.input) | _read_within(inner)
    return names


_OLDEST_OPSET = 13
"""Axes are inputs since then, and rewrites write them so."""
_TARGET_OPSET = 17
"""The opset that older models are converted to: torch-mlir supports batch norms since 15."""


def newer(model: Any) -> Any:
    """Convert a model to an opset that rewrites know, if it has an older one and ONNX can."""
    own = [opset for opset in model.opset_import if opset.domain in ("", "ai.onnx")]
    if len(own) != 1 or own[0].version >= _OLDEST_OPSET or model.functions:
        return model
    if any(node.op_type == "Scan" for node in model.graph.node) and own[0].version < 9:
        return model  # later opsets have no batches of Scan, and ONNX does not convert them
    convert = onnx().version_converter.convert_version
    try:
        new_model = convert(_with_slopes(model, own[0].version), _TARGET_OPSET)
        new_model = onnx().shape_inference.infer_shapes(new_model, data_prop=True)
        onnx().checker.check_model(new_model)
    except Exception:
        # The converter raises errors of all kinds for some ops, which may be lowered as they are.
        return model
    return new_model if _has_same_signature(model, new_model) else model


def _with_slopes(model: Any, version: int) -> Any:
    """Return a model whose slopes of channels, of PRelu before opset 7, have the shape of channels.

    Raises:
        ValueError: the rank of the operand is not known.
    """
    nodes = [node for node in model.graph.node if node.op_type == "PRelu"]
    if version >= 7 or not nodes:
        return model
    new_model = onnx().ModelProto()
    new_model.CopyFrom(model)
    known = known_of(new_model)
    written = []
    for node in new_model.graph.node:
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
    put(new_model.graph.node, written)
    return new_model


def _has_same_signature(model: Any, new_model: Any) -> bool:
    pairs = (model.graph.input, new_model.graph.input), (model.graph.output, new_model.graph.output)
    return all([e.name for e in old] == [e.name for e in new] for old, new in pairs)
