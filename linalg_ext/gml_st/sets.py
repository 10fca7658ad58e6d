"""Builders of sets: `gml_st.tile(x, [i, 0], [4, n])` at the current insertion point.

Offsets, sizes, strides and indices are numbers, values of type index, or both mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentTypeError
from linalg_ext.gml_st import definitions
from linalg_ext.gml_st.builders import (
    Given,
    Number,
    built,
    checked,
    index_values,
    numbers_of,
    value_of,
)
from linalg_ext.structured.mixed import STATIC_OFFSETS, STATIC_SIZES, STATIC_STRIDES, Index

from .ir.inference import box_shape, kept_dims, materialized_type, sizes_in_type
from .ir.op_views import PERMUTATION, REMAINING_DIMS, STATIC_INDICES
from .ir.types import (
    SubsetShape,
    container_shape,
    element_set_type,
    is_element,
    subset_shape,
    subset_type,
)


def space(sizes: Sequence[Number]) -> ir.Value:
    """Build `gml_st.space`: an index space of these sizes, the root of sets of no tensor."""
    numbers = numbers_of("space", sizes)
    op = definitions.SpaceOp(
        _values(numbers), result=subset_type(SubsetShape(sizes_in_type(numbers)))
    )
    return built(op, {STATIC_SIZES: _array(numbers)})


def full(source: Given) -> ir.Value:
    """Build `gml_st.full`: all of a tensor or memref."""
    value = value_of("full", source)
    return built(definitions.FullOp(value, result=subset_type(container_shape(value.type))))


def tile(
    superset: Given,
    offsets: Sequence[Number],
    sizes: Sequence[Number],
    strides: Sequence[Number] | None = None,
) -> ir.Value:
    """Build `gml_st.tile`: a rectangle of a tensor, of a memref or of a subset.

        >>> tile(x, [i, 0], [4, n])

    Args:
        superset: what it is a part of.
        offsets: where it begins, in elements of the superset.
        sizes: how many elements it has.
        strides: how many elements of the superset lie from one to the next; 1 where left out.

    Raises:
        ArgumentError: numbers and dimensions do not fit together, or reach beyond the superset.
    """
    value = value_of("tile", superset)
    offsets_ = numbers_of("tile", offsets)
    strides_ = [1] * len(offsets_) if strides is None else numbers_of("tile", strides)
    numbers = [offsets_, numbers_of("tile", sizes), strides_]
    shape = subset_shape(value.type).with_sizes(sizes_in_type(numbers[1]))
    op = definitions.TileOp(value, *map(_values, numbers), result=subset_type(shape))
    names = (STATIC_OFFSETS, STATIC_SIZES, STATIC_STRIDES)
    return built(op, dict(zip(names, map(_array, numbers), strict=True)))


def filter(source: Given, indices: Given) -> ir.Value:
    """Build `gml_st.filter`: the elements of a tensor at some indices.

    Args:
        source: a tensor, of rank r.
        indices: an integer tensor of n rows of r indices; of n indices where r is 1.
    """
    value = value_of("filter", source)
    type_ = subset_type(container_shape(value.type))
    return built(definitions.FilterOp(value, value_of("filter", indices), result=type_))


def point(superset: Given, indices: Sequence[Number]) -> ir.Value:
    """Build `gml_st.point`: one element of a tensor, of a memref or of a subset."""
    numbers = numbers_of("point", indices)
    value = value_of("point", superset)
    op = definitions.PointOp(value, _values(numbers), result=element_set_type())
    return built(op, {STATIC_INDICES: _array(numbers)})


def drop_dims(set: Given, remaining_dims: Sequence[int]) -> ir.Value:
    """Build `gml_st.drop_dims`: some dimensions of a set, in the space of those alone."""
    dims = _dims_of("drop_dims", remaining_dims)
    op = definitions.DropDimsOp(value_of("drop_dims", set), result=_rearranged(set, dims))
    return built(op, {REMAINING_DIMS: _array(dims)})


def transpose_dims(set: Given, permutation: Sequence[int]) -> ir.Value:
    """Build `gml_st.transpose_dims`: dimension i of the result is dimension `permutation[i]`."""
    dims = _dims_of("transpose_dims", permutation)
    op = definitions.TransposeDimsOp(value_of("transpose_dims", set), result=_rearranged(set, dims))
    return built(op, {PERMUTATION: _array(dims)})


def offset(set: Given, dim: Number) -> ir.Value:
    """Build `gml_st.offset`: where a set begins along a dimension of its root."""
    return _query(definitions.OffsetOp, set, dim)


def size(set: Given, dim: Number) -> ir.Value:
    """Build `gml_st.size`: how many elements a subset has along a dimension."""
    return _query(definitions.SizeOp, set, dim)


def stride(set: Given, dim: Number) -> ir.Value:
    """Build `gml_st.stride`: how far apart the elements are along a dimension of the root."""
    return _query(definitions.StrideOp, set, dim)


def intersection(first: Given, second: Given) -> ir.Value:
    """Build `gml_st.intersection`: the elements of both subsets."""
    return _box(definitions.IntersectionOp, first, second)


def convex_union(first: Given, second: Given) -> ir.Value:
    """Build `gml_st.convex_union`: the smallest box around both subsets."""
    return _box(definitions.ConvexUnionOp, first, second)


def difference(first: Given, second: Given) -> tuple[ir.Value, ...]:
    """Build `gml_st.difference`: the elements of the first subset that are not of the second.

    Disjoint boxes, two for each dimension; some of them may turn out to be empty.
    """
    one, other = (value_of("difference", each) for each in (first, second))
    box = box_shape(one.type, other.type)
    op = definitions.DifferenceOp(one, other, boxes=[subset_type(box)] * (2 * box.rank))
    checked(op)
    return tuple(op.operation.results)


def contains(first: Given, second: Given) -> ir.Value:
    """Build `gml_st.contains`: an i1, whether all of the second set is in the first."""
    one, other = (value_of("contains", each) for each in (first, second))
    return built(definitions.ContainsOp(one, other, result=ir.IntegerType.get_signless(1)))


def is_empty(set: Given) -> ir.Value:
    """Build `gml_st.is_empty`: an i1, whether a subset has no element."""
    value = value_of("is_empty", set)
    return built(definitions.IsEmptyOp(value, result=ir.IntegerType.get_signless(1)))


def materialize(source: Given, set: Given) -> ir.Value:
    """Build `gml_st.materialize`: the elements of a tensor or memref that a set names.

    A tensor or a view of the shape of a subset, a scalar for one element.
    """
    value, where = value_of("materialize", source), value_of("materialize", set)
    type_ = materialized_type(value.type, where)
    return built(definitions.MaterializeOp(value, where, result=type_))


def _dims_of(op: str, given: Sequence[int]) -> list[int]:
    dims: list[int] = []
    for at, dim in enumerate(numbers_of(op, given)):
        if not isinstance(dim, int):
            raise ArgumentTypeError(
                f"{op}: dimension {at} is a value", expected="an int: types tell dimensions"
            )
        dims.append(dim)
    return dims


def _query(op: Any, set: Given, dim: Number) -> ir.Value:
    value = value_of(op.OPERATION_NAME, set)
    (where,) = index_values(op.OPERATION_NAME, [dim])
    return built(op(value, where, result=ir.IndexType.get()))


def _box(op: Any, first: Given, second: Given) -> ir.Value:
    one, other = (value_of(op.OPERATION_NAME, each) for each in (first, second))
    return built(op(one, other, result=subset_type(box_shape(one.type, other.type))))


def _rearranged(set: Given, dims: Sequence[int]) -> ir.Type:
    type_ = value_of("set", set).type
    if is_element(type_):
        return type_
    shape = subset_shape(type_)
    # A dimension that does not exist is the verifier's to refuse.
    known = [dim for dim in dims if 0 <= dim < shape.rank]
    return subset_type(kept_dims(shape, known))


def _values(numbers: Sequence[Index]) -> list[ir.Value]:
    return [number for number in numbers if not isinstance(number, int)]


def _array(numbers: Sequence[Index]) -> ir.Attribute:
    gap = ir.ShapedType.get_dynamic_size()
    static = [number if isinstance(number, int) else gap for number in numbers]
    return ir.DenseI64ArrayAttr.get(static)
