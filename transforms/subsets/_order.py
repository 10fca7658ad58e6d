"""Where ops stand: in a block or below it, before and after one another."""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.structured.subsets.ops import LOOPS


def used_outside(producer: ir.Operation, body: ir.Block) -> bool:
    """Whether somebody uses an op who is neither in the body of a loop nor the loop."""
    return any(
        not is_below(use.owner.operation, body)
        for result in producer.results
        for use in result.uses
        if use.owner.operation.name not in LOOPS or use.owner.operation.regions[0].blocks[0] != body
    )


def is_below(op: ir.Operation, body: ir.Block) -> bool:
    """Whether an op is in a block, or in a region inside it."""
    block: ir.Block | None = op.block
    while block is not None and block != body:
        owner = block.owner
        if owner is None or owner.operation.name in ("builtin.module", "func.func"):
            return False
        block = owner.operation.block
    return block is not None


def comes_after(op: ir.Operation, other: ir.Operation) -> bool:
    """Whether an op stands after another one of the same block, or inside one that does."""
    while op.block != other.block:
        owner = op.block.owner
        if owner is None or owner.operation.name == "builtin.module":
            return False
        op = owner.operation
    return other.is_before_in_block(op) and op != other


def last_before(ops: list[ir.Operation], loop: ir.Operation) -> ir.Operation:
    """The last in the program of ops that stand before a loop, or before what it is in."""
    block: ir.Block = loop.block
    while True:
        here = [op for op in ops if op.block == block]
        if here:
            last = here[0]
            for op in here[1:]:
                if last.is_before_in_block(op):
                    last = op
            return last
        block = block.owner.operation.block
