"""Fingerprints of values in keys: plain data that differs wherever the values differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linalg_ext.cache.keys import checksum
from linalg_ext.errors import LinalgExtError
from linalg_ext.frameworks.torch.requirements import torch
from linalg_ext.frameworks.torch.tensors import as_array

_MOST_BYTES = 1 << 26
"""The size limit of a constant: a checksum of a larger one would take long."""


class Untold(Exception):
    """Something has no key: what is made of it is not kept."""


def attribute(value: Any) -> Any:
    """An argument of an op that is no tensor.

    Raises:
        Untold: it is none of PyTorch's kinds.
    """
    if type(value) in (bool, int, float, str, type(None)):
        return value
    if type(value) is complex:
        return "complex", value.real, value.imag
    found = torch()
    kinds = found.dtype, found.device, found.layout, found.memory_format
    if isinstance(value, kinds):
        return type(value).__name__, str(value)
    raise Untold


def tree(value: Any, tensor: Callable[[Any], Any]) -> Any:
    """Arguments of an op, or its results.

    Args:
        value: of any kind.
        tensor: says what a tensor is.

    Raises:
        Untold: there is something else among them.
    """
    if isinstance(value, torch().Tensor):
        return tensor(value)
    if isinstance(value, list | tuple):
        return [tree(each, tensor) for each in value]
    if isinstance(value, dict):
        return {name: tree(each, tensor) for name, each in value.items()}
    return attribute(value)


def form(tensor: Any) -> Any:
    """Return the form of a tensor: its dtype, shape, strides and flags, without its elements.

    Raises:
        Untold: it is no plain tensor in this machine's memory.
    """
    is_plain = type(tensor) in (torch().Tensor, torch().nn.Parameter)
    if not is_plain or tensor.layout != torch().strided or tensor.device.type != "cpu":
        raise Untold
    flags = tensor.is_conj(), tensor.is_neg()
    return str(tensor.dtype), tuple(tensor.shape), tensor.stride(), flags


def constant(tensor: Any) -> Any:
    """A tensor with its elements.

    Raises:
        Untold: it is no plain tensor in this machine's memory, or too large.
    """
    if not isinstance(tensor, torch().Tensor):
        raise Untold
    if tensor.numel() * tensor.element_size() > _MOST_BYTES:
        raise Untold
    try:
        # Graphs are compiled, and models recorded, where ops give tensors without elements.
        with torch().utils._mode_utils.no_dispatch():
            return form(tensor), checksum(as_array(tensor, "a constant").tobytes())
    except LinalgExtError:
        raise Untold from None
