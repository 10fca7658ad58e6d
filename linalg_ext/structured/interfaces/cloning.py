"""The same op on other operands: clones of several kinds, and ops bufferized to themselves.

All is built at the current insertion point. What cannot be built leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, ShapeError
from linalg_ext.ir.diagnostics import collected, joined, of_error
from linalg_ext.structured.interfaces.asked import as_value, listed
from linalg_ext.structured.interfaces.destinations import DestinationRule
from linalg_ext.structured.interfaces.invariants import is_buffer, is_shaped, is_tensor
from linalg_ext.structured.utils.maps import has_payload
from linalg_ext.structured.utils.place import place_of

Captured: TypeAlias = Mapping[ir.Value, ir.Value]
"""For values from outside that a region uses: what it is to use in place of them."""


def cloned(
    op: ir.Operation,
    rule: DestinationRule,
    operands: Sequence[ir.Value | ir.OpView] | None = None,
    *,
    result_types: Sequence[ir.Type] | None = None,
    location: ir.Location | None = None,
    mapping: Captured | None = None,
    with_regions: bool = True,
) -> ir.Operation:
    """The op again: see `DestinationStyle.clone`."""
    given = op.operands if operands is None else listed("operands", operands)
    values = [as_value(each) for each in given]
    check_operands(op, values)
    if result_types is None:
        types = [values[position].type for position in rule.inits(op)]
        result_types = [type_ for type_ in types if is_tensor(type_)]
    require_insertion_point(op)
    new = ir.Operation.create(
        op.name,
        results=list(result_types),
        operands=values,
        attributes=dict(op.attributes.items()),
        regions=len(op.regions),
        loc=location or op.location,
    )
    if not with_regions:
        return new
    _copy_regions(op, new)
    _retype_carried(rule, op, new)
    _replace_captured(new, mapping or {})
    return _verified(op, new)


def check_operands(op: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Raise where values cannot stand for the operands of an op.

    Raises:
        ArityError: there are too few or too many.
        ArgumentError: a value is of another context.
        DTypeError, ShapeError: a value is of another kind or, for an op with a body, of another
            rank or element type.
    """
    if len(values) != len(op.operands):
        raise ArityError(
            f"{op.name} got {len(values)} operand(s)",
            where=place_of(op),
            expected=f"{len(op.operands)}: inputs and inits, in the order of the op",
        )
    for position, (value, old) in enumerate(zip(values, op.operands, strict=True)):
        if value.context != op.context:
            raise ArgumentError(
                f"operand {position} for {op.name} is a value of another context",
                hint="build both in one ir.Context",
            )
        if has_payload(op) and is_shaped(value.type) and is_shaped(old.type):
            _check_fits_body(op, position, value.type, old.type)


def require_insertion_point(op: ir.Operation) -> None:
    """Raise where there is nowhere to build.

    Raises:
        ArgumentError: there is no current insertion point.
    """
    try:
        _ = ir.InsertionPoint.current
    except ValueError:
        # An op that stands nowhere is freed after its context, which ends the process.
        raise ArgumentError(
            f"{op.name} cannot be built: no insertion point is set",
            hint="build it under `with ir.InsertionPoint(op):`",
        ) from None


def bufferized(
    op: ir.Operation, rule: DestinationRule, operands: Sequence[ir.Value | ir.OpView]
) -> ir.Operation:
    """The op on buffers: see `DestinationStyle.bufferized`."""
    if not rule.on_buffers:
        raise ArgumentError(
            f"{op.name} has no form on buffers",
            where=place_of(op),
            hint="one-shot-bufferize makes other ops of it",
        )
    values = [as_value(each) for each in listed("operands", operands)]
    check_operands(op, values)
    for position, (value, old) in enumerate(zip(values, op.operands, strict=True)):
        if is_tensor(old.type):
            _check_buffer_of(op, position, value.type, old.type)
        elif value.type != old.type:
            raise DTypeError(
                f"operand {position} of {op.name} is of type {old.type}, its new value of "
                f"{value.type}",
                where=place_of(op),
                expected="scalars as they are",
            )
    return cloned(op, rule, values, result_types=[])


