"""Ops as a function, and the values that they take from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from linalg_ext.bindings import func, ir

from .repeats import copy_of, is_repeated
from .walking import copied

STEM = "linalg_ext_loops"
"""The prefix of the names of functions that were loops."""

_SCALARS = frozenset({"f32", "f64", "i1", "i8", "i16", "i32", "i64", "index"})
"""The types of scalars that a call takes as they are, besides buffers."""


def taken_from_outside(loop: ir.Operation) -> list[ir.Value]:
    """Return the values that the body of a loop uses and that are defined around it."""
    own: set[ir.Value] = set(loop.regions[0].blocks[0].arguments)
    used: dict[ir.Value, None] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op != loop:
            own.update(op.results)
            used.update(dict.fromkeys(op.operands))
        for region in op.regions:
            for block in region.blocks:
                own.update(block.arguments)
        return ir.WalkResult.ADVANCE

    loop.walk(visit, ir.WalkOrder.PRE_ORDER)
    return [value for value in used if value not in own]


class Part(NamedTuple):
    """Ops as a function.

    Attributes:
        module: holds the function, alone: names of values count on from one function to the next.
        operands: of its call.
    """

    module: ir.Module
    operands: Sequence[ir.Value]

    @property
    def function(self) -> ir.Operation:
        """The function, without a number in its name."""
        return self.module.body.operations[0].operation

    @property
    def text(self) -> str:
        """All that it is made of."""
        return self.function.get_asm(use_local_scope=True)


def outermost_loops(function: ir.Operation) -> list[ir.Operation]:
    """Return the outermost loops that give no values."""
    ops = (op.operation for block in function.regions[0].blocks for op in block.operations)
    return [op for op in ops if op.name == "scf.for" and not len(op.results)]


def part_of(loop: ir.Operation) -> Part | None:
    """Return a loop as a function; None where a function cannot take the outside values it uses."""
    return part_of_ops([loop], dict.fromkeys([*loop.operands, *taken_from_outside(loop)]))


def part_of_ops(
    ops: Sequence[ir.Operation],
    outside: Iterable[ir.Value],
    returned: Sequence[ir.Value] = (),
    stem: str = STEM,
) -> Part | None:
    """Copy ops into a function; return None where no call can take their outside values.

    Args:
        ops: in their order.
        outside: the values that they take from outside, each once.
        returned: the results of theirs that the function returns.
        stem: the name of the function.
    """
    outside = list(outside)
    operands = [value for value in outside if not is_repeated(value)]
    if not all(map(may_be_handed_over, operands)):
        return None
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        types = [value.type for value in operands], [value.type for value in returned]
        function = func.FuncOp(stem, types, visibility="private")
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        inside: dict[ir.Value, ir.Value] = dict(zip(operands, block.arguments, strict=True))
        for value in outside:
            if value not in inside:
                inside[value] = copy_of(value)
        for op in ops:
            copied(op, inside)
        func.ReturnOp([inside[value] for value in returned])
    return Part(module, operands)


def may_be_handed_over(value: ir.Value) -> bool:
    """Return whether a call can take a value: a buffer, a tensor or a scalar."""
    shaped = isinstance(value.type, ir.MemRefType | ir.RankedTensorType)
    return shaped or str(value.type) in _SCALARS
