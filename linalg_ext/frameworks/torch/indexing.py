"""Elements by indices, masks, strides and bags, by ops that torch-mlir computes as PyTorch does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linalg_ext.frameworks.requirements import torch


def masked_select(x: Any, mask: Any) -> Any:
    """Return the elements that a mask selects, in row-major order."""
    x, mask = torch().broadcast_tensors(x, mask)
    chosen = mask.reshape(-1).nonzero().squeeze(1)
    return x.reshape(-1).index_select(0, chosen)


def index_put(x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    """`x[..., mask] = values`, one value for all elements of the mask, which may be empty.

    torch-mlir scatters the values to the elements of the mask, which must be one at least. Of
    indices it knows those of 64 bits.
    """
    wide = [i.to(torch().int64) if i is not None and _is_narrow(i) else i for i in indices]
    if any(new is not old for new, old in zip(wide, indices, strict=True)):
        return torch().ops.aten.index_put(x, wide, values, accumulate)
    indexed = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    (axis, mask), *more_indices = indexed
    if more_indices or mask.dtype != torch().bool:
        return NotImplemented
    after = x.ndim - axis - mask.ndim
    if values.ndim > after:
        if values.shape[-1 - after] != 1:
            return NotImplemented  # a value for each element of the mask
        front, back = values.shape[: -1 - after], values.shape[values.ndim - after :]
        values = values.reshape(*front, *[1] * mask.ndim, *back)
    mask = mask.reshape(*mask.shape, *[1] * after)
    return torch().where(mask, x + values if accumulate else values.to(x.dtype), x)


def _is_narrow(index: Any) -> bool:
    return index.dtype in (torch().int8, torch().int16, torch().int32)


def roll(x: Any, shifts: Any, dims: Sequence[int] = ()) -> Any:
    """Roll all elements in row-major order; torch-mlir lowers rolls along axes."""
    return NotImplemented if dims else x.reshape(-1).roll(shifts, 0).reshape(x.shape)


def top_k(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """`aten.topk`, sorted where any order is right: torch-mlir knows no other."""
    return NotImplemented if sorted else torch().topk(x, k, dim, largest, True)


def sort(x: Any, *, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
    """Sort, by the stable sort of `aten.sort.default`."""
    return torch().ops.aten.sort.default(x, dim, descending)


def block_diagonal(tensors: Sequence[Any]) -> Any:
    """`aten.block_diag`: each matrix between zeros."""
    blocks = [tensor.reshape(1, -1) if tensor.ndim < 2 else tensor for tensor in tensors]
    width, before, rows = sum(block.shape[1] for block in blocks), 0, []
    for block in blocks:
        after = width - before - block.shape[1]
        rows.append(torch().nn.functional.pad(block, (before, after)))
        before += block.shape[1]
    return torch().cat(rows)


def diagonal_scatter(x: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Return `x` with another diagonal, by the offset of each of its elements in a matrix."""
    matrix = x.movedim((dim1, dim2), (0, 1))
    rows, columns = matrix.shape[:2]
    first = max(-offset, 0), max(offset, 0)
    places = torch().arange(src.shape[-1]) * (columns + 1) + first[0] * columns + first[1]
    flat = matrix.flatten(0, 1).index_put((places,), src.movedim(-1, 0))
    return flat.unflatten(0, (rows, columns)).movedim((0, 1), (dim1, dim2))


def from_the_first(op: Any, x: Any, dim: int, *operands: Any, **keywords: Any) -> Any:
    """Apply an op along an axis counted from the first: torch-mlir dies of a negative one."""
    return op(x, dim + x.ndim, *operands, **keywords) if dim < 0 else NotImplemented


