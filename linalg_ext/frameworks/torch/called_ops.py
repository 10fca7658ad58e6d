"""Ops that are not lowered as calls of PyTorch's own functions, from inside a kernel.

    u, s, v = aten._linalg_svd(x)        lx.pure_callback of that function, on x

The exported graph states the shapes and dtypes of the results. Checks of results, which
`torch.linalg.inv` makes of its `info`, are part of the call, and raise PyTorch's errors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator
from typing import Any

from linalg_ext.errors import DTypeError
from linalg_ext.frameworks.requirements import torch
from linalg_ext.frameworks.torch import graphs
from linalg_ext.frameworks.torch.tensors import Array, as_array, as_tensor, dtype_of
from linalg_ext.tracing.functions.callbacks import pure_callback
from linalg_ext.tracing.values.specs import ShapeDtype

_CHECKS = "linalg_ext.checks"
"""The key in the `meta` of a node that is called; its value is the tuple of its checks."""

_IS_CHECK = "linalg_ext.is_check"
"""The key in the `meta` of a check that is part of such a call."""


def can_be_called(node: Any) -> bool:
    """Return whether a node is the call of a function of tensors whose forms are all known."""
    target = node.target
    if not isinstance(target, torch()._ops.OpOverload) or node.is_impure():
        return False
    returned = target._schema.returns
    if not returned or any(str(result.type) != "Tensor" for result in returned):
        return False
    values = [value.meta.get("val") for value in (node, *node.all_input_nodes)]
    tensors = graphs.tensors_of(values)
    is_whole = len(tensors) == len(returned) + len(node.all_input_nodes)
    return is_whole and not target._schema.is_mutable and all(map(_is_known, tensors))


def mark_called(graph: Any, names: Collection[str]) -> None:
    """Have nodes of these names called from the kernel."""
    for node in graph.nodes:
        if node.name in names:
            node.meta[_CHECKS] = _checks_of(node)
            for check in node.meta[_CHECKS]:
                check.meta[_IS_CHECK] = True


def is_called(node: Any) -> bool:
    """Return whether a node is called from the kernel."""
    return _CHECKS in node.meta


def is_check(node: Any) -> bool:
    """Return whether a node is part of the call of another one."""
    return _IS_CHECK in node.meta


def belonging_to(node: Any) -> Iterator[Any]:
    """Yield a node that is called, the nodes that take its results apart, and its checks."""
    yield node
    yield from (user for user in node.users if user.target is operator.getitem)
    yield from node.meta[_CHECKS]


def function_of(node: Any) -> Callable[..., Any]:
    """Return the function of traced arrays that a called node is."""
    results = graphs.tensors_of(node.meta["val"])
    like = tuple(ShapeDtype(tuple(value.shape), dtype_of(value.dtype)) for value in results)
    operands = node.all_input_nodes
    dtypes = [value.meta["val"].dtype for value in operands]

    def called(*arrays: Array) -> tuple[Array, ...]:
        # Integers of a kernel have no sign.
        pairs = zip(arrays, dtypes, strict=True)
        read = [as_tensor(array).view(dtype) for array, dtype in pairs]
        returned = _run(node, dict(zip(operands, read, strict=True)))
        tensors = returned if isinstance(returned, list | tuple) else (returned,)
        for check in node.meta[_CHECKS]:
            _run(check, {value: tensors[value.args[1]] for value in check.all_input_nodes})
        return tuple(as_array(value, called.__name__) for value in tensors)

    called.__name__ = graphs.op_of(node)
    return lambda *arrays: pure_callback(called, like, *arrays)


def _run(node: Any, tensors: dict[Any, Any]) -> Any:
    map_arg = torch().fx.node.map_arg
    arguments, keywords = map_arg((node.args, node.kwargs), tensors.__getitem__)
    return node.target(*arguments, **keywords)


def _checks_of(node: Any) -> tuple[Any, ...]:
    """Return the nodes without results that read results of a node, and nothing else."""
    parts = [user for user in node.users if user.target is operator.getitem]
    readers = dict.fromkeys(reader for part in parts for reader in part.users)
    return tuple(
        reader
        for reader in readers
        if reader.op == "call_function"
        and reader.meta.get("val") is None
        and set(reader.all_input_nodes) <= set(parts)
    )


def _is_known(tensor: Any) -> bool:
    try:
        dtype_of(tensor.dtype)
    except DTypeError:
        return False
    is_dense = tensor.layout == torch().strided and tensor.device.type == "cpu"
    return is_dense and all(isinstance(size, int) for size in tensor.shape)
