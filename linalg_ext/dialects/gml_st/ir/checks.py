"""The rules of the ops of `gml_st`, which their verifiers hold: `check_op`, `check_terminator`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.ir.op_views import (
    ITERATORS,
    LOOPS,
    PARALLEL,
    QUERIES,
    YIELDS,
    DimsView,
    FilterView,
    LoopView,
    MaterializeView,
    PairView,
    PointView,
    QueryView,
    SpaceView,
    TileView,
    YieldView,
    operand_of,
)
from linalg_ext.dialects.gml_st.ir.sets import (
    called,
    dependences,
    is_defined_inside,
    is_filter,
    rank_of,
    root_of,
    root_sizes,
)
from linalg_ext.dialects.gml_st.ir.types import (
    SubsetShape,
    box_shape,
    composed_strides,
    container_shape,
    element_set_type,
    is_container,
    is_element,
    is_view_of,
    is_whole,
    kept_dims,
    materialized_type,
    sizes_in_type,
    static,
    subset_shape,
    subset_type,
)
from linalg_ext.errors import (
    ArgumentError,
    ArityError,
    DTypeError,
    LinalgExtError,
    ShapeError,
    counted,
)
from linalg_ext.structured.mixed import Index
from linalg_ext.structured.operands import producer, shapes_differ


def check_op(op: ir.Operation) -> None:
    """Check an op by itself: operands, attributes, types, block arguments.

    Raises:
        ArgumentError: of the kind of the mistake; names operands, sizes and types.
    """
    _CHECKS[op.name](op)


def check_terminator(op: ir.Operation) -> None:
    """Check a terminator against its loop, once the loop is known to be sound.

    Raises:
        ArgumentError: as `check_op`.
    """
    parent = _parent(op)
    if parent is None or parent.name in YIELDS:
        return
    view, loop = YieldView.of(op), LoopView.of(parent)
    is_loop = parent.name == "gml_st.loop"
    if is_loop:
        destinations = loop.yield_destinations(view)
        _check_yielded(view, destinations)
    else:
        destinations = view.destinations
        _check_destinations(view, loop)
    for position, (value, set_) in enumerate(zip(view.sources, view.sets, strict=False)):
        target = destinations[position]
        _check_value(position, value, set_, target)
        root = root_of(set_) if is_loop else None
        if root is not None and is_container(root.type) and root != target:
            raise ArgumentError(
                f"subset {position} is one of {called(root)}, and value {position} goes to output "
                f"{loop.region_outs.index(target)}, {called(target)}",
                expected="a subset of that argument of the body, or of a gml_st.space",
            )
    _check_accumulators(view)
    _check_overlaps(view, loop)


def _check_space(op: ir.Operation) -> None:
    sizes = SpaceView.of(op).sizes
    _check_not_negative("size", sizes)
    _check_result(op, subset_type(SubsetShape(sizes_in_type(sizes))))


def _check_full(op: ir.Operation) -> None:
    source = _container(operand_of(op, 0))
    _check_result(op, subset_type(container_shape(source)))


def _check_tile(op: ir.Operation) -> None:
    tile = TileView.of(op)
    shape = _superset_shape(tile.superset)
    columns = (tile.offsets, tile.sizes, tile.strides)
    for label, numbers in zip(("offset", "size", "stride"), columns, strict=True):
        _check_count(label, numbers, shape)
        _check_not_negative(label, numbers)
    _check_result(op, subset_type(shape.with_sizes(sizes_in_type(tile.sizes))))
    for dim, whole in enumerate(shape.sizes):
        if whole is not None:
            offset, size, stride = (static(numbers[dim]) for numbers in columns)
            _check_within(dim, offset, size, stride, whole)


def _check_filter(op: ir.Operation) -> None:
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
        for dim, (row_index, size) in enumerate(zip(index, source.sizes, strict=True)):
            if row_index < 0 or (size is not None and row_index >= size):
                raise ArgumentError(
                    f"index {row_index} of row {row} is out of bounds along dimension {dim} of "
                    f"{view.source.type}",
                    expected=f"0 to {size - 1}" if size else "no index, for there is no element",
                )


def _check_point(op: ir.Operation) -> None:
    point = PointView.of(op)
    shape = _superset_shape(point.superset)
    _check_count("index", point.indices, shape)
    _check_not_negative("index", point.indices)
    for number, size in zip(map(static, point.indices), shape.sizes, strict=True):
        if number is not None and size is not None and number >= size:
            raise ArgumentError(f"expected index = {number} to be between 0 and {size - 1}")
    _check_result(op, element_set_type())


def _check_drop_dims(op: ir.Operation) -> None:
    view = DimsView.of(op)
    dims, rank = view.dims, _rank(view.set)
    for position, dim in enumerate(dims):
        if dim < 0 or (rank is not None and dim >= rank):
            raise ArgumentError(f"remaining_dims[{position}] = {dim} {_outside(rank)}")
    if list(dims) != sorted(set(dims)):
        raise ArgumentError(
            f"remaining_dims = {list(dims)}",
            expected="dimensions in ascending order, none twice",
            hint="gml_st.transpose_dims gives them another order",
        )
    _check_rearranged(op, view.set, dims)


def _check_transpose_dims(op: ir.Operation) -> None:
    view = DimsView.of(op)
    permutation, rank = view.dims, _rank(view.set)
    if rank is not None and len(permutation) != rank:
        raise ArityError(
            f"expected result rank {rank} to match the permutation size of {len(permutation)}"
        )
    for position, dim in enumerate(permutation):
        if not 0 <= dim < len(permutation):
            raise ArgumentError(f"permutation[{position}] = {dim} {_outside(len(permutation))}")
        if dim in permutation[:position]:
            raise ArgumentError(
                "expected permutation attribute to contain no duplicate values, but got "
                f"{dim} at positions {permutation.index(dim)} and {position}"
            )
    _check_rearranged(op, view.set, permutation)


def _check_query(op: ir.Operation) -> None:
    view = QueryView.of(op)
    quantity = op.name.rpartition(".")[2]
    if is_element(view.set.type) and quantity != "offset":
        raise DTypeError(
            f"an element has no {quantity}", expected=f"a subset to ask for its {quantity}"
        )
    rank, dim = _rank(view.set), static(view.dim)
    if dim is not None and (dim < 0 or (rank is not None and dim >= rank)):
        raise ArgumentError(f"dimension {dim} {_outside(rank)}")
    _check_result(op, ir.IndexType.get())


def _check_box(op: ir.Operation) -> None:
    view = PairView.of(op)
    _check_pair(view)
    _check_result(op, subset_type(box_shape(view.first.type, view.second.type)))


def _check_difference(op: ir.Operation) -> None:
    view = PairView.of(op)
    _check_pair(view)
    count = 2 * subset_shape(view.first.type).rank
    if len(op.results) != count:
        raise ArityError(
            f"the op has {counted(len(op.results), 'result')}",
            expected=f"{count}, two for each dimension",
        )
    expected = subset_type(box_shape(view.first.type, view.second.type))
    for position in range(count):
        _check_result(op, expected, position)


def _check_contains(op: ir.Operation) -> None:
    _check_pair(PairView.of(op))
    _check_result(op, ir.IntegerType.get_signless(1))


def _check_is_empty(op: ir.Operation) -> None:
    _rank(operand_of(op, 0))
    _check_result(op, ir.IntegerType.get_signless(1))


def _check_materialize(op: ir.Operation) -> None:
    view = MaterializeView.of(op)
    _check_set_of(view.set, view.source, "the source")
    if not isinstance(view.source.type, ir.RankedTensorType) and is_filter(view.set):
        raise ArgumentError(
            f"the source is of type {view.source.type}, and a filter of it is not a view",
            expected="a tensor",
            hint="read the memref with bufferization.to_tensor",
        )
    expected = materialized_type(view.source.type, view.set)
    if len(op.results) == 1 and is_view_of(op.results[0].type, expected):
        return
    _check_result(op, expected)


def _check_set_of(set_: ir.Value, whole: ir.Value, subject: str) -> None:
    """Check that a set is one of a tensor or memref: rank, element type, sizes of its root.

    Raises:
        ShapeError, DTypeError: it is not; `subject` is the name of the whole in the error.
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
    if sizes is not None and shapes_differ(sizes, shape.sizes):
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


