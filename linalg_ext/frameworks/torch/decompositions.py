"""The ops that PyTorch itself is to write as others, before a graph is imported."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from linalg_ext.frameworks.torch import attention
from linalg_ext.frameworks.torch.requirements import importer, torch


@functools.cache
def decompositions() -> Mapping[Any, Callable[..., Any]]:
    """What torch-mlir asks for, and what it has no way down for."""
    aten = torch().ops.aten
    own: dict[Any, Callable[..., Any]] = {
        aten.clamp.default: _clamp,
        aten.hardsigmoid.default: _hardsigmoid,
        aten.hardtanh.default: _hardtanh,
        aten.maximum.default: functools.partial(_extremum, "gt"),
        aten.minimum.default: functools.partial(_extremum, "lt"),
        aten.hypot.default: _hypot,
        aten.isfinite.default: _isfinite,
        aten.median.dim: _median,
        aten.cummax.default: functools.partial(_running, "ge"),
        aten.cummin.default: functools.partial(_running, "le"),
        aten.searchsorted.Tensor: _searchsorted,
        aten._cdist_forward.default: _distances,
        aten.var.correction: _variance,
        aten.var_mean.correction: _variance_and_mean,
        aten.scaled_dot_product_attention.default: attention.attention,
        aten._scaled_dot_product_flash_attention_for_cpu.default: attention.flash_attention,
        aten._scaled_dot_product_flash_attention_for_cpu_backward.default: (
            attention.flash_attention_backward
        ),
        aten._transformer_encoder_layer_fwd.default: attention.encoder_layer,
        aten._native_multi_head_attention.default: attention.multi_head_attention,
    }
    return {**importer().decompositions(), **own}


def _clamp(x: Any, min: float | None = None, max: float | None = None) -> Any:
    """What is no number stays none, which torch-mlir's own way makes a bound of."""
    if not x.is_floating_point():
        return NotImplemented
    x = x if min is None else torch().where(x < min, min, x)
    return x if max is None else torch().where(x > max, max, x)


def _hardtanh(x: Any, min_val: float = -1, max_val: float = 1) -> Any:
    return _clamp(x, min_val, max_val)


def _hardsigmoid(x: Any) -> Any:
    return _clamp(x + 3, 0, 6) / 6


def _extremum(comparison: str, x: Any, y: Any) -> Any:
    """The larger of two, or the smaller; what is no number wins."""
    if not (x.is_floating_point() and y.is_floating_point()):
        return NotImplemented
    is_first = getattr(torch(), comparison)(x, y) | (x != x)
    return torch().where(is_first, x, y)


def _hypot(x: Any, y: Any) -> Any:
    """By the ratio of the two: squares of what is large, or tiny, are infinite, or nothing."""
    x, y = x.abs(), y.abs()
    # What is no number counts as the longer one: so it is in the result.
    is_longer = (x > y) | (x != x)
    longer, shorter = torch().where(is_longer, x, y), torch().where(is_longer, y, x)
    # Equal ones, of which the ratio may be 0/0 or inf/inf, have the ratio 1.
    ratio = torch().where(longer == shorter, 1.0, shorter / longer)
    found = longer * torch().sqrt(1.0 + ratio * ratio)
    return torch().where((x == math.inf) | (y == math.inf), math.inf, found)


def _isfinite(x: Any) -> Any:
    # Of what is not finite, the difference from itself is no number.
    return x - x == 0


def _median(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The lower of the two in the middle."""
    if x.ndim == 0:
        return x, torch().zeros_like(x, dtype=torch().int64)
    values, places = torch().sort(x, dim)
    middle = (x.shape[dim] - 1) // 2
    found = [each.select(dim, middle) for each in (values, places)]
    if x.is_floating_point():
        # The first that is no number, if there is one.
        none = x != x
        instead = math.nan, none.int().argmax(dim)
        pairs = zip(instead, found, strict=True)
        found = [torch().where(none.any(dim), new, old) for new, old in pairs]
    return tuple(each.unsqueeze(dim) if keepdim else each for each in found)


def _variance_and_mean(
    x: Any, dim: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> Any:
    """In two passes over the elements, in their own type: torch-mlir would compute in f64."""
    if x.dtype.is_complex:
        return NotImplemented
    dims = [axis % x.ndim for axis in dim] if dim else list(range(x.ndim))
    count = math.prod(x.shape[axis] for axis in dims)
    mean = x.mean(dims, keepdim=True)
    away = x - mean
    variance = (away * away).sum(dims, keepdim=keepdim)
    variance = variance / (count - (1 if correction is None else correction))
    return variance, mean if keepdim else mean.squeeze(dims)


def _variance(
    x: Any, dim: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> Any:
    found = _variance_and_mean(x, dim, correction=correction, keepdim=keepdim)
    return found if found is NotImplemented else found[0]


def _running(comparison: str, x: Any, dim: int) -> Any:
    """Cumulative extrema, and where they are: runs of twice the length at each step."""
    if x.ndim == 0:
        return x.clone(), torch().zeros_like(x, dtype=torch().int64)
    count = x.shape[dim]
    shape = [1] * x.ndim
    shape[dim] = count
    places = torch().arange(count, device=x.device).reshape(shape).expand(x.shape)
    values, width = x, 1
    while width < count:
        rest = count - width
        before = [each.narrow(dim, 0, rest) for each in (values, places)]
        after = [each.narrow(dim, width, rest) for each in (values, places)]
        # Of equal ones the later is given; what is no number stays from there on.
        is_new = getattr(torch(), comparison)(after[0], before[0]) | (after[0] != after[0])
        joined = [torch().where(is_new, new, old) for new, old in zip(after, before, strict=True)]
        values, places = (
            torch().cat([each.narrow(dim, 0, width), one], dim)
            for each, one in zip((values, places), joined, strict=True)
        )
        width *= 2
    return values.clone(), places.clone()


def _searchsorted(
    sorted_sequence: Any,
    self: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """How many are less, or not greater."""
    if sorter is not None:
        return NotImplemented
    one, many = self.unsqueeze(-1), sorted_sequence.unsqueeze(-2)
    is_before = many <= one if right or side == "right" else many < one
    return is_before.sum(-1, dtype=torch().int32 if out_int32 else torch().int64)


def _distances(x: Any, y: Any, p: float, compute_mode: Any) -> Any:
    difference = x.unsqueeze(-2) - y.unsqueeze(-3)
    return torch().linalg.vector_norm(difference, p, dim=-1)
