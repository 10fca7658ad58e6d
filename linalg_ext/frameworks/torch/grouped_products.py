"""Products of groups of rows, each with a matrix of its own: the experts of a mixture.

Rows are ordered by group, and the ends of the groups are known when the model runs. PyTorch has
`aten._grouped_mm` for it, and `transformers` an op of its own for types that PyTorch refuses there.
Here a product is one op until its graph has become linalg: a loop over the groups, and in each over
tiles of rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from linalg_ext.frameworks.requirements import torch
from linalg_ext.frameworks.torch.recurrent import define_op

ROWS, SUMS = "grouped_rows", "grouped_sums"
"""The names of the ops: a matrix for each group of rows, and a sum for each group of the depth."""

_TILE = 32
"""Rows that are multiplied at a time. A group ends anywhere in its last tile."""


def decompositions() -> Mapping[Any, Callable[..., Any]]:
    """Return the decompositions of grouped products, by the ops of those who have them."""
    table: dict[Any, Callable[..., Any]] = {torch().ops.aten._grouped_mm.default: grouped_mm}
    package = torch().ops.transformers
    if hasattr(package, "grouped_mm_fallback"):
        table[package.grouped_mm_fallback.default] = grouped_mm
        table[package.grouped_mm_fallback_backward.default] = gradient
    return table


def grouped_mm(x: Any, y: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """`aten._grouped_mm`: groups of the rows of x, of the columns of y, or of the sums.

    Args:
        x: (rows, depth), or (groups, rows, depth).
        y: (depth, columns), or (groups, depth, columns).
        offs: the ends of the groups, in ascending order, along the axis that an operand of two
            axes has more of; None where both have three.
        bias: refused, as PyTorch refuses it.
        out_dtype: of the result; None for that of x.
    """
    if bias is not None:
        return NotImplemented
    if x.ndim == y.ndim == 3:
        result = torch().bmm(x, y)
    elif x.ndim == 2 and y.ndim == 3:
        result = _op(ROWS)(x, y, offs)
    elif x.ndim == 3:
        result = _op(ROWS)(y.t(), x.transpose(1, 2), offs).t()
    else:
        result = _op(SUMS)(x, y, offs)
    return result.to(out_dtype or x.dtype)


def gradient(x: Any, weights: Any, offs: Any, grad: Any) -> tuple[Any, Any]:
    """Return the gradients of the rows and of the matrices."""
    of_x = grouped_mm(grad, weights.transpose(1, 2), offs)
    return of_x, grouped_mm(x.t(), grad, offs)


@functools.cache
def _op(name: str) -> Any:
    """Return an op of PyTorch's, registered when it is first asked for."""
    run, like = (_run_rows, _like_rows) if name == ROWS else (_run_sums, _like_sums)
    define_op(name, run, like, ("x", "y", "ends"), 1)
    return getattr(torch().ops.linalg_ext, name).default


def _run_rows(x: Any, weights: Any, ends: Any) -> Any:
    result = x.new_zeros((len(x), weights.shape[2]))
    for weight, (low, high) in zip(weights, _bounds(ends), strict=True):
        result[low:high] = x[low:high] @ weight
    return result


def _run_sums(x: Any, y: Any, ends: Any) -> Any:
    return torch().stack([x[:, low:high] @ y[low:high] for low, high in _bounds(ends)])


def _like_rows(x: Any, weights: Any, ends: Any) -> Any:
    return x.new_empty((x.shape[0], weights.shape[2]))


def _like_sums(x: Any, y: Any, ends: Any) -> Any:
    return x.new_empty((ends.shape[0], x.shape[0], y.shape[1]))


def _bounds(ends: Any) -> Iterator[tuple[int, int]]:
    low = 0
    for high in ends.tolist():
        yield low, high
        low = high


def _rows(x: Any, weights: Any, ends: Any) -> Any:
    """Trace the products of groups of rows; rows of no group are 0."""
    from linalg_ext.tracing.functions.creation import arange, zeros

    rows = x.shape[0]
    tile = _tile(rows)
    x = np.concatenate([x, zeros((tile, x.shape[1]), x.dtype)])

    def add_tile(result: Any, group: Any, first: Any, high: Any) -> Any:
        # The rows of a tile beyond its group are those of later groups, which write them again.
        product = x[first : first + tile] @ weights[group]
        return result.at[first : first + tile].set(product)

    result = zeros((rows + tile, weights.shape[2]), x.dtype)
    result, high = _over_tiles(add_tile, result, rows, tile, ends)
    return np.where(arange(rows)[:, None] < high, result[:rows], 0)


def _sums(x: Any, y: Any, ends: Any) -> Any:
    """Trace the products of groups of columns of x with groups of rows of y."""
    from linalg_ext.tracing.functions.creation import arange, zeros

    depth = y.shape[0]
    tile = _tile(depth)
    x, y = (
        np.concatenate([operand, zeros(shape, operand.dtype)], axis)
        for axis, operand, shape in ((1, x, (x.shape[0], tile)), (0, y, (tile, y.shape[1])))
    )

    def add_tile(result: Any, group: Any, first: Any, high: Any) -> Any:
        is_own = (first + arange(tile) < high)[:, None]
        own = np.where(is_own, y[first : first + tile], 0)
        return result.at[group].add(x[:, first : first + tile] @ own)

    result = zeros((ends.shape[0], x.shape[0], y.shape[1]), x.dtype)
    return _over_tiles(add_tile, result, depth, tile, ends)[0]


def _tile(rows: Any) -> int:
    return min(_TILE, rows) if isinstance(rows, int) else _TILE


def _over_tiles(
    add_tile: Callable[..., Any], result: Any, rows: Any, tile: int, ends: Any
) -> tuple[Any, Any]:
    """Trace a loop over groups, and over the tiles of each; return the result and the last end."""
    from linalg_ext.tracing.functions.control import loop

    def over_group(group: Any, carried: Any) -> Any:
        result, low = carried
        high = np.clip(ends[group].astype(np.int64), low, rows)

        def over_tile(number: Any, result: Any) -> Any:
            return add_tile(result, group, low + number * tile, high)

        return loop((high - low + tile - 1) // tile, over_tile, result), high

    last: tuple[Any, Any] = loop(ends.shape[0], over_group, (result, np.int64(0)))
    return last


TRACED: Mapping[str, Callable[..., Any]] = {ROWS: _rows, SUMS: _sums}
"""The functions of arrays behind the ops, by name."""
