"""Reductions, norms made of them, and scans, by ops that torch-mlir computes as PyTorch does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linalg_ext.frameworks.requirements import torch


def place(name: str, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the index of the first maximum, or minimum; a NaN counts as both.

    Args:
        name: `amax` or `amin`.
        dim: the axis; None for all elements, in row-major order.
    """
    if not x.is_floating_point():
        return NotImplemented
    if x.ndim == 0:
        return torch().zeros_like(x, dtype=torch().int64)
    if dim is None:
        index = _first(x.reshape(-1), getattr(x, name)().reshape(1), 0, False)
        return index.reshape([1] * x.ndim) if keepdim else index
    return _first(x, getattr(x, name)(dim, keepdim=True), dim, keepdim)


def extremum(name: str, x: Any, dim: int, keepdim: bool = False) -> Any:
    """Return the greatest (`amax`), or the least (`amin`), and the index of the first of them."""
    if not x.is_floating_point():
        return NotImplemented
    if x.ndim == 0:
        return x.clone(), torch().zeros_like(x, dtype=torch().int64)
    values = getattr(x, name)(dim, keepdim=True)
    return values if keepdim else values.squeeze(dim), _first(x, values, dim, keepdim)


def _first(x: Any, extreme: Any, dim: int, keepdim: bool) -> Any:
    """Return the index along an axis of the first element that equals `extreme`, or is NaN."""
    is_match = (x == extreme) | (x != x)
    return torch().where(is_match, _indices(x, dim), x.shape[dim]).amin(dim, keepdim=keepdim)


def _indices(x: Any, dim: int) -> Any:
    """Return the indices along an axis, of a shape that broadcasts to that of `x`."""
    shape = [1] * x.ndim
    shape[dim] = -1
    return torch().arange(x.shape[dim], device=x.device).reshape(shape)


def of_scalar(x: Any, dim: Sequence[int] = (), keepdim: bool = False) -> Any:
    """`aten.amax`, or `amin`, of a scalar; torch-mlir lowers that of others."""
    return NotImplemented if x.ndim else x.clone()


