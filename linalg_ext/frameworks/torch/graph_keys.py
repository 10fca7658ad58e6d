"""Keys of graphs' kernels: the whole graph, and the tools that compile it, as plain data.

The values of parameters are not in the key, for they are arguments; those of constants inside are.
Lines of the program are, since a kernel's errors name them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from linalg_ext.cache.keys import checksum, digest
from linalg_ext.errors import LinalgExtError
from linalg_ext.executable import disk_cache
from linalg_ext.frameworks.kernels import ENTRY
from linalg_ext.frameworks.requirements import makers, torch
from linalg_ext.frameworks.torch import graphs
from linalg_ext.frameworks.torch.compiled_graph import Options
from linalg_ext.frameworks.torch.tensors import as_array


def key_of_graph(graph_module: Any, options: Options, dtypes: Sequence[Any]) -> str | None:
    """Return the key of a graph, whose results are all computed in it, and have these dtypes.

    The key is None if nothing is kept, or a value in the graph has no key.
    """
    if not disk_cache.is_keeping():
        return None
    try:
        fingerprint = digest(
            makers(), _graph_data(graph_module), graphs.parameters(graph_module.graph)
        )
    except NoKey:
        return None
    return disk_cache.key_of_module(
        "graph of torch.fx", fingerprint, ENTRY, options.of_compiler(dtypes)
    )


def _graph_data(graph_module: Any) -> list[Any]:
    """Return a graph as plain data, nodes being numbers."""
    numbers = {node: number for number, node in enumerate(graph_module.graph.nodes)}

    def as_data(value: Any) -> Any:
        if isinstance(value, torch().fx.Node):
            return "node", numbers[value]
        if isinstance(value, list | tuple):
            return [as_data(item) for item in value]
        if isinstance(value, dict):
            return {as_data(key): as_data(item) for key, item in value.items()}
        if isinstance(value, slice):
            return "slice", as_data(value.start), as_data(value.stop), as_data(value.step)
        return attribute(value)

    return [
        (
            node.op,
            _target(graph_module, node),
            as_data(node.args),
            as_data(node.kwargs),
            _like(node.meta.get("val")),
            graphs.lines_of(node),
        )
        for node in numbers
    ]


def _target(graph_module: Any, node: Any) -> Any:
    target = node.target
    if node.op == "get_attr":
        value = graph_module
        for name in target.split("."):
            value = getattr(value, name)
        is_graph = isinstance(value, torch().fx.GraphModule)
        return _graph_data(value) if is_graph else constant(value)
    if node.op != "call_function":
        return ""  # inputs go by their order
    if isinstance(target, torch()._ops.OperatorBase):
        return str(target)
    if isinstance(target, types.BuiltinFunctionType):
        return target.__module__, target.__qualname__
    raise NoKey  # a user's function, which its name does not identify


def _like(value: Any) -> Any:
    """Return the form of a node's result, without its elements."""
    if isinstance(value, list | tuple):
        return [_like(item) for item in value]
    if isinstance(value, torch().Tensor):
        sizes = [str(size) for size in (*value.shape, *value.stride())]
        return str(value.dtype), str(value.layout), sizes
    return str(value) if hasattr(value, "node") else attribute(value)


_MOST_BYTES = 1 << 26
"""The size limit of a constant: a checksum of a larger one would take long."""


class NoKey(Exception):
    """A value has no key, so that results that depend on it are not kept."""


def attribute(value: Any) -> Any:
    """Return an argument of an op that is not a tensor as plain data.

    Raises:
        NoKey: the value is of another kind.
    """
    if type(value) in (bool, int, float, str, type(None)):
        return value
    if type(value) is complex:
        return "complex", value.real, value.imag
    package = torch()
    kinds = package.dtype, package.device, package.layout, package.memory_format
    if isinstance(value, kinds):
        return type(value).__name__, str(value)
    raise NoKey


def tree(value: Any, tensor: Callable[[Any], Any]) -> Any:
    """Return arguments of an op, or its results, as plain data.

    Args:
        tensor: returns the data of a tensor.

    Raises:
        NoKey: a value among them has no key.
    """
    if isinstance(value, torch().Tensor):
        return tensor(value)
    if isinstance(value, list | tuple):
        return [tree(item, tensor) for item in value]
    if isinstance(value, dict):
        return {name: tree(item, tensor) for name, item in value.items()}
    return attribute(value)


def form(tensor: Any) -> Any:
    """Return the form of a tensor: its dtype, shape, strides and flags, without its elements.

    Raises:
        NoKey: it is not a plain tensor in this machine's memory.
    """
    is_plain = type(tensor) in (torch().Tensor, torch().nn.Parameter)
    if not is_plain or tensor.layout != torch().strided or tensor.device.type != "cpu":
        raise NoKey
    flags = tensor.is_conj(), tensor.is_neg()
    return str(tensor.dtype), tuple(tensor.shape), tensor.stride(), flags


def constant(tensor: Any) -> Any:
    """Return the form of a tensor and the checksum of its elements.

    Raises:
        NoKey: it is not a plain tensor in this machine's memory, or too large.
    """
    if not isinstance(tensor, torch().Tensor):
        raise NoKey
    if tensor.numel() * tensor.element_size() > _MOST_BYTES:
        raise NoKey
    try:
        # Modes may be active in which ops return tensors without elements.
        with torch().utils._mode_utils.no_dispatch():
            return form(tensor), checksum(as_array(tensor, "a constant").tobytes())
    except LinalgExtError:
        raise NoKey from None
