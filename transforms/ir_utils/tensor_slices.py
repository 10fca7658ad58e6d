"""Slices of tensors by offsets and sizes that are numbers or values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from linalg_ext.bindings import ir, tensor


def extract_slice(
    source: Any, offsets: Sequence[Any], sizes: Sequence[Any], dropped: Collection[int] = ()
) -> Any:
    """`tensor.extract_slice` of step 1, without the dimensions of size 1 that are dropped."""
    dynamic = ir.ShapedType.get_dynamic_size()
    kept = [
        size if isinstance(size, int) else dynamic
        for axis, size in enumerate(sizes)
        if axis not in dropped
    ]
    type_ = ir.RankedTensorType.get(kept, source.type.element_type)
    return tensor.ExtractSliceOp(type_, source, *_geometry(offsets, sizes)).result


def insert_slice(source: Any, into: Any, offsets: Sequence[Any], sizes: Sequence[Any]) -> Any:
    """`tensor.insert_slice` of step 1; the source may lack dimensions of size 1."""
    return tensor.InsertSliceOp(source, into, *_geometry(offsets, sizes)).result


def _geometry(offsets: Sequence[Any], sizes: Sequence[Any]) -> tuple[Any, ...]:
    at = ir.ShapedType.get_dynamic_stride_or_offset()
    of = ir.ShapedType.get_dynamic_size()
    return (
        [offset for offset in offsets if not isinstance(offset, int)],
        [size for size in sizes if not isinstance(size, int)],
        [],
        [offset if isinstance(offset, int) else at for offset in offsets],
        [size if isinstance(size, int) else of for size in sizes],
        [1] * len(sizes),
    )
