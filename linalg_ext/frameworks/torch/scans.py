"""Scans of what is no sum: runs of twice the length at each step (Hillis and Steele, 1986)."""

from __future__ import annotations

from typing import Any

from linalg_ext.frameworks.torch.requirements import torch


def running(comparison: str, x: Any, dim: int) -> Any:
    """`aten.cummax` and `aten.cummin`: cumulative extrema, and where they are."""
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


def cumulative_sum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Return the cumulative sum of a scalar; torch-mlir lowers that of others."""
    if x.ndim > 0:
        return NotImplemented
    whole = x if x.is_floating_point() or x.dtype.is_complex else x.to(torch().int64)
    return whole.to(dtype or whole.dtype, copy=True)


def log_sum_exp(x: Any, dim: int) -> Any:
    """`aten.logcumsumexp`, where sums of exponentials would be infinite, or nothing."""
    if not x.is_floating_point():
        return NotImplemented
    if x.ndim == 0:
        return x.clone()
    found, width, count = x, 1, x.shape[dim]
    while width < count:
        rest = count - width
        joined = _log_add_exp(found.narrow(dim, width, rest), found.narrow(dim, 0, rest))
        found = torch().cat([found.narrow(dim, 0, width), joined], dim)
        width *= 2
    return found.clone()


def _log_add_exp(x: Any, y: Any) -> Any:
    most = torch().maximum(x, y)
    # Of two that are infinite alike the difference is no number.
    away = torch().where(x == y, 0.0, -(x - y).abs())
    return most + torch().log1p(torch().exp(away))
