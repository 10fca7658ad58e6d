"""Inputs of PyTorch's tracer: a model as a module, and examples without repetition."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.frameworks.torch.requirements import torch


def as_module(model: Any) -> Any:
    """A model as it is; a function as a module that takes the same, by the same names."""
    if isinstance(model, torch().nn.Module):
        return model
    module = torch().nn.Module()
    try:
        inspect.signature(model)
        module.forward = _as_forward(model)
    except ValueError:
        # A function of C's may have none to tell names by.
        module.forward = lambda *arguments: model(*arguments)
    return module


def told_apart(
    model: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Examples of which none is given twice, nor held by the model.

    torch.export takes inputs for one where their examples are the same tensor.
    """
    known = {id(each) for each in (*model.parameters(), *model.buffers())}

    def as_new(tensor: Any) -> Any:
        if id(tensor) in known:
            return tensor.detach().clone()
        known.add(id(tensor))
        return tensor

    pytree = torch().utils._pytree
    found: tuple[Sequence[Any], Mapping[str, Any]] = pytree.tree_map_only(
        torch().Tensor, as_new, (tuple(arguments), dict(keywords))
    )
    return found


def _as_forward(function: Any) -> Any:
    """A function whose frames are called `forward`: the exporter tells lines of no others."""
    if not isinstance(function, types.FunctionType):
        return function
    code = function.__code__.replace(co_name="forward")
    twin = types.FunctionType(
        code, function.__globals__, "forward", function.__defaults__, function.__closure__
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(twin, function)