def as_strided_scatter(
    x: Any,
    src: Any,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:
    """Return `x` with other elements at some offsets, by the offset of each of them."""
    numbers = [*x.shape, *size, *stride, storage_offset or 0]
    if not all(isinstance(number, int) for number in numbers) or not x.is_contiguous():
        return NotImplemented
    places = torch().full([1] * len(size), storage_offset or 0)
    for axis, (count, step) in enumerate(zip(size, stride, strict=True)):
        shape = [1] * len(size)
        shape[axis] = count
        places = places + step * torch().arange(count).reshape(shape)
    flat = x.reshape(-1).index_put((places.expand(size).reshape(-1),), src.reshape(-1))
    return flat.reshape(x.shape)


def empty_strided(size: Sequence[int], stride: Sequence[int], **options: Any) -> Any:
    """Return new memory whose axes are in another order; torch-mlir knows row-major order alone."""
    if not all(isinstance(number, int) for number in (*size, *stride)):
        return NotImplemented
    row_major = tuple(math.prod(max(n, 1) for n in size[axis + 1 :]) for axis in range(len(size)))
    if tuple(stride) == row_major:
        return NotImplemented
    order = sorted(range(len(size)), key=lambda axis: -stride[axis])
    return (
        torch()
        .empty([size[axis] for axis in order], **options)
        .permute([order.index(axis) for axis in range(len(size))])
    )


def as_strided(
    x: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """Return the elements as slices of `x`, if each stride is a multiple of the next smaller one.

    An offset in memory is then a number whose digits are the indices: `x` is reshaped so that each
    digit is an axis, and each axis is sliced. torch-mlir would make a table of all offsets.
    """
    numbers = [*x.shape, *size, *stride, x.storage_offset(), storage_offset or 0]
    if not all(isinstance(number, int) for number in numbers) or 0 in size or not x.is_contiguous():
        return NotImplemented
    rest = 0 if storage_offset is None else storage_offset - x.storage_offset()
    axes = [axis for axis in range(len(size)) if size[axis] > 1 and stride[axis]]
    axes.sort(key=lambda axis: stride[axis], reverse=True)
    shape: list[int] = []
    digits: list[int] = []
    above = x.numel()
    for axis in axes:
        count, more = divmod(above, stride[axis])
        digit, rest = divmod(rest, stride[axis])
        # Only the outermost axis may leave a remainder, which is beyond all offsets.
        if digit < 0 or digit + size[axis] > count or (more and shape):
            return NotImplemented
        shape.append(count)
        digits.append(digit)
        above = stride[axis]
    if not 0 <= rest < above:
        return NotImplemented
    whole = above
    for count in shape:
        whole *= count
    view = x.reshape(-1).narrow(0, 0, whole).reshape(*shape, above).select(-1, rest)
    for dim, (axis, digit) in enumerate(zip(axes, digits, strict=True)):
        view = view.narrow(dim, digit, size[axis])
    view = view.permute([axes.index(axis) for axis in sorted(axes)])
    for axis in range(len(size)):
        view = view if axis in axes else view.unsqueeze(axis)
    return view.expand(list(size))


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
    """`aten._embedding_bag_forward_only`, whose weights of samples torch-mlir ignores.

    Shapes: the table N x D, I indices, B offsets: the sums, means or greatest elements are B x D.
    With them go the bag of each index, the number of indices in each bag, and unused results.
    """
    count = offsets.shape[0] - include_last_offset
    starts = offsets[:count]
    positions = torch().arange(indices.shape[0], dtype=offsets.dtype)
    bags = (positions.unsqueeze(1) >= starts).sum(1) - 1
    counts = indices != padding_idx
    if include_last_offset:
        counts = counts & (positions < offsets[-1])
    sizes = torch().zeros_like(starts).index_add(0, bags, counts.to(starts.dtype))
    rows = weight.index_select(0, indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if mode == _MOST:
        bag_values = _greatest(rows, bags, counts, count)
    else:
        rows = torch().where(counts.unsqueeze(1), rows, 0)
        bag_values = torch().zeros_like(rows[:1]).expand(count, -1).index_add(0, bags, rows)
    if mode == _MEAN:
        bag_values = bag_values / sizes.clamp(min=1).unsqueeze(1)
    return bag_values, bags, sizes, sizes.clone()


def _greatest(rows: Any, bags: Any, counts: Any, count: int) -> Any:
    """Return the elementwise maximum of each bag; zeros for an empty one."""
    is_in = (bags == torch().arange(count).unsqueeze(1)) & counts
    greatest = torch().where(is_in.unsqueeze(2), rows, -math.inf).amax(1)
    return torch().where(is_in.any(1, keepdim=True), greatest, 0)


def searchsorted(
    sorted_sequence: Any,
    self: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Return for each value the number of elements that are less; with `right`, not greater."""
    if sorter is not None:
        return NotImplemented
    values, elements = self.unsqueeze(-1), sorted_sequence.unsqueeze(-2)
    is_before = elements <= values if right or side == "right" else elements < values
    return is_before.sum(-1, dtype=torch().int32 if out_int32 else torch().int64)
