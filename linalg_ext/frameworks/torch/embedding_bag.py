"""Bags of embeddings: rows of a table, reduced by runs of places."""

from __future__ import annotations

import math
from typing import Any

from linalg_ext.frameworks.torch.requirements import torch

_SUM, _MEAN, _MOST = range(3)


def embedding_bag(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """`aten._embedding_bag_forward_only`, of which torch-mlir forgets the weights of samples.

    Shapes: the table N x D, I indices, B offsets: the sums, means or greatest elements are B x D.
    With them go the bag of each index, the number of indices in each bag, and unused results.
    """
    count = offsets.shape[0] - include_last_offset
    starts = offsets[:count]
    places = torch().arange(indices.shape[0], dtype=offsets.dtype)
    bags = (places.unsqueeze(1) >= starts).sum(1) - 1
    counts = indices != padding_idx
    if include_last_offset:
        counts = counts & (places < offsets[-1])
    sizes = torch().zeros_like(starts).index_add(0, bags, counts.to(starts.dtype))
    rows = weight.index_select(0, indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if mode == _MOST:
        found = _greatest(rows, bags, counts, count)
    else:
        rows = torch().where(counts.unsqueeze(1), rows, 0)
        found = torch().zeros_like(rows[:1]).expand(count, -1).index_add(0, bags, rows)
    if mode == _MEAN:
        found = found / sizes.clamp(min=1).unsqueeze(1)
    return found, bags, sizes, sizes.clone()


def _greatest(rows: Any, bags: Any, counts: Any, count: int) -> Any:
    """Return the elementwise maximum of each bag; zeros where it is empty."""
    is_in = (bags == torch().arange(count).unsqueeze(1)) & counts
    found = torch().where(is_in.unsqueeze(2), rows, -math.inf).amax(1)
    return torch().where(is_in.any(1, keepdim=True), found, 0)
