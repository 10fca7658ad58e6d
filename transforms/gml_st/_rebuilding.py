"""Loops of `gml_st` once more, with other iterators, inputs or outputs, and the same body."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext import gml_st
from linalg_ext.bindings import ir, memref, tensor
from linalg_ext.gml_st.ir.loop_views import ForView, LoopView, ParallelView
from linalg_ext.gml_st.ir.op_views import DISTRIBUTION, ITERATOR_TYPES, RESULT_SEGMENTS
from linalg_ext.structured.mixed import OPERAND_SEGMENTS

from ._bodies import move_here, rename

AnyLoop = LoopView | ForView | ParallelView

Kept = Sequence[tuple[int, ir.Value]]
"""Inputs or outputs that stay: their positions, and the values that are given for them now."""

_OWN = (ITERATOR_TYPES, DISTRIBUTION, OPERAND_SEGMENTS, RESULT_SEGMENTS)


def view_of(op: ir.Operation) -> AnyLoop:
    """The view of a loop of any kind."""
    match op.name:
        case "gml_st.loop":
            return LoopView.of(op)
        case "gml_st.for":
            return ForView.of(op)
    return ParallelView.of(op)


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
