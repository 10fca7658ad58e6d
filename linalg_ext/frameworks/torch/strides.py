"""`aten.as_strided` of a tensor that fills its memory: as slices, where its strides say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def as_strided(
    x: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """The elements as slices of `x`, where each stride is a multiple of the next smaller one.

    A place in memory is then a number whose digits are the indices: `x` is reshaped so that each
    digit is an axis, and each axis is cut. torch-mlir's own way is a table of all places.
    """
    known = [*x.shape, *size, *stride, x.storage_offset(), storage_offset or 0]
    if not all(isinstance(each, int) for each in known) or 0 in size or not x.is_contiguous():
        return NotImplemented
    rest = 0 if storage_offset is None else storage_offset - x.storage_offset()
    axes = [axis for axis in range(len(size)) if size[axis] > 1 and stride[axis]]
    axes.sort(key=lambda axis: stride[axis], reverse=True)
    shape: list[int] = []
    places: list[int] = []
    above = x.numel()
    for axis in axes:
        count, more = divmod(above, stride[axis])
        place, rest = divmod(rest, stride[axis])
        # Of the outermost axis what is left over is beyond all places.
        if place < 0 or place + size[axis] > count or (more and shape):
            return NotImplemented
        shape.append(count)
        places.append(place)
        above = stride[axis]
    if not 0 <= rest < above:
        return NotImplemented
    whole = above
    for count in shape:
        whole *= count
    found = x.reshape(-1).narrow(0, 0, whole).reshape(*shape, above).select(-1, rest)
    for digit, (axis, place) in enumerate(zip(axes, places, strict=True)):
        found = found.narrow(digit, place, size[axis])
    found = found.permute([axes.index(axis) for axis in sorted(axes)])
    for axis in range(len(size)):
        found = found if axis in axes else found.unsqueeze(axis)
    return found.expand(list(size))
