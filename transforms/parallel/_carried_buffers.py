"""Carried buffers: what a loop hands from round to round, and whether it is memory of its own.

Arguments of an entry and allocations are memory of their own. What a loop carries is what it began
with, or what the round before allocated: memory of its own, too, as long as nothing in the loop
reaches what it began with by another name.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.transforms.analysis.buffers import Buffer, buffer_of, uses_of


def may_be_read(buffer: Buffer) -> bool:
    """Whether nothing writes the memory of a buffer but by its name."""
    return buffer.kind != "unknown" or _is_carried_apart(buffer.value)


def may_be_written(buffer: Buffer) -> bool:
    """Whether nothing reaches the memory of a buffer but by its name, or where that is checked."""
    return buffer.kind in ("allocation", "argument")


def _is_carried_apart(argument: Any) -> bool:
    """Whether an argument of a block is what a loop carries, told apart from all else in it."""
    body = argument.owner
    if not isinstance(body, ir.Block):
        return False
    loop = body.owner.operation
    if loop.name != "scf.for":
        return False
    pending, seen = [argument], {argument}
    while pending:
        for origin in _handed_on(loop, pending.pop()):
            if origin.value.owner == body:
                if origin.value not in seen:
                    pending.append(origin.value)
                    seen.add(origin.value)
            elif not (_is_fresh(origin, body) or _is_left_alone(origin, loop)):
                return False
    return True


def _handed_on(loop: Any, argument: Any) -> list[Buffer]:
    """The buffers that a carried one is in the first round, and in the others."""
    carried = argument.arg_number - 1
    operands = list(loop.operands)
    ended = list(argument.owner.operations)[-1].operation
    return [buffer_of(operands[3 + carried]), buffer_of(list(ended.operands)[carried])]


def _is_fresh(buffer: Buffer, body: Any) -> bool:
    """Whether a buffer is allocated anew in each round of a loop."""
    owner = buffer.value.owner
    return (
        not isinstance(owner, ir.Block)
        and owner.name == "memref.alloc"
        and owner.operation.block == body
    )


def _is_left_alone(buffer: Buffer, loop: Any) -> bool:
    """Whether a loop begins with a buffer, and does nothing else with it."""
    users = [use.owner.operation for use in uses_of(buffer.value)]
    return may_be_written(buffer) and all(
        user == loop or not _is_inside(user, loop) for user in users
    )


def _is_inside(op: Any, loop: Any) -> bool:
    while op is not None and op != loop:
        op = op.parent and op.parent.operation
    return op is not None
