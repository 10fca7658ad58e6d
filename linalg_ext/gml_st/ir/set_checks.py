"""The rules of the ops of `gml_st` that name parts of tensors, and of `gml_st.materialize`."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, ShapeError
from linalg_ext.gml_st.ir.inference import (
    box_shape,
    is_view_of,
    kept_dims,
    materialized_type,
    sizes_in_type,
    static,
)
from linalg_ext.gml_st.ir.op_views import (
    DropDimsView,
    FilterView,
    FullView,
    IsEmptyView,
    MaterializeView,
    PairView,
    PointView,
    QueryView,
    SpaceView,
    TileView,
    TransposeDimsView,
)
from linalg_ext.gml_st.ir.roots import is_filter, rank_of, root_sizes
from linalg_ext.gml_st.ir.types import (
    SubsetShape,
    container_shape,
    element_set_type,
    is_container,
    is_element,
    subset_shape,
    subset_type,
)
from linalg_ext.structured.mixed import Index, Size
from linalg_ext.structured.operands import producer


def check_space(op: ir.Operation) -> None:
    """Sizes are not negative, and the type has them."""
    sizes = SpaceView.of(op).sizes
    _check_not_negative("size", sizes)
    _check_result(op, subset_type(SubsetShape(sizes_in_type(sizes))))


def check_full(op: ir.Operation) -> None:
    """The type is that of all of the source."""
    source = _container(FullView.of(op).source)
    _check_result(op, subset_type(container_shape(source)))


def check_tile(op: ir.Operation) -> None:
    """As many numbers as dimensions, none negative, and no element beyond what is known."""
    tile = TileView.of(op)
    shape = _superset_shape(tile.superset)
    for what, numbers in (
        ("offset", tile.offsets),
        ("size", tile.sizes),
        ("stride", tile.strides),
    ):
        _check_count(what, numbers, shape)
        _check_not_negative(what, numbers)
    _check_result(op, subset_type(shape.with_sizes(sizes_in_type(tile.sizes))))
    for dim, whole in enumerate(shape.sizes):
        if whole is not None:
            _check_bounds(
                dim,
                static(tile.offsets[dim]),
                static(tile.sizes[dim]),
                static(tile.strides[dim]),
                whole,
            )


def check_filter(op: ir.Operation) -> None:
    """A row of indices for each element, each within the source if known."""
    view = FilterView.of(op)
    source = container_shape(_container(view.source))
    indices = view.indices.type
    if not isinstance(indices, ir.RankedTensorType) or not isinstance(
        indices.element_type, ir.IndexType | ir.IntegerType
    ):
        raise DTypeError(f"the indices are of type {indices}", expected="a tensor of indices")
    sizes = container_shape(indices).sizes
    is_flat = source.rank == 1 and len(sizes) == 1
    if not is_flat and (len(sizes) != 2 or sizes[1] != source.rank):
        raise ShapeError(
            f"the indices are of type {indices}, the source is of rank {source.rank}",
            expected=f"tensor<n x {source.rank} x index>, a row for each element",
        )
    _check_result(op, subset_type(source))
    for row, index in _known_indices(view.indices, source.rank):
        for dim, (at, size) in enumerate(zip(index, source.sizes, strict=True)):
            if at < 0 or (size is not None and at >= size):
                raise ArgumentError(
                    f"index {at} of row {row} is out of bounds along dimension {dim} of "
                    f"{view.source.type}",
                    expected=f"0 to {size - 1}" if size else "no index, for there is no element",
                )


def check_point(op: ir.Operation) -> None:
    """As many indices as dimensions, each within the superset if known."""
    point = PointView.of(op)
    shape = _superset_shape(point.superset)
    _check_count("index", point.indices, shape)
    _check_not_negative("index", point.indices)
    for number, size in zip(map(static, point.indices), shape.sizes, strict=True):
        if number is not None and size is not None and number >= size:
            raise ArgumentError(f"expected index = {number} to be between 0 and {size - 1}")
    _check_result(op, element_set_type())


def check_drop_dims(op: ir.Operation) -> None:
    """The remaining dimensions exist and are in order."""
    view = DropDimsView.of(op)
    dims, rank = view.remaining_dims, _rank(view.set)
    for at, dim in enumerate(dims):
        if dim < 0 or (rank is not None and dim >= rank):
            raise ArgumentError(f"remaining_dims[{at}] = {dim} {_outside(rank)}")
    if list(dims) != sorted(set(dims)):
        raise ArgumentError(
            f"remaining_dims = {list(dims)}",
            expected="dimensions in ascending order, none twice",
            hint="gml_st.transpose_dims gives them another order",
        )
    _check_rearranged(op, view.set, dims)


def check_transpose_dims(op: ir.Operation) -> None:
    """The permutation is one of all dimensions."""
    view = TransposeDimsView.of(op)
    permutation, rank = view.permutation, _rank(view.set)
    if rank is not None and len(permutation) != rank:
        raise ArityError(
            f"expected result rank {rank} to match the permutation size of {len(permutation)}"
        )
    for at, dim in enumerate(permutation):
        if not 0 <= dim < len(permutation):
            raise ArgumentError(f"permutation[{at}] = {dim} {_outside(len(permutation))}")
        if dim in permutation[:at]:
            raise ArgumentError(
                "expected permutation attribute to contain no duplicate values, but got "
                f"{dim} at positions {permutation.index(dim)} and {at}"
            )
    _check_rearranged(op, view.set, permutation)


def check_query(op: ir.Operation) -> None:
    """The set has such a number, along that dimension."""
    view = QueryView.of(op)
    what = op.name.rpartition(".")[2]
    if is_element(view.set.type) and what != "offset":
        raise DTypeError(f"an element has no {what}", expected=f"a subset to ask for its {what}")
    rank, dim = _rank(view.set), static(view.dim)
    if dim is not None and (dim < 0 or (rank is not None and dim >= rank)):
        raise ArgumentError(f"dimension {dim} {_outside(rank)}")
    _check_result(op, ir.IndexType.get())


def check_box(op: ir.Operation) -> None:
    """Two rectangles of one root."""
    view = PairView.of(op)
    _check_pair(view)
    _check_result(op, subset_type(box_shape(view.first.type, view.second.type)))


def check_difference(op: ir.Operation) -> None:
    """Two rectangles of one root, and two boxes for each dimension."""
    view = PairView.of(op)
    _check_pair(view)
    count = 2 * subset_shape(view.first.type).rank
    if len(op.results) != count:
        raise ArityError(
            f"the op has {len(op.results)} result(s)", expected=f"{count}, two for each dimension"
        )
    expected = subset_type(box_shape(view.first.type, view.second.type))
    for at in range(count):
        _check_result(op, expected, at)


def check_contains(op: ir.Operation) -> None:
    """Two sets of one root."""
    _check_pair(PairView.of(op))
    _check_result(op, ir.IntegerType.get_signless(1))


def check_is_empty(op: ir.Operation) -> None:
    """A rectangle."""
    _rank(IsEmptyView.of(op).set)
    _check_result(op, ir.IntegerType.get_signless(1))


def check_materialize(op: ir.Operation) -> None:
    """The set is one of the source, and the result has its shape."""
    view = MaterializeView.of(op)
    check_set_of(view.set, view.source, "the source")
    if not isinstance(view.source.type, ir.RankedTensorType) and is_filter(view.set):
        raise ArgumentError(
            f"the source is of type {view.source.type}, and a filter of it is no view",
            expected="a tensor",
            hint="read the memref with bufferization.to_tensor",
        )
    expected = materialized_type(view.source.type, view.set)
    if len(op.results) == 1 and is_view_of(op.results[0].type, expected):
        return
    _check_result(op, expected)


def check_set_of(set_: ir.Value, whole: ir.Value, subject: str) -> None:
    """Check that a set is one of a tensor or memref: rank, element type, sizes of its root.

    Raises:
        ShapeError, DTypeError: it is not; `subject` is what the error calls the whole.
    """
    shape, type_ = container_shape(_container(whole)), set_.type
    subset = None if is_element(type_) else subset_shape(type_)
    rank = rank_of(set_) if subset is None else subset.rank
    if rank is not None and rank != shape.rank:
        raise ShapeError(f"{subject} is of type {whole.type}, and the set is of rank {rank}")
    element = None if subset is None else subset.element
    if element is not None and element != shape.element:
        raise DTypeError(
            f"{subject} is of type {whole.type}, and the set is one of {element}",
            expected="a set of a tensor of the same element type, or of a gml_st.space",
        )
    sizes = root_sizes(set_)
    if sizes is not None and not _agree(sizes, shape.sizes):
        raise ShapeError(
            f"{subject} is of type {whole.type}, and the set is one of {SubsetShape(sizes)}",
            expected="a set of a tensor, or of a gml_st.space, of the same sizes",
        )


def _container(value: ir.Value) -> ir.Type:
    if not is_container(value.type):
        raise DTypeError(
            f"the source is of type {value.type}", expected="a ranked tensor or a memref"
        )
    return value.type


def _superset_shape(superset: ir.Value) -> SubsetShape:
    _refuse_filter(superset)
    return subset_shape(superset.type)


def _refuse_filter(set_: ir.Value) -> None:
    if not is_container(set_.type) and is_filter(set_):
        raise ArgumentError(
            "the set is that of a gml_st.filter, which is not a rectangle",
            expected="a tile",
            hint="materialize a filter as it is, or yield to it",
        )


def _rank(set_: ir.Value) -> int | None:
    _refuse_filter(set_)
    return rank_of(set_)


def _check_result(op: ir.Operation, expected: ir.Type, at: int = 0) -> None:
    if at >= len(op.results):
        raise ArityError(f"the op has {len(op.results)} result(s)", expected=f"{at + 1}")
    if op.results[at].type != expected:
        raise DTypeError(f"the result is of type {op.results[at].type}", expected=str(expected))


def _check_count(what: str, numbers: Sequence[Index], shape: SubsetShape) -> None:
    if len(numbers) != shape.rank:
        raise ArityError(f"expected {shape.rank} {what} values, got {len(numbers)}")


def _check_not_negative(what: str, numbers: Sequence[Index]) -> None:
    for number in map(static, numbers):
        if number is not None and number < 0:
            raise ArgumentError(
                f"expected {what} = {number} to be non-negative",
                hint="sets are counted from the start of their root: give 0 or more",
            )


def _check_bounds(
    dim: int, offset: int | None, size: int | None, stride: int | None, whole: int
) -> None:
    of = f"for dimension {dim} of size {whole}"
    if size == 0:
        if offset is not None and offset > whole:
            raise ArgumentError(
                f"offset = {offset} is out of bounds {of}", hint=f"take an offset up to {whole}"
            )
        return
    # A dimension without elements may be tiled by sizes that turn out to be 0.
    if offset is not None and offset >= whole and not (offset == 0 and size is None):
        raise ArgumentError(
            f"offset = {offset} is out of bounds {of}", hint=f"take an offset below {whole}"
        )
    if size is None or stride is None:
        return
    last = (offset or 0) + (size - 1) * stride
    if last >= whole:
        start = "" if offset is None else f"offset = {offset} "
        at = "" if offset is None else f" at {last}"
        raise ArgumentError(
            f"{start}size = {size} stride = {stride} causes access out of bounds{at} {of}",
            hint="take a smaller offset, size or stride: the last element is at offset + "
            f"(size - 1) * stride, and must be below {whole}",
        )


def _check_rearranged(op: ir.Operation, set_: ir.Value, dims: Sequence[int]) -> None:
    if is_element(set_.type):
        _check_result(op, set_.type)
    else:
        _check_result(op, subset_type(kept_dims(subset_shape(set_.type), dims)))


def _check_pair(view: PairView) -> None:
    one, other = _rank(view.first), _rank(view.second)
    if one is not None and other is not None and one != other:
        raise ShapeError(f"the sets are of rank {one} and {other}", expected="sets of one root")
    wholes = root_sizes(view.first), root_sizes(view.second)
    if None not in wholes and not _agree(wholes[0] or (), wholes[1] or ()):
        raise ShapeError(
            f"the sets are of {SubsetShape(wholes[0] or ())} and {SubsetShape(wholes[1] or ())}",
            expected="sets of one root",
        )


def _agree(sizes: Sequence[Size], others: Sequence[Size]) -> bool:
    return len(sizes) == len(others) and all(
        one is None or other is None or one == other
        for one, other in zip(sizes, others, strict=True)
    )


def _outside(rank: int | None) -> str:
    return "is negative" if rank is None else f"is outside of range [0, {rank - 1}]"


def _known_indices(indices: ir.Value, rank: int) -> list[tuple[int, list[int]]]:
    """The rows of a filter's indices, where they are a constant: position and indices."""
    op = producer(indices)
    if op is None or op.name != "arith.constant":
        return []
    value = op.attributes["value"]
    if not isinstance(value, ir.DenseIntElementsAttr) or rank == 0:
        return []
    elements: list[int] = [value[at] for at in range(len(value))]
    # The bindings give indices without their sign.
    numbers = [number - (1 << 64) if number >> 63 > 0 else number for number in elements]
    return [(at // rank, numbers[at : at + rank]) for at in range(0, len(numbers), rank)]
