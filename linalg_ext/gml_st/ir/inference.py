"""Types of the results of the ops of `gml_st`, for builders and for verifiers."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.gml_st.ir.op_views import TileView
from linalg_ext.gml_st.ir.types import (
    SubsetShape,
    container_shape,
    is_container,
    is_element,
    subset_shape,
)
from linalg_ext.structured.mixed import Index, Size


def static(index: Index) -> int | None:
    """A number, also where it is given as the value of a constant; None where it is not known."""
    if isinstance(index, int):
        return index
    owner = index.owner
    if not isinstance(owner, ir.OpView | ir.Operation) or owner.operation.name != "arith.constant":
        return None
    value = owner.operation.attributes["value"]
    return ir.IntegerAttr(value).value if isinstance(value, ir.IntegerAttr) else None


def sizes_in_type(sizes: Sequence[Index]) -> tuple[Size, ...]:
    """The sizes that a type names: numbers alone; a value is dynamic, constant or not."""
    return tuple(size if isinstance(size, int) else None for size in sizes)


def kept_dims(shape: SubsetShape, dims: Sequence[int]) -> SubsetShape:
    """The shape of some dimensions: a set in a space of its own, which has no elements."""
    return SubsetShape(tuple(shape.sizes[dim] for dim in dims))


def box_shape(first: ir.Type, second: ir.Type) -> SubsetShape:
    """The shape of a box that is computed of two sets: its sizes are known at run time."""
    one, other = subset_shape(first), subset_shape(second)
    element = one.element if one.element == other.element else None
    return SubsetShape((None,) * one.rank, element)


def composed_strides(set_: ir.Value) -> tuple[Size, ...]:
    """The strides of a set relative to its root; None where one is not known.

    Raises:
        ArgumentError: `set_` is no set.
    """
    rank = subset_shape(set_.type).rank
    owner = set_.owner.operation if isinstance(set_.owner, ir.OpView | ir.Operation) else None
    if owner is None:
        return (None,) * rank
    if owner.name in ("gml_st.space", "gml_st.full"):
        return (1,) * rank
    if owner.name != "gml_st.tile":
        return (None,) * rank
    tile = TileView.of(owner)
    own = [static(stride) for stride in tile.strides]
    outer = (1,) * rank if is_container(tile.superset.type) else composed_strides(tile.superset)
    return tuple(
        None if one is None or other is None else one * other
        for one, other in zip(own, outer, strict=True)
    )


def materialized_type(source: ir.Type, set_: ir.Value) -> ir.Type:
    """The type of what `gml_st.materialize` gives: of a source of this type, at this set.

    A subset of a memref is a view: its strides are those of the memref times those of the set.

    Raises:
        ArgumentError: the source is no tensor or memref, or the set is none.
    """
    if not is_container(source):
        raise ArgumentError(f"the source is of type {source}", expected="a ranked tensor or memref")
    element = ir.ShapedType(source).element_type
    type_ = set_.type
    if is_element(type_):
        return element
    sizes = subset_shape(type_).sizes
    if isinstance(source, ir.RankedTensorType):
        return ir.RankedTensorType.get(_shape(sizes), element)
    memref = ir.MemRefType(source)
    if _is_whole(set_) and sizes == container_shape(source).sizes:
        return source
    strides, _ = memref.get_strides_and_offset()
    gap = ir.ShapedType.get_dynamic_stride_or_offset()
    known = [
        gap if stride == gap or by is None else stride * by
        for stride, by in zip(strides, composed_strides(set_), strict=True)
    ]
    layout = ir.StridedLayoutAttr.get(gap, known)
    return ir.MemRefType.get(_shape(sizes), element, layout, memref.memory_space)


def is_view_of(type_: ir.Type, inferred: ir.Type) -> bool:
    """Return whether a type is the inferred one, or a memref that says less of its strides."""
    if type_ == inferred:
        return True
    if not isinstance(type_, ir.MemRefType) or not isinstance(inferred, ir.MemRefType):
        return False
    if (
        list(type_.shape) != list(inferred.shape)
        or type_.element_type != inferred.element_type
        or type_.memory_space != inferred.memory_space
        or not isinstance(type_.layout, ir.StridedLayoutAttr)
    ):
        return False
    gap = ir.ShapedType.get_dynamic_stride_or_offset()
    strides, offset = type_.get_strides_and_offset()
    known, known_offset = inferred.get_strides_and_offset()
    return all(
        said in (gap, there)
        for said, there in zip([*strides, offset], [*known, known_offset], strict=True)
    )


def _is_whole(set_: ir.Value) -> bool:
    owner = set_.owner
    if isinstance(owner, ir.Block):
        return False
    return owner.operation.name in ("gml_st.full", "gml_st.space")


def _shape(sizes: Sequence[Size]) -> list[int]:
    dynamic = ir.ShapedType.get_dynamic_size()
    return [dynamic if size is None else size for size in sizes]
