"""The types of the dialect `gml_st`.

    !gml_st.subset<"4x?xf32">   a part of a tensor or memref of f32: 4 by a number known at run time
    !gml_st.subset<"4x?">       the same of an index space, which has no elements
    !gml_st.subset<"f32">       of rank 0
    !gml_st.element             a single element

The parameter is one canonical text: each size, `?` where it is dynamic, with an `x` between them
and before the element type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.ir.op_views import TileView
from linalg_ext.errors import ArgumentError
from linalg_ext.structured.constants import number_of
from linalg_ext.structured.mixed import Index, Size, type_shape
from linalg_ext.structured.operands import producer

SUBSET, ELEMENT = "gml_st.subset", "gml_st.element"


@dataclass(frozen=True)
class SubsetShape:
    """The content of a subset type.

    Attributes:
        sizes: along each dimension; None where it is dynamic.
        element: the text of the element type of its source; None for an index space.
    """

    sizes: tuple[Size, ...]
    element: str | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)

    def with_sizes(self, sizes: Sequence[Size]) -> SubsetShape:
        """The same of other sizes."""
        return SubsetShape(tuple(sizes), self.element)

    def __str__(self) -> str:
        words = ["?" if size is None else str(size) for size in self.sizes]
        return "x".join([*words, self.element] if self.element else words)


def subset_type(shape: SubsetShape) -> ir.Type:
    """The type `!gml_st.subset<"...">` of a shape, in the current context."""
    return ir.DynamicType.get(SUBSET, [ir.StringAttr.get(str(shape))])


def element_set_type() -> ir.Type:
    """The type `!gml_st.element`, in the current context."""
    return ir.DynamicType.get(ELEMENT, [])


def is_element(type_: ir.Type) -> bool:
    """Return whether a type is that of a single element."""
    return _name_of(type_) == ELEMENT


def is_subset(type_: ir.Type) -> bool:
    """Return whether a type is a subset type, well written or not."""
    return _name_of(type_) == SUBSET


def is_set(type_: ir.Type) -> bool:
    """Return whether a type is one of this dialect: a subset or a single element."""
    return is_subset(type_) or is_element(type_)


def is_container(type_: ir.Type) -> bool:
    """Return whether a type is one that subsets are taken of: a ranked tensor or memref."""
    return isinstance(type_, ir.RankedTensorType | ir.MemRefType)


def subset_shape(type_: ir.Type) -> SubsetShape:
    """Read the shape of a subset type, or of a whole tensor or memref.

    Raises:
        ArgumentError: the type is neither, or its text is malformed.
    """
    if is_container(type_):
        return container_shape(type_)
    if not is_subset(type_):
        raise ArgumentError(
            f"{type_} is not a set of elements", expected="a ranked tensor, a memref or a subset"
        )
    (parameter,) = ir.DynamicType(type_).params
    return _read(ir.StringAttr(parameter).value)


def container_shape(type_: ir.Type) -> SubsetShape:
    """The shape of a tensor or memref as that of the subset of all of it."""
    shaped = ir.ShapedType(type_)
    gap = ir.ShapedType.get_dynamic_size()
    sizes = tuple(None if size == gap else size for size in shaped.shape)
    element = shaped.element_type
    return SubsetShape(sizes, _FLOATS.get(type(element)) or str(element))


_FLOATS: dict[type[ir.Type], str] = {
    ir.F16Type: "f16",
    ir.BF16Type: "bf16",
    ir.F32Type: "f32",
    ir.F64Type: "f64",
}
"""The texts of the usual element types: verifiers ask for them again and again."""


def _name_of(type_: ir.Type) -> str:
    """The name of a type with its dialect, as in `gml_st.subset`: printing it takes longer."""
    name = getattr(type_, "type_name", None)
    return name if isinstance(name, str) else str(type_).removeprefix("!").partition("<")[0]


_DIMENSION = re.compile(r"(\?|0|[1-9]\d*)(x|$)")
_MOST = (1 << 63) - 1


@lru_cache(maxsize=4096)
def _read(text: str) -> SubsetShape:
    sizes: list[Size] = []
    position, ends = 0, True
    while (match := _DIMENSION.match(text, position)) and position < len(text):
        size = None if match[1] == "?" else int(match[1])
        if size is not None and size > _MOST:
            raise ArgumentError(f'the size {size} of !{SUBSET}<"{text}"> is too large')
        sizes.append(size)
        position, ends = match.end(), not match[2]
    element = text[position:] or None
    # A last `x` leads to an element type; a text that has none ends in a size.
    if element is None and not ends:
        raise ArgumentError(
            f'!{SUBSET}<"{text}"> ends in an x', expected='a text as in "4x?xf32" or "4x?"'
        )
    if element is not None and not re.fullmatch(r"[a-z!][^\s]*(?:\s.*)?", element, re.DOTALL):
        raise ArgumentError(
            f'!{SUBSET}<"{text}"> is not written as subsets are',
            expected='sizes without a sign or leading zeros, then an element type: "4x?xf32"',
        )
    return SubsetShape(tuple(sizes), element)


def static(index: Index) -> int | None:
    """A number, also where it is given as the value of a constant; None where it is not known."""
    number = index if isinstance(index, int) else number_of(index)
    return number if isinstance(number, int) else None


def sizes_in_type(sizes: Sequence[Index]) -> tuple[Size, ...]:
    """The sizes that a type names: numbers alone; a value is dynamic, constant or not."""
    return tuple(size if isinstance(size, int) else None for size in sizes)


def kept_dims(shape: SubsetShape, dims: Sequence[int]) -> SubsetShape:
    """The shape of some dimensions: a set in a space of its own, which has no elements."""
    return SubsetShape(tuple(shape.sizes[dim] for dim in dims))


def box_shape(first: ir.Type, second: ir.Type) -> SubsetShape:
    """The shape of a box that is computed of two sets: its sizes are known at run time."""
    left, right = subset_shape(first), subset_shape(second)
    element = left.element if left.element == right.element else None
    return SubsetShape((None,) * left.rank, element)


def composed_strides(set_: ir.Value) -> tuple[Size, ...]:
    """The strides of a set relative to its root; None where one is not known.

    Raises:
        ArgumentError: `set_` is not a set.
    """
    rank = subset_shape(set_.type).rank
    op = producer(set_)
    if op is not None and op.name in _WHOLES:
        return (1,) * rank
    if op is None or op.name != "gml_st.tile":
        return (None,) * rank
    tile = TileView.of(op)
    own = [static(stride) for stride in tile.strides]
    outer = (1,) * rank if is_container(tile.superset.type) else composed_strides(tile.superset)
    return tuple(
        None if stride is None or outer_stride is None else stride * outer_stride
        for stride, outer_stride in zip(own, outer, strict=True)
    )


def materialized_type(source: ir.Type, set_: ir.Value) -> ir.Type:
    """The result type of `gml_st.materialize` of a source of this type, at this set.

    A subset of a memref is a view: its strides are those of the memref times those of the set.

    Raises:
        ArgumentError: the source is not a tensor or memref, or the set is none.
    """
    if not is_container(source):
        raise ArgumentError(f"the source is of type {source}", expected="a ranked tensor or memref")
    element = ir.ShapedType(source).element_type
    type_ = set_.type
    if is_element(type_):
        return element
    sizes = subset_shape(type_).sizes
    if isinstance(source, ir.RankedTensorType):
        return ir.RankedTensorType.get(type_shape(sizes), element)
    memref = ir.MemRefType(source)
    if is_whole(set_) and sizes == container_shape(source).sizes:
        return source
    strides, _ = memref.get_strides_and_offset()
    gap = ir.ShapedType.get_dynamic_stride_or_offset()
    view_strides = [
        gap if stride == gap or by is None else stride * by
        for stride, by in zip(strides, composed_strides(set_), strict=True)
    ]
    layout = ir.StridedLayoutAttr.get(gap, view_strides)
    return ir.MemRefType.get(type_shape(sizes), element, layout, memref.memory_space)


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
    inferred_strides, inferred_offset = inferred.get_strides_and_offset()
    return all(
        stated in (gap, inferred_number)
        for stated, inferred_number in zip(
            [*strides, offset], [*inferred_strides, inferred_offset], strict=True
        )
    )


def is_whole(value: ir.Value) -> bool:
    """Return whether a value is a tensor, a memref, or a set of all of one or of a space."""
    op = producer(value)
    return (op is not None and op.name in _WHOLES) or is_container(value.type)


_WHOLES = ("gml_st.full", "gml_st.space")
