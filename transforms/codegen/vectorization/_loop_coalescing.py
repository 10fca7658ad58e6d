"""Two loops as one, where memory is contiguous: longer rows, and one remainder instead of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir, memref
from linalg_ext.structured.maps import collapsed_shape

from .loop_nests import Access, Nest


class Collapser:
    """Makes the collapsed views, each once.

    Attributes:
        views: the ops that it made.
    """

    def __init__(self, before: Any) -> None:
        """Views go before the operation `before`."""
        self._before = before
        self.views: list[Any] = []
        self._made: dict[tuple[Any, int], Any] = {}

    def collapsed(self, nests: Sequence[Nest], dim: int) -> list[Nest] | None:
        """The nests with loops `dim` and `dim + 1` as one; None where that cannot be."""
        for nest in nests:
            if nest.rank <= dim + 1 or nest.is_parallel[dim] != nest.is_parallel[dim + 1]:
                return None
            if not all(is_collapsible(access, dim) for access in nest.accesses):
                return None
            if any(op.operation.name == "linalg.index" for op in nest.body.operations):
                return None
        if len({nest.is_parallel[dim] for nest in nests}) > 1:
            return None
        return [self._collapsed(nest, dim) for nest in nests]

    def flattened(self, access: Access, dim: int) -> Any | None:
        """The memory of an access with loops `dim` and `dim + 1` as one axis; None if apart."""
        if dim not in access.dims or not is_collapsible(access, dim):
            return None
        return self._view(access.memref, access.dims.index(dim))

    def _collapsed(self, nest: Nest, dim: int) -> Nest:
        accesses = {
            number: self._access(access, dim)
            for number, access in enumerate(nest.operands)
            if isinstance(access, Access)
        }
        return nest.with_accesses(accesses, (*nest.is_parallel[:dim], *nest.is_parallel[dim + 1 :]))

    def _access(self, access: Access, dim: int) -> Access:
        dims = [each - 1 if each is not None and each > dim else each for each in access.dims]
        if dim not in access.dims:
            return Access(access.memref, tuple(dims), access.buffer)
        axis = access.dims.index(dim)
        del dims[axis + 1]
        return Access(self._view(access.memref, axis), tuple(dims), access.buffer)

    def _view(self, source: Any, axis: int) -> Any:
        """`source` with an axis and the next as one."""
        if (source, axis) not in self._made:
            type_ = source.type
            groups = [[each] for each in range(axis)] + [[axis, axis + 1]]
            groups += [[each] for each in range(axis + 2, type_.rank)]
            with ir.InsertionPoint(self._before):
                view = memref.CollapseShapeOp(_collapsed_type(type_, groups), source, groups)
            self.views.append(view.operation)
            self._made[source, axis] = view.result
        return self._made[source, axis]


def is_collapsible(access: Access, dim: int) -> bool:
    """Return whether loops `dim` and `dim + 1` step through an access as one loop would."""
    if dim not in access.dims and dim + 1 not in access.dims:
        return True
    if dim not in access.dims or dim + 1 not in access.dims:
        return False
    axis = access.dims.index(dim)
    if access.dims[axis + 1 : axis + 2] != (dim + 1,):
        return False
    type_ = access.memref.type
    if is_row_major(type_):
        return True
    strides, _ = type_.get_strides_and_offset()
    known = not any(type_.is_dynamic_stride_or_offset(strides[each]) for each in (axis, axis + 1))
    if not known or type_.is_dynamic_dim(axis + 1):
        return False
    return bool(strides[axis] == strides[axis + 1] * type_.get_dim_size(axis + 1))


def is_row_major(type_: Any) -> bool:
    """Return whether a memref has the default, row-major layout."""
    plain = ir.MemRefType.get(type_.shape, type_.element_type, None, type_.memory_space)
    return bool(plain == type_)


def _collapsed_type(type_: Any, groups: Sequence[Sequence[int]]) -> Any:
    layout = None
    if not is_row_major(type_):
        strides, offset = type_.get_strides_and_offset()
        layout = ir.StridedLayoutAttr.get(offset, [strides[group[-1]] for group in groups])
    return ir.MemRefType.get(
        collapsed_shape(type_, groups), type_.element_type, layout, type_.memory_space
    )
