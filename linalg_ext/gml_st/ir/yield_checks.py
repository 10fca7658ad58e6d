"""The rules of what ends the bodies of the loops of `gml_st`, and of how they accumulate."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError, DTypeError
from linalg_ext.gml_st.ir.inference import composed_strides, is_view_of, materialized_type, static
from linalg_ext.gml_st.ir.loop_checks import trip_count
from linalg_ext.gml_st.ir.loop_views import ForView, LoopView, ParallelView, SetYieldView, YieldView
from linalg_ext.gml_st.ir.op_views import PARALLEL, YIELDS, TileView
from linalg_ext.gml_st.ir.roots import called, dependences, is_defined_inside, root_of
from linalg_ext.gml_st.ir.set_checks import check_set_of
from linalg_ext.gml_st.ir.types import is_container, is_element, subset_shape
from linalg_ext.structured.operands import producer


def check_place(op: ir.Operation) -> None:
    """Check that a terminator ends a region of a fitting op, and the layout of its operands."""
    parent = _parent(op)
    where = "no op" if parent is None else parent.name
    ends = ("gml_st.loop", *YIELDS) if op.name == "gml_st.yield" else _ENDED_BY_SET_YIELD
    if where not in ends:
        raise ArgumentError(f"the terminator ends a region of {where}", expected=" or ".join(ends))
    if op.name == "gml_st.set_yield":
        SetYieldView.of(op)
        return
    view = YieldView.of(op)
    if where in YIELDS and (view.subsets or view.combiner is not None):
        raise ArgumentError(
            "the terminator ends an accumulator region",
            expected="the combined values, and nothing else",
        )


_ENDED_BY_SET_YIELD = ("gml_st.for", "gml_st.parallel")


def check_terminator(op: ir.Operation) -> None:
    """Each value fits the subset and the output that it goes to, and its accumulator."""
    parent = _parent(op)
    if parent is None or parent.name in YIELDS:
        return
    if parent.name == "gml_st.loop":
        _check_yield(YieldView.of(op), LoopView.of(parent))
    elif parent.name == "gml_st.for":
        _check_set_yield_of_for(SetYieldView.of(op), ForView.of(parent))
    else:
        _check_set_yield_of_parallel(SetYieldView.of(op), ParallelView.of(parent))


def yield_destinations(view: YieldView, loop: LoopView) -> tuple[ir.Value, ...]:
    """The output, as an argument of the body, that each value of a yield goes to.

    Values go to the outputs in order: to those that are tensors, or to all of them.

    Raises:
        ArityError: there are more or fewer values.
    """
    tensors = tuple(o for o in loop.region_outs if isinstance(o.type, ir.RankedTensorType))
    count = len(view.values)
    if count == len(tensors):
        return tensors
    if view.subsets and count == len(loop.region_outs):
        return loop.region_outs
    raise ArityError(
        f"expected number of tensor output args = {len(tensors)} to match the number of yield "
        f"operands = {count}"
    )


def _check_yield(view: YieldView, loop: LoopView) -> None:
    destinations = yield_destinations(view, loop)
    if view.subsets and len(view.subsets) != len(view.values):
        raise ArityError(
            f"the terminator yields {len(view.values)} value(s) to {len(view.subsets)} subset(s)",
            expected="a subset for each value, or none at all",
        )
    for at, (value, output) in enumerate(zip(view.values, destinations, strict=True)):
        if not view.subsets and value.type != output.type:
            raise DTypeError(
                f"expected yield operand {at} with type = '{value.type}' to match output arg "
                f"type = '{output.type}'"
            )
    for at, (value, subset) in enumerate(zip(view.values, view.subsets, strict=False)):
        _check_value(at, value, subset, destinations[at])
        root = root_of(subset)
        if root is not None and is_container(root.type) and root != destinations[at]:
            raise ArgumentError(
                f"subset {at} is one of {called(root)}, and value {at} goes to output "
                f"{loop.region_outs.index(destinations[at])}, {called(destinations[at])}",
                expected="a subset of that argument of the body, or of a gml_st.space",
            )
    _check_accumulators(view, view.values)
    parallel = [at for at, kind in enumerate(loop.iterator_types) if kind == PARALLEL]
    _check_overlaps(view.subsets, view.accumulated, loop, parallel)


def _check_set_yield_of_for(view: SetYieldView, loop: ForView) -> None:
    if len(view.destinations) != len(loop.region_outs):
        raise ArityError(
            f"the terminator yields to {len(view.destinations)} destination(s)",
            expected=f"one for each of the {len(loop.region_outs)} output(s) of the loop",
        )
    for at, (given, output) in enumerate(zip(view.destinations, loop.region_outs, strict=True)):
        if given != output:
            raise ArgumentError(
                f"expected output block argument {at} to match set_yield destination",
                hint=f"write to {called(output)} that is the body of the loop",
            )
    _check_sources(view)


def _check_set_yield_of_parallel(view: SetYieldView, loop: ParallelView) -> None:
    for at, destination in enumerate(view.destinations):
        if is_defined_inside(destination, loop.body):
            raise ArgumentError(
                f"destination {at}, {called(destination)}, is made inside the loop",
                expected="a tensor or memref from outside, which all iterations write to",
            )
    _check_sources(view)
    _check_overlaps(view.sets, view.accumulated, loop, range(loop.rank))


def _check_sources(view: SetYieldView) -> None:
    for at, (source, set_, destination) in enumerate(
        zip(view.sources, view.sets, view.destinations, strict=True)
    ):
        _check_value(at, source, set_, destination)
    _check_accumulators(view, view.sources)


def _check_value(at: int, value: ir.Value, set_: ir.Value, destination: ir.Value) -> None:
    check_set_of(set_, destination, f"destination {at}")
    if not is_element(set_.type) and 0 in _moving_strides(set_):
        raise ArgumentError(
            f"set {at} has a stride of 0: it is one element many times, and one value can be kept",
            hint="yield to a gml_st.point",
        )
    expected = materialized_type(destination.type, set_)
    if value.type == expected or is_view_of(value.type, expected):
        return
    if isinstance(expected, ir.MemRefType) and _is_like(value.type, expected):
        return  # memory that is copied may have any strides
    raise DTypeError(
        f"value {at} is of type {value.type}, and set {at} is of {set_.type}",
        expected=str(expected),
    )


def _moving_strides(set_: ir.Value) -> list[int | None]:
    """The strides of a set along the dimensions in which it may have more than one element."""
    sizes = subset_shape(set_.type).sizes
    strides = composed_strides(set_)
    return [stride for stride, size in zip(strides, sizes, strict=True) if size not in (0, 1)]


def _is_like(type_: ir.Type, memref: ir.MemRefType) -> bool:
    return (
        isinstance(type_, ir.MemRefType)
        and list(type_.shape) == list(memref.shape)
        and type_.element_type == memref.element_type
    )


def _check_accumulators(view: YieldView | SetYieldView, values: Sequence[ir.Value]) -> None:
    combined = [value for value, flag in zip(values, view.accumulated, strict=True) if flag]
    if view.combiner is None:
        return
    arguments = [argument.type for argument in view.combiner.arguments]
    if not combined:
        raise ArgumentError(
            "the accumulator region is not empty, and no value is accumulated",
            hint="say in accumulator_flags what is, or leave the region empty",
        )
    if arguments != [value.type for value in combined for _ in range(2)]:
        types = ", then ".join(f"2 arguments of type '{value.type}'" for value in combined)
        raise DTypeError(
            f"expected accumulator region to have {types}",
            hint="for each value that is accumulated, the new one and then the old one",
        )
    last = list(view.combiner.operations)[-1].operation
    results = list(YieldView.of(last).values) if last.name == "gml_st.yield" else []
    if len(results) != len(combined):
        what = "a single argument" if len(combined) == 1 else f"{len(combined)} arguments"
        raise ArityError(
            f"expected {what} for the terminator of accumulator region, got {len(results)}"
        )
    for at, (result, value) in enumerate(zip(results, combined, strict=True)):
        if result.type != value.type:
            raise DTypeError(
                f"the accumulator region yields {result.type} as value {at}",
                expected=str(value.type),
            )


def _check_overlaps(
    sets: Sequence[ir.Value],
    accumulated: Sequence[bool],
    loop: LoopView | ParallelView,
    parallel: Sequence[int],
) -> None:
    """Refuse unordered iterations that are known to write the same elements."""
    ivs = loop.ivs
    for at, set_ in enumerate(sets):
        if accumulated[at] or _is_maybe_empty(set_):
            continue
        depends = dependences(set_, ivs)
        for dim in parallel:
            count = trip_count(loop, dim)
            if count is None or count < 2:
                continue
            if dim not in depends:
                raise ArgumentError(
                    f"set {at} is the same in all {count} iterations of the parallel iterator "
                    f"{dim}, which write to it in no order",
                    hint="accumulate what they write, or make the iterator sequential",
                )
            step = static(loop.step[dim])
            if step is not None and _steps_into_itself(set_, ivs, dim, step):
                raise ArgumentError(
                    f"set {at} is longer than the step {step} of the parallel iterator {dim}: "
                    "iterations write the same elements in no order",
                    hint="accumulate what they write, or take tiles of the size of the step",
                )


def _is_maybe_empty(set_: ir.Value) -> bool:
    if is_element(set_.type):
        return False
    return not all(subset_shape(set_.type).sizes)


def _steps_into_itself(set_: ir.Value, ivs: Sequence[ir.Value], dim: int, step: int) -> bool:
    """Return whether a tile begins at an induction variable, and the next one begins inside it."""
    op = producer(set_)
    if op is None or op.name != "gml_st.tile":
        return False
    tile = TileView.of(op)
    whole = producer(tile.superset)
    if not is_container(tile.superset.type) and (whole is None or whole.name not in _WHOLES):
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


_WHOLES = ("gml_st.space", "gml_st.full")


def _parent(op: ir.Operation) -> ir.Operation | None:
    parent = op.parent
    return None if parent is None else parent.operation
