"""What a loop takes from around it, when it becomes a function."""

from __future__ import annotations

from linalg_ext.bindings import ir

_REPEATED = frozenset({"arith.constant", "memref.get_global"})


def taken_from_outside(loop: ir.Operation) -> list[ir.Value]:
    """The values that the body of a loop uses and that are defined around it."""
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


def is_repeated(value: ir.Value) -> bool:
    """Whether a function has a copy of what gives a value, instead of the value."""
    return not isinstance(value.owner, ir.Block) and value.owner.name in _REPEATED
