"""The memory that a view covers: bytes of its buffer, by an offset, sizes and strides."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArgumentTypeError
from linalg_ext.structured.indices.sizes import sizes_of
from linalg_ext.structured.interfaces.asked import as_value
from linalg_ext.structured.utils.reassociation import groups_of
from linalg_ext.structured.utils.values import producer
from linalg_ext.structured.views.placement import ViewReader, placement, step_of
from linalg_ext.structured.views.view_ops import is_view
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import Number, Operand, Symbol, as_number, substitute

_SOMEWHERE = 1 << 40
"""An address for arrays that are never read."""


@dataclass(frozen=True, repr=False)
class CoveredMemory:
    """The bytes of a buffer that a view covers.

    Element `[i, j]` of the view begins `offset + i * strides[0] + j * strides[1]` bytes behind the
    first element of the buffer, as those of a NumPy array do.

    Attributes:
        buffer: what the view leads back to: an argument, an allocation, ...
        shape: how many elements the view has along each dimension.
        offset, strides: in bytes; numbers need not be known.
        element_bytes: the size of an element.
        base: the farthest view that this one is a rectangle of; the buffer, but for reshapes.
        tile: which part of the base, in elements of it; for each dimension of the base.
    """

    buffer: ir.Value
    shape: tuple[Number, ...]
    offset: Number
    strides: tuple[Number, ...]
    element_bytes: int
    base: ir.Value
    tile: Tile

    @property
    def is_known(self) -> bool:
        """Return whether all of its numbers are known."""
        return all(isinstance(n, int) for n in (self.offset, *self.shape, *self.strides))

    def replaced(self, values: Mapping[Any, Operand]) -> CoveredMemory:
        """The same with numbers put in for some of its symbols, by key: an `ir.Value`, mostly."""

        def put(numbers: Sequence[Number]) -> tuple[Number, ...]:
            return tuple(substitute(number, values) for number in numbers)

        (offset,) = put([self.offset])
        tile = Tile(put(self.tile.offsets), put(self.tile.sizes), put(self.tile.strides))
        return replace(
            self, shape=put(self.shape), offset=offset, strides=put(self.strides), tile=tile
        )

    def elements(self) -> Iterator[int]:
        """Return the position of each element, in bytes from the first element of the buffer.

        Raises:
            ArgumentError: a number is not known.
        """
        first, shape, strides = self._numbers()
        ranges = [[k * by for k in range(size)] for size, by in zip(shape, strides, strict=True)]
        return (first + sum(each) for each in itertools.product(*ranges))

    def overlaps(self, other: CoveredMemory) -> bool | None:
        """Return whether some byte belongs to both; None if unknown.

        Views of different buffers may overlap: the answer is None.
        """
        if self.buffer != other.buffer or not (self.is_known and other.is_known):
            return None
        return np.shares_memory(self._array(), other._array())

    def _array(self) -> np.ndarray[Any, Any]:
        """An array of the same layout somewhere, not to be read."""
        first, shape, strides = self._numbers()
        interface = {
            "version": 3,
            "data": (_SOMEWHERE + first, True),
            "shape": shape,
            "strides": strides,
            "typestr": f"|V{self.element_bytes}",
        }
        return np.asarray(type("Layout", (), {"__array_interface__": interface})())

    def _numbers(self) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """The offset, the shape and the strides, where they are known."""
        found: list[int] = []
        for number in (self.offset, *self.shape, *self.strides):
            if not isinstance(number, int):
                raise ArgumentError(
                    f"{number} is not known, of a view of {self}",
                    hint="put values in for its symbols with `replaced`",
                )
            found.append(number)
        rank = len(self.shape)
        return found[0], tuple(found[1 : 1 + rank]), tuple(found[1 + rank :])

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape)) or "one element"
        strides = ", ".join(map(str, self.strides))
        return (
            f"{shape} of {self.element_bytes} bytes, from byte {self.offset}, strides [{strides}]"
            f"; {self.tile} of {self.base.type}"
        )


def covered_memory(view: ir.Value | ir.OpView) -> CoveredMemory:
    """Return the memory that a view covers: a memref, through any number of view ops.

    The ops that are followed are `memref.subview`, `cast`, `transpose`, `expand_shape`,
    `collapse_shape`, `view` and `reshape`, and the ops of `linalg_ext` on views. The result of any
    other op counts as a buffer.

    Raises:
        ArgumentTypeError: the value is no memref of a strided layout.
        ArgumentError: a view on the way is known to leave its source.
    """
    value = as_value(view)
    if not is_view(value.type):
        raise ArgumentTypeError(
            f"a value of type {value.type} covers no memory that is known",
            expected="a view: a ranked memref of a strided layout",
            hint="tensors have memory after bufferization: take the step bufferize() first"
            if isinstance(value.type, ir.RankedTensorType)
            else None,
        )
    read = ViewReader()
    with value.context:
        placed, layout = placement(value, read), _layout(value, read)
    return CoveredMemory(
        layout.buffer,
        layout.shape,
        layout.offset,
        layout.strides,
        _bytes_of(value),
        placed.base,
        placed.tile,
    )


@dataclass(frozen=True)
class _Layout:
    """As `CoveredMemory` says it."""

    buffer: ir.Value
    shape: tuple[Number, ...]
    offset: Number
    strides: tuple[Number, ...]


@dataclass(frozen=True)
class _StrideOf:
    """The key of a symbol: the stride of a buffer, in elements, which its type does not say."""

    buffer: ir.Value
    axis: int


def _layout(view: ir.Value, read: ViewReader) -> _Layout:
    step = step_of(view, read)
    if step is not None:
        of_base = _layout(step.base, read)
        moved = zip(step.tile.offsets, of_base.strides, strict=True)
        offset = of_base.offset + sum((at * by for at, by in moved), start=as_number(0))
        return _Layout(
            of_base.buffer,
            tuple(step.tile.size(dim) for dim in step.dims),
            offset,
            tuple(step.tile.stride(dim) * of_base.strides[dim] for dim in step.dims),
        )
    op = producer(view)
    if op is not None and op.name in _RESHAPES:
        return _RESHAPES[op.name](op, view, read)
    return _Layout(view, sizes_of(view), 0, _own_strides(view))


def _own_strides(view: ir.Value) -> tuple[Number, ...]:
    """The strides of a buffer by its type, in bytes."""
    type_ = ir.MemRefType(view.type)
    bytes_ = _bytes_of(view)
    if type_.affine_map == ir.AffineMap.get_identity(type_.rank):
        return _row_major(sizes_of(view), bytes_)
    gap = ir.ShapedType.get_dynamic_stride_or_offset()
    strides, _ = type_.get_strides_and_offset()
    return tuple(
        Symbol(_StrideOf(view, axis), name=f"stride {axis}").number * bytes_
        if stride == gap
        else stride * bytes_
        for axis, stride in enumerate(strides)
    )


def _row_major(sizes: Sequence[Number], bytes_: int) -> tuple[Number, ...]:
    strides: list[Number] = []
    step: Number = bytes_
    for size in reversed(sizes):
        strides.insert(0, step)
        step = step * size
    return tuple(strides)


def _expanded(op: ir.Operation, view: ir.Value, read: ViewReader) -> _Layout:
    source = _layout(op.operands[0], read)
    known = sizes_of(view)
    given = iter(list(op.operands)[1:])
    shape = tuple(size if isinstance(size, int) else read(next(given)) for size in known)
    strides: list[Number] = []
    for group, stride in zip(groups_of(op), source.strides, strict=True):
        step = stride
        inner: list[Number] = []
        for dim in reversed(group):
            inner.insert(0, step)
            step = step * shape[dim]
        strides += inner
    if not source.strides:
        strides = [_bytes_of(view)] * len(shape)
    return replace(source, shape=shape, strides=tuple(strides))


def _collapsed(op: ir.Operation, view: ir.Value, read: ViewReader) -> _Layout:
    source = _layout(op.operands[0], read)
    shape, strides = [], []
    for group in groups_of(op):
        shape.append(reduce(operator.mul, [source.shape[dim] for dim in group], as_number(1)))
        # A dimension of one element has any stride: that of the last other one counts.
        longer = [dim for dim in group if source.shape[dim] != 1] or list(group)
        strides.append(source.strides[longer[-1]])
    return replace(source, shape=tuple(shape), strides=tuple(strides))


def _reshaped(op: ir.Operation, view: ir.Value, read: ViewReader) -> _Layout:
    source = _layout(op.operands[0], read)
    sizes = sizes_of(view)
    return replace(source, shape=sizes, strides=_row_major(sizes, _bytes_of(view)))


def _viewed(op: ir.Operation, view: ir.Value, read: ViewReader) -> _Layout:
    buffer, shift, *given = op.operands
    source, sizes = _layout(buffer, read), iter(given)
    shape = tuple(size if isinstance(size, int) else read(next(sizes)) for size in sizes_of(view))
    strides = _row_major(shape, _bytes_of(view))
    return replace(source, shape=shape, offset=source.offset + read(shift), strides=strides)


def _bytes_of(view: ir.Value) -> int:
    return _element_bytes(ir.MemRefType(view.type).element_type)


def _element_bytes(type_: ir.Type) -> int:
    """Return the bytes between two neighbours of a type in memory, as LLVM lays them out."""
    if isinstance(type_, ir.VectorType):
        count = int(np.prod(type_.shape))
        # A vector takes as much as its elements, up to a power of two.
        return 1 << max(0, count * _element_bytes(type_.element_type) - 1).bit_length()
    if isinstance(type_, ir.ComplexType):
        return 2 * _element_bytes(type_.element_type)
    if isinstance(type_, ir.IndexType):
        return 8
    if isinstance(type_, ir.IntegerType | ir.FloatType):
        bits = type_.width
        return 1 << max(0, (bits + 7) // 8 - 1).bit_length()
    raise ArgumentTypeError(f"elements of type {type_} have no size that is known")


_RESHAPES: Mapping[str, Callable[[ir.Operation, ir.Value, ViewReader], _Layout]] = MappingProxyType(
    {
        "memref.expand_shape": _expanded,
        "memref.collapse_shape": _collapsed,
        "memref.reshape": _reshaped,
        "memref.view": _viewed,
    }
)
