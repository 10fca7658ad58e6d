"""Copies of long rows, by what the C library copies blocks with.

It knows of each processor how a block is moved best: on many, without reading first the lines that
it overwrites, which loads and stores of vectors do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir, memref
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.ir_utils.arithmetic import index

from .loop_nests import Access, Nest

_SHORTEST_ROW = 1 << 10
"""Bytes of a row for which a call is worth it."""


def is_block_copy(nest: Nest, depth: int) -> bool:
    """Return whether a nest only copies long rows, along loop `depth`, of a memref beyond L2."""
    if nest.rank != depth + 1 or nest.inputs != 1 or not all(nest.is_parallel):
        return False
    source, *targets = nest.operands
    (written,) = targets if len(targets) == 1 else (None,)
    if not isinstance(source, Access) or not isinstance(written, Access):
        return False
    (end,) = [each.operation for each in nest.body.operations][-1:]
    if end.operands[0] != nest.body.arguments[0] or source.buffer == written.buffer:
        return False
    if any(depth not in access.dims for access in (source, written)):
        return False
    size, type_ = nest.static_extent(depth), written.memref.type
    if size is None or not type_.has_static_shape or str(type_.element_type) == "i1":
        return False
    row = size * type_.element_type.width // 8
    whole = row
    for dim in range(depth):
        whole *= nest.static_extent(dim) or 0
    return bool(row >= _SHORTEST_ROW and whole >= this_machine().l2_bytes)


def copy_row(nest: Nest, depth: int, ivs: Sequence[Any]) -> None:
    """Emit the copy of one row, inside of loops at `ivs`."""
    source, written = nest.operands
    size = nest.static_extent(depth) or 0
    memref.copy(*(_row(access, size, ivs) for access in (source, written)))


def _row(access: Access, size: int, ivs: Sequence[Any]) -> Any:
    """The row that an access has of a round, as a view of its own."""
    type_ = access.memref.type
    places = [*ivs, 0]
    at: list[Any] = [0 if dim is None else places[dim] for dim in access.dims]
    sizes = [1] * (type_.rank - 1) + [size]
    mark = ir.ShapedType.get_dynamic_stride_or_offset()
    layout = ir.StridedLayoutAttr.get(mark, [1])
    row_type = ir.MemRefType.get([size], type_.element_type, layout, type_.memory_space)
    open_ = [each for each in at if not isinstance(each, int)]
    static = [each if isinstance(each, int) else mark for each in at]
    if not open_:  # an offset that is known would be a part of the type
        open_, static = [index(0)], [mark, *static[1:]]
    return memref.SubViewOp(
        row_type, access.memref, open_, [], [], static, sizes, [1] * type_.rank
    ).result
