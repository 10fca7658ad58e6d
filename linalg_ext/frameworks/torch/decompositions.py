"""The ops that PyTorch itself is to write as others, before a graph is imported."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from linalg_ext.frameworks.torch import attention, reductions, scans
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
        aten.reciprocal.default: _reciprocal,
        aten.argmax.default: functools.partial(reductions.place, "amax"),
        aten.argmin.default: functools.partial(reductions.place, "amin"),
        aten.max.dim: functools.partial(reductions.extremum, "amax"),
        aten.min.dim: functools.partial(reductions.extremum, "amin"),
        aten.median.dim: reductions.median,
        aten.var.correction: reductions.variance,
        aten.var_mean.correction: reductions.variance_and_mean,
        aten.native_group_norm.default: reductions.group_norm,
        aten._native_batch_norm_legit_no_training.default: reductions.batch_norm,
        aten.cummax.default: functools.partial(scans.running, "ge"),
        aten.cummin.default: functools.partial(scans.running, "le"),
        aten.logcumsumexp.default: scans.log_sum_exp,
        aten.searchsorted.Tensor: _searchsorted,
        aten._cdist_forward.default: _distances,
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


def _reciprocal(x: Any) -> Any:
    """Of zero it is infinite, which torch-mlir's own way takes for a mistake."""
    # A number over a tensor is its reciprocal to PyTorch; over a tensor of one, a tensor goes.
    return NotImplemented if x.dtype.is_complex else torch().ones_like(x) / x


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
