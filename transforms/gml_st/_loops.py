"""Loops of `gml_st`: the tensors that they cover, and loops with other iterators or operands."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext import gml_st
from linalg_ext.bindings import ir, memref, tensor
from linalg_ext.gml_st.ir.loop_views import (
    LOOP_VIEWS,
    AnyLoop,
    ForView,
    LoopView,
    ParallelView,
    SetYieldView,
    YieldView,
)
from linalg_ext.gml_st.ir.op_views import (
    ACCUMULATOR_FLAGS,
    DISTRIBUTION,
    INPUT_SLOTS,
    ITERATOR_TYPES,
    OUTPUT_SLOTS,
    RESULT_SEGMENTS,
)
from linalg_ext.gml_st.rules import Unserved
from linalg_ext.structured.indices.mixed import OPERAND_SEGMENTS
from linalg_ext.structured.indices.sizes import as_number, sizes_of
from linalg_ext.structured.utils.values import producer
from linalg_ext.symbolic.index_sets import Point, Tile, as_tile
from linalg_ext.symbolic.integers import Number, is_eq, minimum, symbols_of
from linalg_ext.transforms.gml_st._nest import move_here, rename


def view_of(op: ir.Operation) -> AnyLoop:
    """The view of a loop."""
    return LOOP_VIEWS[op.name](op)


def covered_by(loop: AnyLoop, part: Tile | Point, tensor: ir.Value) -> frozenset[int] | None:
    """The iterators that move a part over all of a tensor; None where it may leave a gap.

    The tile is one whose offset is the induction variable along some dimensions, and all of the
    tensor along the others, as tiling makes it.
    """
    tile = as_tile(part)
    places = {iv: at for at, iv in enumerate(loop.ivs)}
    moved: set[int] = set()
    for dim, whole in enumerate(sizes_of(tensor)):
        offset, size, stride = tile.offset(dim), tile.size(dim), tile.stride(dim)
        if is_eq(stride, 1) is not True:
            return None
        if is_eq(offset, 0) is True and is_eq(size, whole) is True:
            continue
        at = _mover(offset, places)
        if at is None or at in moved or not _is_stepped(loop, at, offset, size, whole):
            return None
        moved.add(at)
    return frozenset(moved)


def moves(loop: AnyLoop) -> frozenset[int]:
    """The iterators that may take more than one step."""
    return frozenset(at for at in range(loop.rank) if is_eq(_trip_end(loop, at), 0) is not True)


def _trip_end(loop: AnyLoop, at: int) -> Number:
    """0 where the iterator takes one step: its upper bound less one less its lower, in steps."""
    lower, upper, step = (as_number(each[at]) for each in (loop.lower, loop.upper, loop.step))
    length = upper - lower - 1
    if isinstance(step, int) and isinstance(length, int):
        return max(0, length // step) if step > 0 else 1
    return 1


def depends_on(loop: AnyLoop, part: Tile | Point) -> frozenset[int]:
    """The iterators that a part moves with."""
    tile = as_tile(part)
    numbers = (*tile.offsets, *tile.sizes, *tile.strides)
    keys = {symbol.key for number in numbers for symbol in symbols_of(number)}
    return frozenset(at for at, iv in enumerate(loop.ivs) if iv in keys)


def _mover(offset: Number, places: dict[ir.Value, int]) -> int | None:
    """The iterator whose induction variable a number is."""
    found = list(symbols_of(offset))
    if len(found) != 1 or found[0].number != offset:
        return None
    key = found[0].key
    return places.get(key) if isinstance(key, ir.Value) else None


def _is_stepped(loop: AnyLoop, at: int, offset: Number, size: Number, whole: Number) -> bool:
    """Return whether tiles stand side by side from the beginning to the end."""
    lower, upper, step = (as_number(each[at]) for each in (loop.lower, loop.upper, loop.step))
    ends = is_eq(lower, 0) is True and is_eq(upper, whole) is True
    return ends and is_eq(size, minimum(step, whole - offset)) is True


def without_unused_inputs(op: ir.Operation) -> ir.Operation:
    """The same `gml_st.loop` without the inputs that its body does not use."""
    view = LoopView.of(op)
    used = [any(True for _ in argument.uses) for argument in view.region_ins]
    if all(used):
        return op
    kept = [value for value, is_used in zip(view.ins, used, strict=True) if is_used]
    for at in reversed(range(len(used))):
        if not used[at]:
            view.body.erase_argument(view.rank + at)
    return _with_operands(op, kept, list(view.outs))


def with_output(
    op: ir.Operation, destination: ir.Value, value: ir.Value, set_: ir.Value
) -> ir.Operation:
    """The same loop with one more output: a value of its body, for a set of a tensor.

    Args:
        op: a loop.
        destination: the tensor; `set_` is of it.
        value: what an iteration gives; the loop's body computes it.
        set_: where it goes; in a loop with output arguments its superset becomes the new one.
    """
    view = view_of(op)
    terminator = view.terminator
    target = destination
    if op.name != "gml_st.parallel":
        target = view.body.add_argument(destination.type, op.location)
        if (owner := producer(set_)) is not None:
            owner.operands[0] = target
    if isinstance(terminator, YieldView):
        groups = [[*terminator.values, value], [*terminator.subsets, set_]]
    else:
        groups = [
            [*terminator.sources, value],
            [*terminator.destinations, target],
            [*terminator.sets, set_],
        ]
    _replace(terminator, groups)
    outs = [] if isinstance(view, ParallelView) else [*view.outs, destination]
    ins = list(view.ins) if isinstance(view, LoopView) else []
    return _with_operands(op, ins, outs, [*(r.type for r in op.results), destination.type])


def has_room(op: ir.Operation) -> bool:
    """Return whether a loop can have one more output."""
    return len(op.results) < OUTPUT_SLOTS


def with_bounds(
    op: ir.Operation,
    lower: Sequence[ir.Value],
    upper: Sequence[ir.Value],
    outs: Sequence[ir.Value],
) -> ir.Operation:
    """The same loop over another range, with other values that its outputs begin with.

    The outputs of a `gml_st.parallel` are what its terminator names: they stay.
    """
    view = view_of(op)
    ins = list(view.ins) if isinstance(view, LoopView) else []
    return _with_operands(op, ins, outs, bounds=(lower, upper))


def with_destinations(terminator: SetYieldView, destinations: Sequence[ir.Value]) -> None:
    """Let what ends a `gml_st.parallel` write to other tensors, at the same places of these.

    Raises:
        Unserved: a set is no plain part of its destination.
    """
    sets = [_of(set_, to) for set_, to in zip(terminator.sets, destinations, strict=True)]
    _replace(terminator, [list(terminator.sources), list(destinations), sets])


def _of(set_: ir.Value, root: ir.Value) -> ir.Value:
    """The same part of another tensor."""
    op = producer(set_)
    if op is None or op.name not in ("gml_st.full", "gml_st.tile", "gml_st.point"):
        raise Unserved("a set of its outputs is no tile, point or whole")
    if not isinstance(op.operands[0].type, ir.RankedTensorType):
        raise Unserved("a set of its outputs is a part of a part")
    with ir.InsertionPoint(op):
        new = op.clone().operation
    new.operands[0] = root
    value: ir.Value = new.results[0]
    return value


def _replace(terminator: YieldView | SetYieldView, groups: Sequence[Sequence[ir.Value]]) -> None:
    op = terminator.op
    attributes = dict(op.attributes.items())
    attributes[OPERAND_SEGMENTS] = ir.DenseI32ArrayAttr.get(
        [each for group in groups for each in _ones(group)]
    )
    if any(terminator.accumulated):
        added = len(groups[0]) - len(terminator.accumulated)
        flags = [*terminator.accumulated, *[False] * added]
        attributes[ACCUMULATOR_FLAGS] = ir.DenseBoolArrayAttr.get(flags)
    with op.location, ir.InsertionPoint(op):
        new = ir.Operation.create(
            op.name,
            results=[],
            operands=[each for group in groups for each in group],
            attributes=attributes,
            regions=1,
        )
    for block in list(op.regions[0].blocks):
        block.append_to(new.regions[0])
    op.erase()


def _with_operands(
    op: ir.Operation,
    ins: Sequence[ir.Value],
    outs: Sequence[ir.Value],
    types: Sequence[ir.Type] | None = None,
    bounds: tuple[Sequence[ir.Value], Sequence[ir.Value]] | None = None,
) -> ir.Operation:
    """The loop with other inputs, outputs, results or bounds; its body moves over."""
    view = view_of(op)
    lower, upper = (view.lower, view.upper) if bounds is None else bounds
    types = [result.type for result in op.results] if types is None else list(types)
    counts = [len(lower), len(upper), len(view.step)]
    if op.name == "gml_st.loop":
        counts += _ones(ins, INPUT_SLOTS)
    if op.name != "gml_st.parallel":
        counts += _ones(outs)
    attributes = dict(op.attributes.items())
    attributes[OPERAND_SEGMENTS] = ir.DenseI32ArrayAttr.get(counts)
    attributes[RESULT_SEGMENTS] = ir.DenseI32ArrayAttr.get(_ones(types))
    operands = [*lower, *upper, *view.step, *ins]
    operands += [] if op.name == "gml_st.parallel" else list(outs)
    with op.location, ir.InsertionPoint(op):
        new = ir.Operation.create(
            op.name, results=list(types), operands=operands, attributes=attributes, regions=1
        )
    view.body.append_to(new.regions[0])
    for old, result in zip(op.results, new.results, strict=False):
        old.replace_all_uses_with(result)
    op.erase()
    return new


def _ones(group: Sequence[object], slots: int = OUTPUT_SLOTS) -> list[int]:
    return [1] * len(group) + [0] * (slots - len(group))


Kept = Sequence[tuple[int, ir.Value]]
"""Inputs or outputs that stay: their positions, and the values that are given for them now."""

_OWN = (ITERATOR_TYPES, DISTRIBUTION, OPERAND_SEGMENTS, RESULT_SEGMENTS)


def every(values: Sequence[ir.Value]) -> list[tuple[int, ir.Value]]:
    """All of some inputs or outputs, as they are."""
    return list(enumerate(values))


def rebuilt(
    view: AnyLoop,
    *,
    iterators: Sequence[int] | None = None,
    ins: Kept | None = None,
    outs: Kept | None = None,
) -> tuple[ir.Value, ...]:
    """A loop with its body, before the old one, which is left without; the results of the new one.

    What is left out has no use in the body any more. A value of another type than before is cast
    to that for the body, but not for sets and for what is materialized.

    Args:
        iterators: those that stay; all of them where left out.
        ins, outs: inputs and outputs that stay; all of them where left out.
    """
    kept = range(view.rank) if iterators is None else iterators
    bounds = [[each[at] for at in kept] for each in (view.lower, view.upper, view.step)]
    inputs: Kept = []
    outputs: Kept = []
    if isinstance(view, LoopView):
        inputs = every(view.ins) if ins is None else ins
    if not isinstance(view, ParallelView):
        outputs = every(view.outs) if outs is None else outs
    given, written = ([value for _, value in each] for each in (inputs, outputs))
    names = () if isinstance(view, ForView) else view.distribution
    distribution = [names[at] for at in kept] if names else []
    with ir.InsertionPoint(view.op), view.op.location:
        match view:
            case LoopView():
                kinds = [view.iterator_types[at] for at in kept]
                making = gml_st.loop(
                    *bounds, ins=given, outs=written, iterators=kinds, distribution=distribution
                )
            case ForView():
                making = gml_st.for_(*bounds, outs=written)
            case ParallelView():
                making = gml_st.parallel(*bounds, distribution=distribution)
        with making as loop:
            rename([view.ivs[at] for at in kept], loop.ivs)
            if isinstance(view, LoopView):
                _hand_over([view.region_ins[at] for at, _ in inputs], loop.ins)
            if not isinstance(view, ParallelView):
                _hand_over([view.region_outs[at] for at, _ in outputs], loop.outs)
            move_here([op.operation for op in list(view.body.operations)])
    made = _before(view.op)
    for attribute in view.op.attributes:
        if attribute not in _OWN:
            made.attributes[attribute] = view.op.attributes[attribute]
    return loop.results


def _before(op: ir.Operation) -> ir.Operation:
    """The operation before another one in its block."""
    before = op
    for each in op.block.operations:
        if each.operation == op:
            break
        before = each.operation
    return before


def _hand_over(old: Sequence[ir.Value], new: Sequence[ir.Value]) -> None:
    """Have new arguments of a body used for the old ones."""
    for one, other in zip(old, new, strict=True):
        if one.type == other.type:
            one.replace_all_uses_with(other)
            continue
        for use in list(one.uses):
            if use.owner.operation.name in NEEDS_NO_TYPE:
                use.owner.operation.operands[use.operand_number] = other
        if any(True for _ in one.uses):
            one.replace_all_uses_with(cast(other, one.type))


NEEDS_NO_TYPE = (
    *("gml_st.tile", "gml_st.point", "gml_st.materialize", "gml_st.set_yield"),
    *("tensor.dim", "memref.dim"),
)
"""The ops that take a tensor or memref of any sizes, and give the same."""


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """A tensor or memref as another type of the same elements."""
    if value.type == type_:
        return value
    kind = tensor.CastOp if isinstance(type_, ir.RankedTensorType) else memref.CastOp
    made: ir.Value = kind(type_, value).result
    return made