def adaptive_maxima(x: Any, sizes: Sequence[int]) -> Any:
    """`aten.adaptive_max_pool2d` and `3d` of windows of several lengths, and the indices.

    A shorter window repeats its last element.
    """
    last = x.shape[x.ndim - len(sizes) :]
    pairs = list(zip(last, sizes, strict=True))
    if not all(isinstance(size, int) for size in last) or all(a % b == 0 for a, b in pairs):
        return NotImplemented
    windows, places = x, torch().zeros([1] * (2 * len(sizes)), dtype=torch().int64)
    for axis, (size, count) in enumerate(pairs):
        bounds = torch().arange(count + 1) * size
        starts, ends = bounds[:-1] // count, (bounds[1:] + count - 1) // count
        longest = max(
            -(-(step + 1) * size // count) - step * size // count for step in range(count)
        )
        steps = starts.unsqueeze(1) + torch().arange(longest)
        table = torch().minimum(steps, ends.unsqueeze(1) - 1)
        at = x.ndim - len(sizes) + 2 * axis
        windows = windows.index_select(at, table.reshape(-1)).unflatten(at, (count, longest))
        shape = [1] * (2 * len(sizes))
        shape[2 * axis : 2 * axis + 2] = count, longest
        places = places * size + table.reshape(shape)
    order = [*range(0, 2 * len(sizes), 2), *range(1, 2 * len(sizes), 2)]
    first = x.ndim - len(sizes)
    windows = windows.permute([*range(first), *(first + axis for axis in order)]).flatten(x.ndim)
    values, chosen = windows.max(-1)
    places = places.permute(order).flatten(len(sizes)).expand(windows.shape)
    return values, places.gather(-1, chosen.unsqueeze(-1)).squeeze(-1)


def median(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the lower of the two middle elements, and its index."""
    if x.ndim == 0:
        return x, torch().zeros_like(x, dtype=torch().int64)
    values, positions = torch().sort(x, dim)
    middle = (x.shape[dim] - 1) // 2
    middles = [part.select(dim, middle) for part in (values, positions)]
    if x.is_floating_point():
        # The result is the first NaN, if there is one.
        none = x != x
        instead = math.nan, none.int().argmax(dim)
        pairs = zip(instead, middles, strict=True)
        middles = [torch().where(none.any(dim), new, old) for new, old in pairs]
    return tuple(part.unsqueeze(dim) if keepdim else part for part in middles)


def median_of_all(x: Any) -> Any:
    """Return the median of all elements."""
    return median(x.reshape(-1), 0)[0]


def histogram(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """`aten.histc`: how many elements are in each of the bins, the last of which is closed."""
    x = x.reshape(-1)
    low, high = (torch().full_like(x[:1], bound) for bound in (min, max))
    if min == max:
        low, high = x.amin(0, keepdim=True), x.amax(0, keepdim=True)
        # A range without a length becomes one of two.
        is_point = low == high
        low, high = torch().where(is_point, low - 1, low), torch().where(is_point, high + 1, high)
    is_inside = (x >= low) & (x <= high)
    position = torch().where(is_inside, (x - low) / (high - low) * bins, 0)
    index = position.to(torch().int64).clamp(max=bins - 1)
    return x.new_zeros(bins).index_add(0, index, is_inside.to(x.dtype))


def norm(
    x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """`aten.linalg_norm`: of vectors, or of matrices where an order and two axes are given."""
    linalg = torch().linalg
    axes = [dim] if isinstance(dim, int) else dim
    if ord is None and axes is None:
        length = linalg.vector_norm(x.reshape(-1), 2, dtype=dtype)
        return length.reshape([1] * x.ndim) if keepdim else length
    if ord is None or (len(axes) == 1 if axes is not None else x.ndim == 1):
        order = 2 if ord is None else ord
        return linalg.vector_norm(x, order, axes, keepdim, dtype=dtype)
    return linalg.matrix_norm(x, ord, axes or (-2, -1), keepdim, dtype=dtype)


def distance(x: Any, y: Any, p: float = 2) -> Any:
    """`aten.dist`: the norm of the difference of all elements."""
    return torch().linalg.vector_norm((x - y).reshape(-1), p)


def distances(x: Any, y: Any, p: float, compute_mode: Any) -> Any:
    """`aten._cdist_forward`: the norms of the differences of all pairs of rows."""
    return torch().linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, dim=-1)


def variance_and_mean(
    x: Any, dim: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> Any:
    """Compute in two passes over the elements, in their own type: torch-mlir has f64."""
    if x.dtype.is_complex:
        return NotImplemented
    dims = sorted({axis % x.ndim for axis in dim}) if dim and x.ndim else list(range(x.ndim))
    count = math.prod(x.shape[axis] for axis in dims)
    mean = x.mean(dims, keepdim=True)
    variance = _squares(x - mean, dims, keepdim)
    degrees = count - (1 if correction is None else correction)
    # The variance of too few elements is NaN, or infinite.
    variance = variance / torch().sym_max(degrees, 0)
    return variance, mean if keepdim else mean.squeeze(dims)


def variance(
    x: Any, dim: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> Any:
    """Return the variance alone."""
    both = variance_and_mean(x, dim, correction=correction, keepdim=keepdim)
    return both if both is NotImplemented else both[0]


def group_norm(
    x: Any,
    weight: Any,
    bias: Any,
    batch: int,
    channels: int,
    elements: int,
    groups: int,
    eps: float,
) -> Any:
    """`aten.native_group_norm`: its result, and the mean and scale of each group.

    The norm of a group and the factors of its channels are one factor and one term a channel.
    """
    dtype, wide = x.dtype, torch().promote_types(x.dtype, torch().float32)
    x, weight, bias = (None if part is None else part.to(wide) for part in (x, weight, bias))
    grouped = x.reshape(batch, groups, channels // groups, elements)
    mean = grouped.mean((2, 3), keepdim=True)
    square = _squares(grouped - mean, (2, 3), True) / (channels // groups * elements)
    scale = torch().rsqrt(square + eps)
    factor = scale if weight is None else scale * weight.reshape(1, groups, -1, 1)
    term = -mean * factor
    term = term if bias is None else term + bias.reshape(1, groups, -1, 1)
    normalized = (grouped * factor + term).reshape(x.shape)
    means = mean.reshape(batch, groups), scale.reshape(batch, groups)
    return normalized.to(dtype), *(part.to(dtype) for part in means)


def batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float
) -> Any:
    """`aten._native_batch_norm_legit_no_training`: one factor and one term a channel."""
    dtype, wide = x.dtype, torch().promote_types(x.dtype, torch().float32)
    shape = [-1] + [1] * (x.ndim - 2)
    mean, variance = mean.to(wide), variance.to(wide)
    factor = torch().rsqrt(variance + eps)
    factor = factor if weight is None else factor * weight.to(wide)
    term = -mean * factor
    term = term if bias is None else term + bias.to(wide)
    normalized = x.to(wide) * factor.reshape(shape) + term.reshape(shape)
    return normalized.to(dtype), x.new_empty(0), x.new_empty(0)


def _squares(centered: Any, dims: Sequence[int], keepdim: bool) -> Any:
    return (centered * centered).sum(dims, keepdim=keepdim)


def running(comparison: str, x: Any, dim: int) -> Any:
    """`aten.cummax` and `aten.cummin`: cumulative extrema, and their indices."""
    if x.ndim == 0:
        return x.clone(), torch().zeros_like(x, dtype=torch().int64)
    count = x.shape[dim]
    results = x, _indices(x, dim).expand(x.shape)
    width = 1
    while width < count:
        rest = count - width
        before = [part.narrow(dim, 0, rest) for part in results]
        after = [part.narrow(dim, width, rest) for part in results]
        # The later one of equal elements counts; a NaN stays from its index on.
        is_new = getattr(torch(), comparison)(after[0], before[0]) | (after[0] != after[0])
        results = tuple(
            torch().cat([part.narrow(dim, 0, width), torch().where(is_new, new, old)], dim)
            for part, new, old in zip(results, after, before, strict=True)
        )
        width *= 2
    return tuple(part.clone() for part in results)


def cumulative_sum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Return the cumulative sum of a scalar; torch-mlir lowers that of others."""
    if x.ndim > 0:
        return NotImplemented
    whole = x if x.is_floating_point() or x.dtype.is_complex else x.to(torch().int64)
    return whole.to(dtype or whole.dtype, copy=True)


def log_sum_exp(x: Any, dim: int) -> Any:
    """`aten.logcumsumexp`, without sums of exponentials, which overflow or underflow."""
    if not x.is_floating_point():
        return NotImplemented
    if x.ndim == 0:
        return x.clone()
    total, width, count = x, 1, x.shape[dim]
    while width < count:
        rest = count - width
        joined = _log_add_exp(total.narrow(dim, width, rest), total.narrow(dim, 0, rest))
        total = torch().cat([total.narrow(dim, 0, width), joined], dim)
        width *= 2
    return total.clone()


def _log_add_exp(x: Any, y: Any) -> Any:
    most = torch().maximum(x, y)
    # The difference of equal infinities is NaN.
    negated_distance = torch().where(x == y, 0.0, -(x - y).abs())
    return most + torch().log1p(torch().exp(negated_distance))
