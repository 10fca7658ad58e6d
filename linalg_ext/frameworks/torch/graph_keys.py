"""The key of a graph's kernel: the whole graph, and the tools that compile it.

The values of parameters are not in the key, for they are arguments; those of constants inside are.
Lines of the program are, since a kernel's errors name them.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

from linalg_ext.cache.keys import digest
from linalg_ext.executable import disk_cache
from linalg_ext.frameworks.torch import graphs
from linalg_ext.frameworks.torch.fingerprint import Untold, attribute, constant
from linalg_ext.frameworks.torch.options import Options
from linalg_ext.frameworks.torch.requirements import ENTRY, makers, torch


def key_of_graph(graph_module: Any, options: Options, dtypes: Sequence[Any]) -> str | None:
    """The key; None where nothing is kept, or the graph has in it what no key can tell.

    Args:
        graph_module: whose results are all computed in it.
        options: how it is compiled.
        dtypes: of its results.
    """
    if not disk_cache.is_keeping():
        return None
    try:
        told = digest(makers(), _told(graph_module), graphs.parameters(graph_module.graph))
    except Untold:
        return None
    return disk_cache.key_of_module(
        "graph of torch.fx",
        told,
        ENTRY,
        checked=options.is_checked,
        opt_level=options.opt_level,
        libraries=(),
        result_dtypes=dtypes,
    )


def _told(graph_module: Any) -> list[Any]:
    """A graph as plain data, nodes being numbers."""
    numbers = {node: number for number, node in enumerate(graph_module.graph.nodes)}

    def told(value: Any) -> Any:
        if isinstance(value, torch().fx.Node):
            return "node", numbers[value]
        if isinstance(value, list | tuple):
            return [told(each) for each in value]
        if isinstance(value, dict):
            return {told(key): told(each) for key, each in value.items()}
        if isinstance(value, slice):
            return "slice", told(value.start), told(value.stop), told(value.step)
        return attribute(value)

    return [
        (
            node.op,
            _target(graph_module, node),
            told(node.args),
            told(node.kwargs),
            _like(node.meta.get("val")),
            graphs.lines_of(node),
        )
        for node in numbers
    ]


def _target(graph_module: Any, node: Any) -> Any:
    target = node.target
    if node.op == "get_attr":
        found = graph_module
        for name in target.split("."):
            found = getattr(found, name)
        is_graph = isinstance(found, torch().fx.GraphModule)
        return _told(found) if is_graph else constant(found)
    if node.op != "call_function":
        return ""  # inputs go by their order
    if isinstance(target, torch()._ops.OperatorBase):
        return str(target)
    if isinstance(target, types.BuiltinFunctionType):
        return target.__module__, target.__qualname__
    raise Untold  # a user's function, which its name does not identify


def _like(value: Any) -> Any:
    """Return the form of a node's result, without its elements."""
    if isinstance(value, list | tuple):
        return [_like(each) for each in value]
    if isinstance(value, torch().Tensor):
        sizes = [str(size) for size in (*value.shape, *value.stride())]
        return str(value.dtype), str(value.layout), sizes
    return str(value) if hasattr(value, "node") else attribute(value)
