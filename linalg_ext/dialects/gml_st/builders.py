"""Builders of sets and loops at the current insertion point: `gml_st.tile(x, [i, 0], [4, n])`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from linalg_ext.bindings import arith, ir
from linalg_ext.dialects.gml_st import definitions
from linalg_ext.dialects.gml_st.ir.checks import check_op, check_terminator
from linalg_ext.dialects.gml_st.ir.op_views import (
    ACCUMULATOR_FLAGS,
    DISTRIBUTION,
    INPUT_SLOTS,
    ITERATOR_TYPES,
    OUTPUT_SLOTS,
    PARALLEL,
    PERMUTATION,
    REMAINING_DIMS,
    STATIC_INDICES,
    YieldView,
)
from linalg_ext.dialects.gml_st.ir.types import (
    SubsetShape,
    box_shape,
    container_shape,
    element_set_type,
    is_element,
    kept_dims,
    materialized_type,
    sizes_in_type,
    subset_shape,
    subset_type,
)
from linalg_ext.errors import (
    ArgumentError,
    ArgumentTypeError,
    ArityError,
    caller_location,
    counted,
)
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.structured.mixed import (
    STATIC_OFFSETS,
    STATIC_SIZES,
    STATIC_STRIDES,
    Index,
    mixed_attribute,
)
from linalg_ext.structured.operands import as_values, erased_on_error

Given: TypeAlias = ir.Value | ir.OpView
"""A value, or an op that has one result."""

Number: TypeAlias = int | Given
"""A number, or an index that is known when the program runs."""


def value_of(op: str, operand: Given) -> ir.Value:
    """A value, or the one result of an op; its context has the dialect then.

    Raises:
        DTypeError: it is neither.
    """
    (value,) = as_values(op, [operand])
    ensure_dialects(value.context)
    return value


def numbers_of(op: str, entries: Sequence[Number]) -> list[Index]:
    """Numbers, and values of type index.

    Raises:
        ArgumentTypeError: it is not a list, or one is something else; `op` is the op that takes it.
        ArgumentError: a number is none of 64 bits.
    """
    if not isinstance(entries, Iterable):
        raise ArgumentTypeError(
            f"{op}: {entries} is not a list of numbers", expected="a list, as in [0, i]"
        )
    numbers: list[Index] = []
    for position, entry in enumerate(entries):
        if isinstance(entry, ir.Value | ir.OpView):
            value = value_of(op, entry)
            if not isinstance(value.type, ir.IndexType):
                raise ArgumentTypeError(
                    f"{op}: number {position} is of type {value.type}",
                    expected="an int, or an index",
                )
            numbers.append(value)
        elif hasattr(entry, "__index__"):
            if not -(1 << 63) < (number := int(entry)) < 1 << 63:
                raise ArgumentError(
                    f"{op}: number {position} is {number}", expected="a number of 64 bits"
                )
            numbers.append(number)
        else:
            raise ArgumentTypeError(
                f"{op}: number {position} is {entry!r}", expected="an int, or an index of MLIR"
            )
    return numbers


def index_values(op: str, numbers: Sequence[Number]) -> list[ir.Value]:
    """The same as values: numbers as constants at the current insertion point."""
    index = ir.IndexType.get()
    return [
        arith.ConstantOp(index, number).result if isinstance(number, int) else number
        for number in numbers_of(op, numbers)
    ]


def built(op: ir.OpView, attributes: Mapping[str, ir.Attribute] | None = None) -> ir.Value:
    """The one result of a new op once it has its attributes and keeps its rules.

    Raises:
        ArgumentError: it does not; then it is gone again.
    """
    for name, attribute in (attributes or {}).items():
        op.operation.attributes[name] = attribute
    checked(op)
    return op.operation.results[0]


def checked(op: ir.OpView) -> None:
    """Check a new op, and erase it where it breaks a rule.

    Raises:
        ArgumentError: it does; names it.
    """
    with erased_on_error(op.operation, op.operation.name):
        check_op(op.operation)


def space(sizes: Sequence[Number]) -> ir.Value:
    """Build `gml_st.space`: an index space of these sizes, the root of sets of no tensor."""
    numbers = numbers_of("space", sizes)
    op = definitions.SpaceOp(
        _values(numbers), result=subset_type(SubsetShape(sizes_in_type(numbers)))
    )
    return built(op, {STATIC_SIZES: mixed_attribute(numbers)})


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
        superset: the set that it is a part of.
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
    return built(op, dict(zip(names, map(mixed_attribute, numbers), strict=True)))


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
    return built(op, {STATIC_INDICES: mixed_attribute(numbers)})


def drop_dims(set: Given, remaining_dims: Sequence[int]) -> ir.Value:
    """Build `gml_st.drop_dims`: some dimensions of a set, in the space of those alone."""
    dims = _dims_of("drop_dims", remaining_dims)
    op = definitions.DropDimsOp(value_of("drop_dims", set), result=_rearranged(set, dims))
    return built(op, {REMAINING_DIMS: mixed_attribute(dims)})


def transpose_dims(set: Given, permutation: Sequence[int]) -> ir.Value:
    """Build `gml_st.transpose_dims`: dimension i of the result is dimension `permutation[i]`."""
    dims = _dims_of("transpose_dims", permutation)
    op = definitions.TransposeDimsOp(value_of("transpose_dims", set), result=_rearranged(set, dims))
    return built(op, {PERMUTATION: mixed_attribute(dims)})


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
    left, right = (value_of("difference", operand) for operand in (first, second))
    box = box_shape(left.type, right.type)
    op = definitions.DifferenceOp(left, right, boxes=[subset_type(box)] * (2 * box.rank))
    checked(op)
    return tuple(op.operation.results)


def contains(first: Given, second: Given) -> ir.Value:
    """Build `gml_st.contains`: an i1, whether all of the second set is in the first."""
    left, right = (value_of("contains", operand) for operand in (first, second))
    return built(definitions.ContainsOp(left, right, result=ir.IntegerType.get_signless(1)))


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


def _dims_of(op: str, entries: Sequence[int]) -> list[int]:
    dims: list[int] = []
    for position, dim in enumerate(numbers_of(op, entries)):
        if not isinstance(dim, int):
            raise ArgumentTypeError(
                f"{op}: dimension {position} is a value", expected="an int: types tell dimensions"
            )
        dims.append(dim)
    return dims


def _query(op: Any, set: Given, dim: Number) -> ir.Value:
    value = value_of(op.OPERATION_NAME, set)
    (where,) = index_values(op.OPERATION_NAME, [dim])
    return built(op(value, where, result=ir.IndexType.get()))


def _box(op: Any, first: Given, second: Given) -> ir.Value:
    left, right = (value_of(op.OPERATION_NAME, operand) for operand in (first, second))
    return built(op(left, right, result=subset_type(box_shape(left.type, right.type))))


def _rearranged(set: Given, dims: Sequence[int]) -> ir.Type:
    type_ = value_of("set", set).type
    if is_element(type_):
        return type_
    shape = subset_shape(type_)
    # A dimension that does not exist is the verifier's to refuse.
    existing = [dim for dim in dims if 0 <= dim < shape.rank]
    return subset_type(kept_dims(shape, existing))


def _values(numbers: Sequence[Index]) -> list[ir.Value]:
    return [number for number in numbers if not isinstance(number, int)]


Bounds: TypeAlias = tuple[list[ir.Value], list[ir.Value], list[ir.Value]]

Combine: TypeAlias = Callable[[ir.Value, ir.Value], Given]
"""`combine(new, old)` builds the combination of a value with its destination's."""


