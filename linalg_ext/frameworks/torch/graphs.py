"""Queries on graphs of torch.fx, and the error for one that cannot be compiled."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Collection, Sequence
from typing import Any

from linalg_ext.errors import SourceLocation
from linalg_ext.frameworks.requirements import torch

_PARAMETER = "linalg_ext.parameter"
"""The key in the `meta` of an input that marks it as the same for many calls."""

_NAME = re.compile(r'"(\w+)"[(:)]')

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')


def placeholders(graph: Any) -> list[Any]:
    """Return the inputs of a graph, in order."""
    return [node for node in graph.nodes if node.op == "placeholder"]


def mark_parameters(graph: Any, names: Collection[str]) -> None:
    """Mark the inputs of these names, and no others, as the same for many calls."""
    for node in placeholders(graph):
        node.meta[_PARAMETER] = node.name in names


def parameters(graph: Any) -> list[int]:
    """Return the numbers of the inputs that are the same for many calls."""
    nodes = placeholders(graph)
    return [number for number, node in enumerate(nodes) if node.meta.get(_PARAMETER)]


def results(graph: Any) -> list[Any]:
    """Return the results of a graph, in order: nodes, and constants."""
    (output,) = (node for node in graph.nodes if node.op == "output")
    returned = output.args[0]
    return list(returned) if isinstance(returned, list | tuple) else [returned]


def calls(graph: Any) -> list[Any]:
    """Return the nodes that compute something."""
    return [node for node in graph.nodes if node.op == "call_function"]


def draws(node: Any) -> bool:
    """Return whether a node draws random numbers from a generator of PyTorch's."""
    return torch().Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def op_of(node: Any) -> str:
    """Return PyTorch's name of the op of a node: `aten.median.dim`."""
    target = node.target
    name = getattr(target, "name", None)
    text = name() if callable(name) else getattr(target, "__name__", str(target))
    return str(text).replace("::", ".")


def line_of(node: Any) -> SourceLocation | None:
    """Return the line that a node comes from: the innermost one outside of PyTorch."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    package = os.path.dirname(torch().__file__) + os.sep
    own = [frame for frame in frames if not frame[0].startswith(package) and frame[0][:1] != "<"]
    if not own:
        return None
    file, line, function = own[-1]
    return SourceLocation(file, int(line), function)


def lines_of(node: Any) -> list[tuple[str, str]]:
    """Return the lines that a node comes from, PyTorch's own among them: files, and numbers."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    return [(file, line) for file, line, _ in frames]


def name_in(location: str, names: Collection[str]) -> str | None:
    """Return the name of a node in the location of an op that was made of it; None if absent."""
    return next((name for name in _NAME.findall(location) if name in names), None)


def is_free(node: Any) -> bool:
    """Return whether a node takes a value apart, or counts, and computes no tensor."""
    return node.target is operator.getitem or not holds_tensors(node.meta.get("val"))


def holds_tensors(value: Any) -> bool:
    """Return whether the value of a node is a tensor, or contains one."""
    if isinstance(value, list | tuple):
        return any(map(holds_tensors, value))
    return isinstance(value, torch().Tensor)


def tensors_of(value: Any) -> list[Any]:
    """Return the tensors in the value of a node."""
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_of(item)]
    return [value] if isinstance(value, torch().Tensor) else []


def with_results(module: Any, nodes: Sequence[Any]) -> Any:
    """Return a graph module whose results are these nodes of another one's graph.

    The graph ends with the last of them: ops behind it are left out, inputs are not.
    """
    fx = torch().fx
    graph = fx.Graph()
    copies: dict[Any, Any] = {}
    missing = set(nodes)
    for node in module.graph.nodes:
        if missing or node.op == "placeholder":
            copies[node] = graph.node_copy(node, copies.__getitem__)
            missing.discard(node)
    graph.output(tuple(copies[node] for node in nodes))
    # The graph has only ops without effects.
    graph.eliminate_dead_code()
    return fx.GraphModule(module, graph)


class Refused(Exception):
    """A graph cannot be compiled.

    Attributes:
        node: the name of the node at fault, if known.
        reason: the reason, in a few words.
        notes: upstream's messages.
    """

    def __init__(self, node: str | None, reason: str, notes: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason
        self.notes = tuple(notes)
