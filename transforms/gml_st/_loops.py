"""Loops of `gml_st` with the same body and other iterators, bounds, inputs or outputs."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir, memref, tensor
from linalg_ext.dialects.gml_st.ir.op_views import (
    ACCUMULATOR_FLAGS,
    DISTRIBUTION,
    INPUT_SLOTS,
    ITERATOR_TYPES,
    OUTPUT_SLOTS,
    RESULT_SEGMENTS,
    LoopView,
    YieldView,
)
from linalg_ext.dialects.gml_st.ir.types import static
from linalg_ext.dialects.gml_st.rules import Unserved
from linalg_ext.structured.mixed import OPERAND_SEGMENTS, Index
from linalg_ext.structured.operands import producer
from linalg_ext.transforms.ir_utils.walking import is_unused, replace_op

NumberedValues = Sequence[tuple[int, ir.Value]]
"""Inputs or outputs that stay: their positions, and the values that are given for them now."""


def rebuilt(
    view: LoopView,
    *,
    iterators: Sequence[int] | None = None,
    lower: Sequence[ir.Value] | None = None,
    upper: Sequence[ir.Value] | None = None,
    ins: NumberedValues | None = None,
    outs: NumberedValues | None = None,
) -> ir.Operation:
    """Build a loop with the body of another one before that, which is left without.

    An input that is left out has no use in the body any more. A value of another type than before
    is cast to that for the body, but not for sets and materialized parts.

    Args:
        iterators: those that stay; all of them where left out.
        lower, upper: other bounds of all iterators.
        ins, outs: inputs and outputs that stay; all of them where left out.
    """
    op, remaining = view.op, range(view.rank) if iterators is None else iterators
    inputs = list(enumerate(view.ins)) if ins is None else ins
    outputs = list(enumerate(view.outs)) if outs is None else outs
    _change_arguments(view, remaining, inputs, outputs)
    input_values, output_values = ([value for _, value in pairs] for pairs in (inputs, outputs))
    bounds = [
        [bound[number] for number in remaining]
        for bound in (lower or view.lower, upper or view.upper, view.step)
    ]
    segments = [len(bound) for bound in bounds]
    if op.name == "gml_st.loop":
        segments += _segments(input_values, INPUT_SLOTS)
    if op.name != "gml_st.parallel":
        segments += _segments(output_values)
    else:
        output_values = list(view.destinations)
    types = [value.type for value in output_values if not isinstance(value.type, ir.MemRefType)]
    attributes = dict(op.attributes.items())
    for name in (ITERATOR_TYPES, DISTRIBUTION):
        if name in attributes:
            texts = list(ir.ArrayAttr(attributes[name]))
            attributes[name] = ir.ArrayAttr.get([texts[number] for number in remaining])
    attributes[OPERAND_SEGMENTS] = ir.DenseI32ArrayAttr.get(segments)
    attributes[RESULT_SEGMENTS] = ir.DenseI32ArrayAttr.get(_segments(types))
    operands = [value for bound in bounds for value in bound] + input_values
    operands += [] if op.name == "gml_st.parallel" else output_values
    with op.location, ir.InsertionPoint(op):
        new = ir.Operation.create(
            op.name, results=types, operands=operands, attributes=attributes, regions=1
        )
    view.body.append_to(new.regions[0])
    return new


def _change_arguments(
    view: LoopView, iterators: Sequence[int], ins: NumberedValues, outs: NumberedValues
) -> None:
    """Give the arguments of a body that stay the types of their values, and erase the others."""
    body, rank = view.body, view.rank
    first_out = rank + len(view.ins)
    values = {rank + number: value for number, value in ins} | {
        first_out + number: v for number, v in outs
    }
    with view.op.location, ir.InsertionPoint(body.operations[0]):
        for number, value in values.items():
            _retype(body.arguments[number], value.type)
    remaining = {*iterators, *values}
    for number in reversed(range(len(body.arguments))):
        if number not in remaining:
            body.erase_argument(number)


def _retype(argument: ir.BlockArgument, type_: ir.Type) -> None:
    """Change the type of an argument; users that need the old one get a cast, built here."""
    old = argument.type
    if old == type_:
        return
    argument.set_type(type_)
    users = [(use.owner.operation, use.operand_number) for use in argument.uses]
    users = [user for user in users if user[0].name not in NEEDS_NO_TYPE]
    if users:
        value = cast(argument, old)
        for user, number in users:
            user.operands[number] = value


NEEDS_NO_TYPE = (
    *("gml_st.tile", "gml_st.point", "gml_st.materialize", "gml_st.set_yield"),
    *("tensor.dim", "memref.dim"),
)
"""The ops that take a tensor or memref of any sizes, and give the same."""


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """Return a tensor or memref as another type of the same elements."""
    if value.type == type_:
        return value
    kind = tensor.CastOp if isinstance(type_, ir.RankedTensorType) else memref.CastOp
    return kind(type_, value).result


def with_constants(numbers: Sequence[Index]) -> list[Index]:
    pairs = [(number, static(number)) for number in numbers]
    return [number if constant is None else constant for number, constant in pairs]


def without_unused_inputs(op: ir.Operation) -> ir.Operation:
    view = LoopView.of(op)
    used = [number for number, argument in enumerate(view.region_ins) if not is_unused(argument)]
    if len(used) == len(view.ins):
        return op
    new = rebuilt(view, ins=[(number, view.ins[number]) for number in used])
    replace_op(op, *new.results)
    return new


def with_output(
    op: ir.Operation, destination: ir.Value, value: ir.Value, set_: ir.Value
) -> ir.Operation:
    """Return the same loop with one more output: a value of its body, for a set of a tensor.

    Args:
        op: a loop.
        destination: the tensor; `set_` is of it.
        value: the result of an iteration; the loop's body computes it.
        set_: where it goes; in a loop with output arguments its superset becomes the new one.
    """
    view = LoopView.of(op)
    terminator, target = view.terminator, destination
    outs = list(enumerate(view.outs))
    if op.name != "gml_st.parallel":
        target = view.body.add_argument(destination.type, op.location)
        outs.append((len(outs), destination))
        if (owner := producer(set_)) is not None:
            owner.operands[0] = target
    groups = [[*terminator.sources, value], [*terminator.sets, set_]]
    if op.name != "gml_st.loop":
        groups.insert(1, [*terminator.destinations, target])
    _replace(terminator, groups)
    new = rebuilt(view, outs=outs)
    replace_op(op, *list(new.results)[: len(op.results)])
    return new


def has_room(op: ir.Operation) -> bool:
    return len(op.results) < OUTPUT_SLOTS


def with_bounds(
    op: ir.Operation,
    lower: Sequence[ir.Value],
    upper: Sequence[ir.Value],
    outs: Sequence[ir.Value],
) -> ir.Operation:
    """Return the same loop over another range, with other values that its outputs begin with.

    The outputs of a `gml_st.parallel` are those that its terminator names: they stay.
    """
    view = LoopView.of(op)
    new = rebuilt(view, lower=lower, upper=upper, outs=list(enumerate(outs[: len(view.outs)])))
    replace_op(op, *new.results)
    return new


def with_destinations(terminator: YieldView, destinations: Sequence[ir.Value]) -> None:
    """Let the terminator of a `gml_st.parallel` write to other tensors, at the same places of
    these.

    Raises:
        Unserved: a set is not a plain part of its destination.
    """
    sets = [_with_root(set_, to) for set_, to in zip(terminator.sets, destinations, strict=True)]
    _replace(terminator, [list(terminator.sources), list(destinations), sets])


def _with_root(set_: ir.Value, root: ir.Value) -> ir.Value:
    op = producer(set_)
    if op is None or op.name not in ("gml_st.full", "gml_st.tile", "gml_st.point"):
        raise Unserved("a set of its outputs is not a tile, point or whole")
    if not isinstance(op.operands[0].type, ir.RankedTensorType):
        raise Unserved("a set of its outputs is a part of a part")
    with ir.InsertionPoint(op):
        new = op.clone().operation
    new.operands[0] = root
    return new.results[0]


def _replace(terminator: YieldView, groups: Sequence[Sequence[ir.Value]]) -> None:
    op = terminator.op
    attributes = dict(op.attributes.items())
    attributes[OPERAND_SEGMENTS] = ir.DenseI32ArrayAttr.get(
        [segment for group in groups for segment in _segments(group)]
    )
    if any(terminator.accumulated):
        added = len(groups[0]) - len(terminator.accumulated)
        flags = [*terminator.accumulated, *[False] * added]
        attributes[ACCUMULATOR_FLAGS] = ir.DenseBoolArrayAttr.get(flags)
    with op.location, ir.InsertionPoint(op):
        new = ir.Operation.create(
            op.name,
            results=[],
            operands=[value for group in groups for value in group],
            attributes=attributes,
            regions=1,
        )
    for block in list(op.regions[0].blocks):
        block.append_to(new.regions[0])
    op.erase()


def _segments(group: Sequence[object], slots: int = OUTPUT_SLOTS) -> list[int]:
    return [1] * len(group) + [0] * (slots - len(group))