def _check_fits_body(op: ir.Operation, position: int, new: ir.Type, old: ir.Type) -> None:
    for type_, what in ((new, "the new value"), (old, "the old value")):
        if isinstance(type_, ir.UnrankedTensorType | ir.UnrankedMemRefType):
            raise ShapeError(
                f"operand {position} of {op.name}: {what} is of type {type_}, which has no rank",
                where=place_of(op),
            )
    found, wanted = ir.ShapedType(new), ir.ShapedType(old)
    if found.rank != wanted.rank:
        raise ShapeError(
            f"operand {position} for {op.name} is of rank {found.rank}: {new}",
            where=place_of(op),
            expected=f"rank {wanted.rank}, as {old}",
        )
    if found.element_type != wanted.element_type:
        raise DTypeError(
            f"operand {position} for {op.name} is of {found.element_type}: {new}",
            where=place_of(op),
            expected=f"elements of {wanted.element_type}: the body computes with them",
        )


def _check_buffer_of(op: ir.Operation, position: int, new: ir.Type, old: ir.Type) -> None:
    tensor = ir.RankedTensorType(old)
    buffer = ir.MemRefType(new) if isinstance(new, ir.MemRefType) else None
    if buffer is None or (buffer.shape, buffer.element_type) != (
        tensor.shape,
        tensor.element_type,
    ):
        raise DTypeError(
            f"operand {position} of {op.name} is of type {old}, and {new} is no buffer for it",
            where=place_of(op),
            expected="a memref of its shape and element type, of any layout and memory space",
        )


def _copy_regions(op: ir.Operation, new: ir.Operation) -> None:
    # Not with ip=False: it must have a place, or it is freed too late.
    copy = op.clone(ip=ir.InsertionPoint(new))
    for old, region in zip(copy.regions, new.regions, strict=True):
        for block in list(old.blocks):
            block.append_to(region)
    copy.erase()


def _retype_carried(rule: DestinationRule, op: ir.Operation, new: ir.Operation) -> None:
    """Give the arguments that stand for whole destinations the types of the new ones."""
    if rule.carried is None:
        return
    for position in rule.inits(op):
        rule.carried(new, position).set_type(new.operands[position].type)


def _replace_captured(new: ir.Operation, mapping: Captured) -> None:
    """Replace what the regions use from outside; the operands of the op itself are given apart."""
    if not mapping:
        return

    def replace(inner: ir.Operation) -> ir.WalkResult:
        for position, value in enumerate(inner.operands):
            if inner != new and value in mapping:
                inner.operands[position] = mapping[value]
        return ir.WalkResult.ADVANCE

    new.walk(replace)


def _verified(op: ir.Operation, new: ir.Operation) -> ir.Operation:
    with collected(op.context) as emitted:
        try:
            if new.verify():
                return new
            found = joined(emitted)
        except ir.MLIRError as error:
            found = joined(of_error(error), emitted)
    types = ", ".join(str(value.type) for value in new.operands)
    new.erase()
    raise ArgumentError(
        f"{op.name} cannot be built on operands of types {types}"
        + (f": {found[0].message}" if found else ""),
        where=place_of(op),
    )


def set_init(op: ir.Operation, position: int, value: ir.Value | ir.OpView) -> None:
    """Let an op write to another destination, in place: see `DestinationStyle.set_init`."""
    new, old = as_value(value), op.operands[position]
    values = list(op.operands)
    values[position] = new
    check_operands(op, values)
    if new.type == old.type:
        op.operands[position] = new
        return
    if not (is_buffer(new.type) and is_buffer(old.type)):
        raise DTypeError(
            f"the destination at operand {position} of {op.name} is of type {old.type}, the new "
            f"one of type {new.type}",
            where=place_of(op),
            expected="one type: in place, results keep theirs",
            hint="build the op on it with .clone(operands)",
        )
    op.operands[position] = new
    with collected(op.context):
        try:
            fits = bool(op.verify())
        except ir.MLIRError:
            fits = False
    if not fits:
        op.operands[position] = old
        raise DTypeError(
            f"{op.name} cannot write to {new.type} in place of {old.type}", where=place_of(op)
        )
