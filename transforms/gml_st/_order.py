"""The order of ops: in a block or below it, before and after one another."""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.gml_st.ir.op_views import LOOPS


def used_outside(producer: ir.Operation, body: ir.Block) -> bool:
    """Return whether an op has a user other than the loop or the ops in the loop's body."""
    return any(
        not is_below(use.owner.operation, body)
        for result in producer.results
        for use in result.uses
        if use.owner.operation.name not in LOOPS or use.owner.operation.regions[0].blocks[0] != body
    )


def is_below(op: ir.Operation, body: ir.Block) -> bool:
    """Return whether an op is in a block, or in a region inside it."""
    block: ir.Block | None = op.block
    while block is not None and block != body:
        owner = block.owner
        if owner is None or owner.operation.name in ("builtin.module", "func.func"):
            return False
        block = owner.operation.block
    return block is not None


def comes_after(op: ir.Operation, other: ir.Operation) -> bool:
    """Return whether an op stands after another one of the same block, or inside one that does."""
    while op.block != other.block:
        owner = op.block.owner
        if owner is None or owner.operation.name == "builtin.module":
            return False
        op = owner.operation
    return other.is_before_in_block(op) and op != other


@dataclass(frozen=True)
class Position:
    """The position of an op before a loop, or before an op around the loop.

    Later positions are greater.

    Attributes:
        op: the op.
        outwards: the number of ops around the loop that are not around the op.
        block: the index of its block in the region. The block of the loop, or around it, is last.
    """

    op: ir.Operation
    outwards: int
    block: int

    @classmethod
    def before(cls, loop: ir.Operation, op: ir.Operation) -> Position:
        """The place of an op whose results a loop may read."""
        block = op.block
        around, outwards = loop, 0
        while around.block.region != block.region:
            around, outwards = around.block.owner.operation, outwards + 1
        blocks = list(block.region.blocks)
        return cls(op, outwards, len(blocks) if around.block == block else blocks.index(block))

    def __lt__(self, other: Position) -> bool:
        if self.outwards != other.outwards:
            return self.outwards > other.outwards
        if self.block != other.block:
            return self.block < other.block
        return self.op != other.op and self.op.is_before_in_block(other.op)
