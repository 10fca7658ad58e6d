"""Elements by their places and by masks, by ops that mean the same in torch-mlir as in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.frameworks.torch.requirements import torch


def masked_select(x: Any, mask: Any) -> Any:
    """The elements that a mask selects, in row-major order."""
    x, mask = torch().broadcast_tensors(x, mask)
    chosen = mask.reshape(-1).nonzero().squeeze(1)
    return x.reshape(-1).index_select(0, chosen)


def index_put(x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    """`x[..., mask] = values`, one value wherever the mask is: it may be nowhere.

    torch-mlir scatters the values to the places of the mask, and wants one at least.
    """
    given = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    (axis, mask), *others = given
    if others or mask.dtype != torch().bool:
        return NotImplemented
    after = x.ndim - axis - mask.ndim
    if values.ndim > after:
        if values.shape[-1 - after] != 1:
            return NotImplemented  # a value for each place
        front, back = values.shape[: -1 - after], values.shape[values.ndim - after :]
        values = values.reshape(*front, *[1] * mask.ndim, *back)
    mask = mask.reshape(*mask.shape, *[1] * after)
    return torch().where(mask, x + values if accumulate else values.to(x.dtype), x)


def roll(x: Any, shifts: Any, dims: Sequence[int] = ()) -> Any:
    """Roll all elements in row-major order; torch-mlir lowers rolls along axes."""
    return NotImplemented if dims else x.reshape(-1).roll(shifts, 0).reshape(x.shape)


def sort(x: Any, *, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
    """Every sort is stable here."""
    return torch().ops.aten.sort.default(x, dim, descending)