def _check_result(op: ir.Operation, expected: ir.Type, result: int = 0) -> None:
    if result >= len(op.results):
        raise ArityError(
            f"the op has {counted(len(op.results), 'result')}", expected=f"{result + 1}"
        )
    if op.results[result].type != expected:
        raise DTypeError(f"the result is of type {op.results[result].type}", expected=str(expected))


def _check_count(label: str, numbers: Sequence[Index], shape: SubsetShape) -> None:
    if len(numbers) != shape.rank:
        raise ArityError(f"expected {shape.rank} {label} values, got {len(numbers)}")


def _check_not_negative(label: str, numbers: Sequence[Index]) -> None:
    for number in map(static, numbers):
        if number is not None and number < 0:
            raise ArgumentError(
                f"expected {label} = {number} to be non-negative",
                hint="sets are counted from the start of their root: give 0 or more",
            )


def _check_within(
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
        last_place = "" if offset is None else f" at {last}"
        raise ArgumentError(
            f"{start}size = {size} stride = {stride} causes access out of bounds{last_place} {of}",
            hint="take a smaller offset, size or stride: the last element is at offset + "
            f"(size - 1) * stride, and must be below {whole}",
        )


def _check_rearranged(op: ir.Operation, set_: ir.Value, dims: Sequence[int]) -> None:
    if is_element(set_.type):
        _check_result(op, set_.type)
    else:
        _check_result(op, subset_type(kept_dims(subset_shape(set_.type), dims)))


def _check_pair(view: PairView) -> None:
    first, second = _rank(view.first), _rank(view.second)
    if first is not None and second is not None and first != second:
        raise ShapeError(f"the sets are of rank {first} and {second}", expected="sets of one root")
    wholes = root_sizes(view.first), root_sizes(view.second)
    if None not in wholes and shapes_differ(wholes[0] or (), wholes[1] or ()):
        raise ShapeError(
            f"the sets are of {SubsetShape(wholes[0] or ())} and {SubsetShape(wholes[1] or ())}",
            expected="sets of one root",
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
    elements: list[int] = [value[i] for i in range(len(value))]
    # The bindings give indices without their sign.
    numbers = [number - (1 << 64) if number >> 63 > 0 else number for number in elements]
    return [(i // rank, numbers[i : i + rank]) for i in range(0, len(numbers), rank)]


def _check_loop(op: ir.Operation) -> None:
    view = LoopView.of(op)
    _check_bounds(view)
    kinds = view.iterator_types
    if len(kinds) != view.rank:
        raise ArityError(
            f"expected iterator types array attribute size = {len(kinds)} to match the number of "
            f"loops = {view.rank}"
        )
    for kind in kinds:
        if kind not in ITERATORS:
            raise ArgumentError(f"{kind!r} is not an iterator type", expected=", ".join(ITERATORS))
    if view.distribution and len(view.distribution) != view.rank:
        raise ArityError(
            f"distribution has {counted(len(view.distribution), 'name')} for "
            f"{counted(view.rank, 'iterator')}",
            expected="one for each, or none at all",
        )
    _check_arguments(view)
    if op.name == "gml_st.parallel":
        last = view.last
        try:
            destinations = YieldView.of(last).destinations
        except LinalgExtError:
            return  # the check of the terminator raises this error
        _check_results(op, destinations, "destination")
        return
    for position, value in enumerate(view.outs):
        if not is_container(value.type):
            raise DTypeError(
                f"output {position} is of type {value.type}", expected="a ranked tensor or a memref"
            )
    _check_results(op, view.outs, "output")
    _ = view.last


def _check_bounds(view: LoopView) -> None:
    if not view.rank:
        raise ArityError("the loop has no iterator", expected="one or more")
    for dim, step in enumerate(map(static, view.step)):
        if step is not None and step <= 0:
            raise ArgumentError(
                f"the step of iterator {dim} is {step}, with which it never ends",
                expected="a step of 1 or more",
            )


def _check_arguments(view: LoopView) -> None:
    groups = (("input", view.ins), ("output", view.outs))
    arguments = list(view.body.arguments)
    expected = view.rank + sum(len(group) for _, group in groups)
    if len(arguments) != expected:
        raise ArityError(
            f"the body has {counted(len(arguments), 'argument')}",
            expected=f"{expected}: an index for each iterator"
            + "".join(f", then the {label}s" for label, group in groups if group),
        )
    for position, iv in enumerate(view.ivs):
        if not isinstance(iv.type, ir.IndexType):
            raise DTypeError(f"region arg {position} is of type {iv.type}", expected="index")
    argument = view.rank
    for label, group in groups:
        for position, value in enumerate(group):
            if arguments[argument].type != value.type:
                raise DTypeError(
                    f"expected {label} arg {position} with type = '{value.type}' to match region "
                    f"arg {argument} type = '{arguments[argument].type}'"
                )
            argument += 1


def _check_results(op: ir.Operation, written: Sequence[ir.Value], label: str) -> None:
    tensors = [value.type for value in written if not isinstance(value.type, ir.MemRefType)]
    results = [result.type for result in op.results]
    if results != tensors:
        raise DTypeError(
            f"the results are ({', '.join(map(str, results))})",
            expected=f"({', '.join(map(str, tensors))}), a result for each {label} that is a "
            "tensor",
        )


def _check_place(op: ir.Operation) -> None:
    """Check that a terminator ends a region of a fitting op, and the layout of its operands."""
    parent = _parent(op)
    where = "no op" if parent is None else parent.name
    is_set = op.name == "gml_st.set_yield"
    ends = ("gml_st.for", "gml_st.parallel") if is_set else ("gml_st.loop", *YIELDS)
    if where not in ends:
        raise ArgumentError(f"the terminator ends a region of {where}", expected=" or ".join(ends))
    view = YieldView.of(op)
    if where in YIELDS and (view.sets or view.combiner is not None):
        raise ArgumentError(
            "the terminator ends an accumulator region",
            expected="the combined values, and nothing else",
        )


def _check_yielded(view: YieldView, destinations: Sequence[ir.Value]) -> None:
    if view.sets and len(view.sets) != len(view.sources):
        raise ArityError(
            f"the terminator yields {counted(len(view.sources), 'value')} to "
            f"{counted(len(view.sets), 'subset')}",
            expected="a subset for each value, or none at all",
        )
    for position, (value, output) in enumerate(zip(view.sources, destinations, strict=True)):
        if not view.sets and value.type != output.type:
            raise DTypeError(
                f"expected yield operand {position} with type = '{value.type}' to match output arg "
                f"type = '{output.type}'"
            )


def _check_destinations(view: YieldView, loop: LoopView) -> None:
    if loop.op.name == "gml_st.parallel":
        for position, destination in enumerate(view.destinations):
            if is_defined_inside(destination, loop.body):
                raise ArgumentError(
                    f"destination {position}, {called(destination)}, is made inside the loop",
                    expected="a tensor or memref from outside, which all iterations write to",
                )
        return
    if len(view.destinations) != len(loop.region_outs):
        raise ArityError(
            f"the terminator yields to {counted(len(view.destinations), 'destination')}",
            expected=f"one for each of the {counted(len(loop.region_outs), 'output')} of the loop",
        )
    for position, (destination, output) in enumerate(
        zip(view.destinations, loop.region_outs, strict=True)
    ):
        if destination != output:
            raise ArgumentError(
                f"expected output block argument {position} to match set_yield destination",
                hint=f"write to {called(output)} that is the body of the loop",
            )


def _check_value(position: int, value: ir.Value, set_: ir.Value, destination: ir.Value) -> None:
    _check_set_of(set_, destination, f"destination {position}")
    if not is_element(set_.type) and 0 in _moving_strides(set_):
        raise ArgumentError(
            f"set {position} has a stride of 0: it is one element many times, and one value "
            "can be kept",
            hint="yield to a gml_st.point",
        )
    expected = materialized_type(destination.type, set_)
    if value.type == expected or is_view_of(value.type, expected):
        return
    # Memory that is copied may have any strides.
    are_memrefs = isinstance(expected, ir.MemRefType) and isinstance(value.type, ir.MemRefType)
    if are_memrefs and container_shape(value.type) == container_shape(expected):
        return
    raise DTypeError(
        f"value {position} is of type {value.type}, and set {position} is of {set_.type}",
        expected=str(expected),
    )


def _moving_strides(set_: ir.Value) -> list[int | None]:
    """The strides of a set along the dimensions in which it may have more than one element."""
    sizes = subset_shape(set_.type).sizes
    strides = composed_strides(set_)
    return [stride for stride, size in zip(strides, sizes, strict=True) if size not in (0, 1)]


def _check_accumulators(view: YieldView) -> None:
    combined = [value for value, flag in zip(view.sources, view.accumulated, strict=True) if flag]
    if view.combiner is None:
        return
    arguments = [argument.type for argument in view.combiner.arguments]
    if not combined:
        raise ArgumentError(
            "the accumulator region is not empty, and no value is accumulated",
            hint="mark accumulated values in accumulator_flags, or leave the region empty",
        )
    if arguments != [value.type for value in combined for _ in range(2)]:
        types = ", then ".join(f"2 arguments of type '{value.type}'" for value in combined)
        raise DTypeError(
            f"expected accumulator region to have {types}",
            hint="for each value that is accumulated, the new one and then the old one",
        )
    last = list(view.combiner.operations)[-1].operation
    results = list(YieldView.of(last).sources) if last.name == "gml_st.yield" else []
    if len(results) != len(combined):
        expected = "a single argument" if len(combined) == 1 else f"{len(combined)} arguments"
        raise ArityError(
            f"expected {expected} for the terminator of accumulator region, got {len(results)}"
        )
    for position, (result, value) in enumerate(zip(results, combined, strict=True)):
        if result.type != value.type:
            raise DTypeError(
                f"the accumulator region yields {result.type} as value {position}",
                expected=str(value.type),
            )


def _check_overlaps(view: YieldView, loop: LoopView) -> None:
    """Refuse unordered iterations that are known to write the same elements."""
    ivs = loop.ivs
    parallel = [dim for dim, kind in enumerate(loop.iterator_types) if kind == PARALLEL]
    for position, set_ in enumerate(view.sets):
        if view.accumulated[position]:
            continue
        if not is_element(set_.type) and not all(subset_shape(set_.type).sizes):
            continue  # it may be empty
        depends = dependences(set_, ivs)
        for dim in parallel:
            count = _trip_count(loop, dim)
            if count is None or count < 2:
                continue
            if dim not in depends:
                raise ArgumentError(
                    f"set {position} is the same in all {count} iterations of the parallel "
                    f"iterator {dim}, which write to it in no order",
                    hint="accumulate the values they write, or make the iterator sequential",
                )
            step = static(loop.step[dim])
            if step is not None and _steps_into_itself(set_, ivs, dim, step):
                raise ArgumentError(
                    f"set {position} is longer than the step {step} of the parallel iterator "
                    f"{dim}: iterations write the same elements in no order",
                    hint="accumulate the values they write, or take tiles of the size of the step",
                )


def _trip_count(view: LoopView, dim: int) -> int | None:
    """Return the trip count of an iterator; None where its bounds or its step are not known."""
    lower, upper, step = (static(bound[dim]) for bound in (view.lower, view.upper, view.step))
    if lower is None or upper is None or step is None:
        return None
    return max(0, -((lower - upper) // step))


def _steps_into_itself(set_: ir.Value, ivs: Sequence[ir.Value], dim: int, step: int) -> bool:
    """Return whether a tile begins at an induction variable, and the next one begins inside it."""
    op = producer(set_)
    if op is None or op.name != "gml_st.tile":
        return False
    tile = TileView.of(op)
    if not is_whole(tile.superset):
        return False
    moving = [
        axis
        for axis, numbers in enumerate(zip(tile.offsets, tile.sizes, tile.strides, strict=True))
        if any(isinstance(n, ir.Value) and dim in dependences(n, ivs) for n in numbers)
    ]
    if len(moving) != 1 or tile.offsets[moving[0]] != ivs[dim]:
        return False
    size, stride = static(tile.sizes[moving[0]]), static(tile.strides[moving[0]])
    return size is not None and stride == 1 and size > step


def _parent(op: ir.Operation) -> ir.Operation | None:
    parent = op.parent
    return None if parent is None else parent.operation


_CHECKS: Mapping[str, Callable[[ir.Operation], None]] = MappingProxyType(
    {
        "gml_st.space": _check_space,
        "gml_st.full": _check_full,
        "gml_st.tile": _check_tile,
        "gml_st.filter": _check_filter,
        "gml_st.point": _check_point,
        "gml_st.drop_dims": _check_drop_dims,
        "gml_st.transpose_dims": _check_transpose_dims,
        **dict.fromkeys(QUERIES, _check_query),
        "gml_st.intersection": _check_box,
        "gml_st.convex_union": _check_box,
        "gml_st.difference": _check_difference,
        "gml_st.contains": _check_contains,
        "gml_st.is_empty": _check_is_empty,
        "gml_st.materialize": _check_materialize,
        **dict.fromkeys(LOOPS, _check_loop),
        **dict.fromkeys(YIELDS, _check_place),
    }
)
