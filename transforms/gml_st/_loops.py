"""Loops over subsets with more outputs, or fewer inputs, than they had."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.gml_st.ir.loop_views import LoopView, ParallelView, SetYieldView, YieldView
from linalg_ext.gml_st.ir.op_views import (
    ACCUMULATOR_FLAGS,
    INPUT_SLOTS,
    OUTPUT_SLOTS,
    RESULT_SEGMENTS,
)
from linalg_ext.gml_st.rules import Unserved
from linalg_ext.structured.mixed import OPERAND_SEGMENTS
from linalg_ext.structured.operands import producer

from ._covering import view_of


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
    return _rebuilt(op, kept, list(view.outs))


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
    return _rebuilt(op, ins, outs, [*(r.type for r in op.results), destination.type])


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
    return _rebuilt(op, ins, outs, bounds=(lower, upper))


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


def _rebuilt(
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
