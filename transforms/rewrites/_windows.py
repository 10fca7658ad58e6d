"""Operands that a contraction reads by windows, as operands that it reads by plain dimensions.

A convolution is a contraction where its windows do not overlap. Each element of the image is then
read for one place of the result, and the image needs only another shape. Nothing is copied.

    oh + kh, kh of size 1          the image as it is
    2 * oh + kh, kh of size 1      every other element: tensor.extract_slice
    3 * oh + kh, kh of size 3      a dimension as two, oh and kh: tensor.expand_shape
    oh + kh, oh of size 1          the first window alone
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.definition.operand_maps import Indices
from linalg_ext.structured.constants import integer_constant
from linalg_ext.structured.mixed import mixed_operands, type_shape
from linalg_ext.structured.sizes import dim_of
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, linear_terms

from ._arrangements import expanded, squeezed

Labels = tuple[str, ...]


class Overlapping(Exception):
    """The reason that an operand is not read by plain dimensions; the caller catches it."""


@dataclass(frozen=True)
class Axis:
    """The part of one dimension of an operand that is read.

    Attributes:
        dims: empty where one element is read; else one loop dimension, or two to split it into.
        offset: the first element that is read.
        stride: the distance to the next element.
        is_whole: True where the dimension is read from end to end, without a change.
    """

    dims: Labels
    offset: int = 0
    stride: int = 1
    is_whole: bool = False


@dataclass(frozen=True)
class View:
    """The part of an operand that is read: an axis for each of its dimensions."""

    axes: tuple[Axis, ...]

    @property
    def labels(self) -> Labels:
        """The plain dimensions by which the operand is read."""
        return tuple(dim for axis in self.axes for dim in axis.dims)

    @property
    def is_identity(self) -> bool:
        """True where the operand is read by plain dimensions without a change."""
        return all(axis.is_whole for axis in self.axes)


class Extents:
    """The extent of each dimension of an iteration space, by the operands and their indices."""

    def __init__(self, operands: Sequence[tuple[ir.Value, Indices]]) -> None:
        self._owners: dict[str, tuple[ir.Value, int]] = {}
        self.static: dict[str, int] = {}
        for value, indices in operands:
            for axis, index in enumerate(indices):
                if not isinstance(index, AffineDim):
                    continue
                self._owners.setdefault(index.name, (value, axis))
                shape = ir.ShapedType(value.type)
                if not shape.is_dynamic_dim(axis):
                    self.static[index.name] = shape.get_dim_size(axis)
        self.windowed = {
            dim
            for _, indices in operands
            for index in indices
            if not isinstance(index, AffineDim)
            for dim in index.dims
        }

    @property
    def units(self) -> frozenset[str]:
        """Dimensions of a window that have extent 1: they are not needed."""
        return frozenset(dim for dim in self.windowed if self.static.get(dim) == 1)

    def size(self, dim: str) -> ir.Value | int:
        if dim in self.static:
            return self.static[dim]
        value, axis = self._owners[dim]
        return dim_of(value, axis)

    def is_known(self, dim: str) -> bool:
        return dim in self._owners


def view_of(value: ir.Value, indices: Indices, extents: Extents) -> View:
    """Return the view by which an operand is read by plain dimensions.

    Raises:
        Overlapping: there is none; the message names the index or the dimension.
    """
    shape = ir.ShapedType(value.type) if indices else None
    axes = []
    for position, index in enumerate(indices):
        size = None
        if shape is not None and not shape.is_dynamic_dim(position):
            size = shape.get_dim_size(position)
        axes.append(_axis(index, size, extents))
    return View(tuple(axes))


def _axis(index: AffineExpr, size: int | None, extents: Extents) -> Axis:
    if isinstance(index, AffineDim):
        is_unit = index.name in extents.units
        return Axis(() if is_unit else (index.name,), is_whole=not is_unit)
    terms = linear_terms(index)
    if terms is None:
        raise Overlapping(f"the index {index} is not a sum of multiples of dimensions")
    factors, offset = terms
    factors = {dim: factor for dim, factor in factors.items() if dim not in extents.units}
    for dim in factors:
        if not extents.is_known(dim):
            raise Overlapping(f"dimension {dim} is the size of no operand")
    if any(factor < 1 for factor in factors.values()):
        raise Overlapping(f"the index {index} runs backwards")
    inner_first = sorted(factors, key=lambda dim: factors[dim])
    if len(inner_first) > 2:
        raise Overlapping(f"the index {index} is of more than two dimensions")
    stride = factors[inner_first[0]] if inner_first else 1
    if len(inner_first) == 2:
        inner, outer = inner_first
        if extents.static.get(inner) is None:
            raise Overlapping(f"whether the windows of the index {index} overlap is not known")
        if factors[outer] != stride * extents.static[inner]:
            raise Overlapping(f"the windows of the index {index} overlap, or leave gaps")
    dims = tuple(reversed(inner_first))
    is_from_end_to_end = len(dims) == 1 and size is not None and extents.static.get(dims[0]) == size
    return Axis(dims, offset, stride, is_from_end_to_end and offset == 0 and stride == 1)


def viewed(value: ir.Value, view: View, extents: Extents) -> ir.Value:
    """Build the operand that a view describes at the insertion point, without a copy."""
    if view.is_identity:
        return value
    value = _sliced(value, view, extents)
    value = squeezed(value, [i for i, axis in enumerate(view.axes) if not axis.dims])
    return _split(value, [axis for axis in view.axes if axis.dims], extents)


def _sliced(value: ir.Value, view: View, extents: Extents) -> ir.Value:
    shape = ir.ShapedType(value.type)
    sizes: list[ir.Value | int] = []
    needed = False
    for position, axis in enumerate(view.axes):
        own = None if shape.is_dynamic_dim(position) else shape.get_dim_size(position)
        length: ir.Value | int = 1
        for dim in axis.dims:
            length = _multiplied(length, extents.size(dim))
        sizes.append(length)
        fits = own is not None and own == length
        needed |= not axis.is_whole and not (fits and axis.offset == 0 and axis.stride == 1)
    if not needed:
        return value
    slice_ = tensor.ExtractSliceOp(
        ir.RankedTensorType.get(type_shape(sizes), shape.element_type),
        value,
        *mixed_operands(
            [axis.offset for axis in view.axes], sizes, [axis.stride for axis in view.axes]
        ),
    )
    return slice_.result


def _split(value: ir.Value, axes: Sequence[Axis], extents: Extents) -> ir.Value:
    """Split each dimension of a tensor that is read by two dimensions into two."""
    if all(len(axis.dims) == 1 for axis in axes):
        return value
    sizes = [extents.size(dim) for axis in axes for dim in axis.dims]
    groups: list[list[int]] = []
    for axis in axes:
        first = sum(map(len, groups))
        groups.append(list(range(first, first + len(axis.dims))))
    element = ir.ShapedType(value.type).element_type
    return expanded(value, ir.RankedTensorType.get(type_shape(sizes), element), groups, sizes)


def _multiplied(x: ir.Value | int, y: ir.Value | int) -> ir.Value | int:
    if isinstance(x, int) and isinstance(y, int):
        return x * y
    if x == 1:
        return y
    values = [
        integer_constant(ir.IndexType.get(), factor) if isinstance(factor, int) else factor
        for factor in (x, y)
    ]
    return arith.MulIOp(*values).result