@dataclass
class BuiltLoop:
    """A loop under construction, and its results when it is done.

    Attributes:
        ivs: the induction variables.
        ins, outs: the arguments of the body for the inputs and the outputs.
        results: one for each output that is a tensor; known after the `with`.
    """

    ivs: tuple[ir.Value, ...]
    ins: tuple[ir.Value, ...] = ()
    outs: tuple[ir.Value, ...] = ()
    results: tuple[ir.Value, ...] = ()


@contextmanager
def loop(
    lower: Sequence[Number],
    upper: Sequence[Number],
    step: Sequence[Number],
    *,
    ins: Sequence[Given] = (),
    outs: Sequence[Given] = (),
    iterators: Sequence[str] | None = None,
    distribution: Sequence[str] = (),
) -> Iterator[BuiltLoop]:
    """Build `gml_st.loop`; its body ends with `yield_`.

    Args:
        lower, upper, step: the bounds of each iterator, the upper one not included.
        ins: the values that the body reads, tensors, memrefs or scalars, 16 at most.
        outs: the destinations, tensors or memrefs, 8 at most.
        iterators: `"parallel"`, `"reduction"` or `"sequential"` each; all parallel where left out.
        distribution: the unit that runs each iterator, as `"block"` or `"thread"`; a note for
            others.

    Raises:
        ArgumentError: the loop breaks a rule; nothing of it is left then.
    """
    bounds = _bounds(lower, upper, step)
    rank = len(bounds[0])
    attributes = {ITERATOR_TYPES: _texts([PARALLEL] * rank if iterators is None else iterators)}
    if distribution:
        attributes[DISTRIBUTION] = _texts(distribution)
    inputs = _slot_values("loop", ins, INPUT_SLOTS)
    outputs = _slot_values("loop", outs, OUTPUT_SLOTS)
    op = definitions.LoopOp(
        *bounds, **_slots("in", inputs), **_slots("out", outputs), **_result_slots(outputs)
    )
    types = [*_indices(rank), *(value.type for value in (*inputs, *outputs))]
    with _open(op, types) as arguments:
        first_out = rank + len(inputs)
        built_loop = BuiltLoop(arguments[:rank], arguments[rank:first_out], arguments[first_out:])
        yield built_loop
    built_loop.results = _closed(op, attributes)


