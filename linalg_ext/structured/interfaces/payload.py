"""The body of a structured op: its arguments, what they are tied to, and a builder of it.

Ops of our own dialect have no body: what one would say follows from their definitions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.scalar import Access, ScalarOperand
from linalg_ext.errors import ArgumentError
from linalg_ext.structured.extension import attributes as extension_ops
from linalg_ext.structured.interfaces import initial_values
from linalg_ext.structured.payload.generic import build_generic
from linalg_ext.structured.utils.operands import bind
from linalg_ext.structured.utils.place import place_of

RegionBuilder: TypeAlias = Callable[[ir.Block], None]
"""Appends a payload to a block whose arguments are elements of the operands, inits last."""


def block_of(op: ir.Operation) -> ir.Block:
    """The one block of the body.

    Raises:
        ArgumentError: it is an op of our own dialect, which has none.
    """
    if op.name in extension_ops.NAMES:
        raise ArgumentError(
            f"{op.name} has no body: its attributes say what it computes",
            where=place_of(op),
            hint="make a body with .region_builder(), or run linalg-ext-lower-contract and "
            "linalg-ext-lower-elementwise first",
        )
    return op.regions[0].blocks[0]


def uses_operand(op: ir.Operation, position: int) -> bool:
    """Return whether the payload uses the element of an operand."""
    if op.name not in extension_ops.NAMES:
        return initial_values.payload_reads(op, position)
    if position == len(op.operands) - 1:
        return initial_values.extension_op_reads(op, position)
    definition = extension_ops.extension_definition(op)
    name = definition.inputs[position].name
    return any(
        isinstance(expr, Access | ScalarOperand) and expr.operand == name
        for expr in definition.expressions()
    )


def has_index_semantics(op: ir.Operation) -> bool:
    """Return whether the payload asks where in the iteration space it is."""
    if op.name in extension_ops.NAMES:
        return False
    return any(inner.operation.name == "linalg.index" for inner in block_of(op).operations)


def reaches_outside_memory(op: ir.Operation) -> bool:
    """Return whether the payload uses a buffer that is no operand: what it touches, no map says."""
    if op.name in extension_ops.NAMES:
        return False
    found = False

    def look(inner: ir.Operation) -> ir.WalkResult:
        nonlocal found
        types = (value.type for value in inner.operands)
        if inner != op and any(isinstance(t, ir.MemRefType | ir.UnrankedMemRefType) for t in types):
            found = True
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    op.walk(look)
    return found


def region_builder(op: ir.Operation) -> RegionBuilder:
    """Return a function that builds the body of an op in a block, for a `linalg.generic`."""

    def build(block: ir.Block) -> None:
        copy = _copy_with_body(op)
        try:
            body = copy.regions[0].blocks[0]
            _check_arguments(op, body, block)
            for old, new in zip(body.arguments, block.arguments, strict=False):
                old.replace_all_uses_with(new)
            for inner in list(body.operations):
                block.append(inner.operation)
        finally:
            copy.erase()

    return build


def _copy_with_body(op: ir.Operation) -> ir.Operation:
    # Beside the op, for a while: an op that stands nowhere is freed too late.
    beside = ir.InsertionPoint(op)
    if op.name not in extension_ops.NAMES:
        return op.clone(ip=beside)
    *inputs, destination = op.operands
    definition = extension_ops.extension_definition(op)
    with beside, op.location:
        return build_generic(bind(definition, inputs, [destination], CallAttributes()))


def _check_arguments(op: ir.Operation, body: ir.Block, block: ir.Block) -> None:
    wanted = [argument.type for argument in body.arguments]
    found = [argument.type for argument in block.arguments]
    # A body may be without an argument for a destination that it never reads.
    if found[: len(wanted)] != wanted or len(found) > len(op.operands):
        raise ArgumentError(
            f"the block has arguments ({', '.join(map(str, found))})",
            where=place_of(op),
            expected=f"one for each operand of {op.name}: ({', '.join(map(str, wanted))})",
        )
    if len(block.operations):
        raise ArgumentError(f"the block for the body of {op.name} has ops already")