@contextmanager
def for_(
    lower: Sequence[Number],
    upper: Sequence[Number],
    step: Sequence[Number],
    *,
    outs: Sequence[Given],
) -> Iterator[BuiltLoop]:
    """Build `gml_st.for`; its body ends with `set_yield` into `loop.outs`.

    Args:
        lower, upper, step, outs: as of `loop`.

    Raises:
        ArgumentError: the loop breaks a rule; nothing of it is left then.
    """
    outputs = _slot_values("for", outs, OUTPUT_SLOTS)
    bounds = _bounds(lower, upper, step)
    rank = len(bounds[0])
    op = definitions.ForOp(*bounds, **_slots("out", outputs), **_result_slots(outputs))
    with _open(op, [*_indices(rank), *(value.type for value in outputs)]) as arguments:
        built_loop = BuiltLoop(arguments[:rank], outs=arguments[rank:])
        yield built_loop
    built_loop.results = _closed(op, {})


@contextmanager
def parallel(
    lower: Sequence[Number],
    upper: Sequence[Number],
    step: Sequence[Number],
    *,
    distribution: Sequence[str] = (),
) -> Iterator[BuiltLoop]:
    """Build `gml_st.parallel`; its body ends with `set_yield`, which names its destinations.

    Args:
        lower, upper, step, distribution: as of `loop`.

    Raises:
        ArgumentError: the loop breaks a rule; nothing of it is left then.
    """
    bounds = _bounds(lower, upper, step)
    unfinished = definitions.ParallelOp(*bounds)
    with _open(unfinished, _indices(len(bounds[0]))) as arguments:
        built_loop = BuiltLoop(arguments)
        yield built_loop
    op = _with_results(unfinished, bounds)
    built_loop.results = _closed(op, {DISTRIBUTION: _texts(distribution)} if distribution else {})


def yield_(
    values: Sequence[Given] = (),
    *,
    to: Sequence[Given] = (),
    accumulate: Combine | Sequence[Combine | None] | None = None,
) -> None:
    """Build `gml_st.yield`, which ends the body of a `loop`.

    Args:
        values: the results of an iteration, one for each output.
        to: the subset of the output that each is; left out, the values are whole outputs.
        accumulate: how values are combined with the destination's; for each value where it is a
            list, None among them for a value that replaces.
    """
    sources = _slot_values("yield", values, OUTPUT_SLOTS)
    subsets = _slot_values("yield", to, OUTPUT_SLOTS)
    combines = _combines(accumulate, len(sources))
    op = definitions.YieldOp(**_slots("value", sources), **_slots("subset", subsets))
    _accumulate(op, sources, combines)


def set_yield(
    sources: Sequence[Given],
    *,
    into: Sequence[Given],
    at: Sequence[Given],
    accumulate: Combine | Sequence[Combine | None] | None = None,
) -> None:
    """Build `gml_st.set_yield`, which ends the body of a `for_` or of a `parallel`.

    Args:
        sources: the results of an iteration.
        into: the tensor or memref that each goes into: of a `for_`, its `loop.outs`.
        at: the set of it that each goes to.
        accumulate: as of `yield_`.
    """
    values, destinations, sets = (
        _slot_values("set_yield", operands, OUTPUT_SLOTS) for operands in (sources, into, at)
    )
    combines = _combines(accumulate, len(values))
    op = definitions.SetYieldOp(
        **_slots("source", values), **_slots("destination", destinations), **_slots("set", sets)
    )
    _accumulate(op, values, combines)


def _combines(
    accumulate: Combine | Sequence[Combine | None] | None, count: int
) -> list[Combine | None]:
    """Return the combiner of each of `count` values; an empty list where none is given."""
    if accumulate is None:
        return []
    combines: list[Combine | None]
    combines = list(accumulate) if isinstance(accumulate, Sequence) else [accumulate] * count
    if len(combines) != count:
        raise ArityError(
            f"{len(combines)} accumulators are given for {counted(count, 'value')}",
            expected="one for each, None for a value that replaces",
        )
    for combine in combines:
        if combine is not None and not callable(combine):
            raise ArgumentTypeError(
                f"accumulate: {combine!r} is not a function",
                expected="a function of (new, old), or None for a value that replaces",
            )
    return combines


def _accumulate(
    op: ir.OpView, values: Sequence[ir.Value], combines: Sequence[Combine | None]
) -> None:
    if not combines:
        return
    flags = [combine is not None for combine in combines]
    op.operation.attributes[ACCUMULATOR_FLAGS] = ir.DenseBoolArrayAttr.get(flags)
    if not any(flags):
        return
    combined = [value for value, flag in zip(values, flags, strict=True) if flag]
    types = [value.type for value in combined for _ in range(2)]
    block = op.operation.regions[0].blocks.append(*types)
    arguments = iter(block.arguments)
    with ir.InsertionPoint(block):
        results = [
            value_of("accumulate", combine(next(arguments), next(arguments)))
            for combine in combines
            if combine is not None
        ]
        definitions.YieldOp(**_slots("value", results))


@contextmanager
def _open(op: ir.OpView, types: Sequence[ir.Type]) -> Iterator[tuple[ir.Value, ...]]:
    """The body of a new loop as the insertion point; nothing is left of it after an exception."""
    try:
        block = op.operation.regions[0].blocks.append(*types)
        with ir.InsertionPoint(block):
            yield tuple(block.arguments)
        if not len(block.operations):
            raise ArgumentError(
                f"{op.operation.name}: the body is empty",
                hint="end it with gml_st.yield_(...) or gml_st.set_yield(...)",
            )
    except BaseException as error:
        ended = isinstance(error, IndexError) and _BEHIND_THE_END in str(error)
        name = op.operation.name
        op.operation.erase()
        if ended:
            raise ArgumentError(
                f"{name}: an op is built behind the yield that ends its body",
                where=caller_location(),
                hint="build it before gml_st.yield_(...) or gml_st.set_yield(...), or after the "
                "`with`",
            ) from error
        raise


_BEHIND_THE_END = "already has a terminator"
"""A part of upstream's message for an op behind the terminator of a block."""


def _closed(op: ir.OpView, attributes: dict[str, ir.Attribute]) -> tuple[ir.Value, ...]:
    """Set the attributes of a loop, check the loop and its terminator, and return the results."""
    for name, attribute in attributes.items():
        op.operation.attributes[name] = attribute
    checked(op)
    last = _last(op)
    with erased_on_error(op.operation, last.name):
        check_terminator(last)
    return tuple(op.operation.results)


def _with_results(op: ir.OpView, bounds: Bounds) -> ir.OpView:
    """A `gml_st.parallel` once more, with results for the destinations of its `set_yield`."""
    last = _last(op)
    written: Sequence[ir.Value] = ()
    if last.name == "gml_st.set_yield":
        with erased_on_error(op.operation, last.name):
            written = YieldView.of(last).destinations
    with ir.InsertionPoint(op), op.operation.location:
        finished = definitions.ParallelOp(*bounds, **_result_slots(written))
    op.operation.regions[0].blocks[0].append_to(finished.operation.regions[0])
    op.operation.erase()
    return finished


def _last(loop: ir.OpView) -> ir.Operation:
    return list(loop.operation.regions[0].blocks[0].operations)[-1].operation


def _bounds(lower: Sequence[Number], upper: Sequence[Number], step: Sequence[Number]) -> Bounds:
    return index_values("lower", lower), index_values("upper", upper), index_values("step", step)


def _slot_values(op: str, values: Sequence[Given], slots: int) -> list[ir.Value]:
    if not isinstance(values, Sequence):
        raise ArgumentTypeError(f"{op}: {values} is not a list", expected="a list of values")
    if len(values) > slots:
        raise ArityError(f"{op} is given {len(values)} values", expected=f"{slots} at most")
    return [value_of(op, value) for value in values]


def _slots(name: str, values: Sequence[ir.Value]) -> dict[str, ir.Value]:
    return {f"{name}{position}": value for position, value in enumerate(values)}


def _result_slots(outputs: Sequence[ir.Value]) -> dict[str, ir.Type]:
    tensors = [value.type for value in outputs if not isinstance(value.type, ir.MemRefType)]
    return {f"result{position}": type_ for position, type_ in enumerate(tensors)}


def _texts(words: Sequence[str]) -> ir.Attribute:
    is_list = isinstance(words, Sequence) and not isinstance(words, str)
    if not is_list or not all(isinstance(word, str) for word in words):
        raise ArgumentTypeError(
            f"{words!r} is not a list of texts", expected='a list, as in ["parallel"]'
        )
    return ir.ArrayAttr.get([ir.StringAttr.get(word) for word in words])


def _indices(count: int) -> list[ir.Type]:
    return [ir.IndexType.get()] * count
