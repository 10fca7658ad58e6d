"""Buffers that a loop carries from one iteration to the next, and their aliases.

Arguments of an entry and allocations do not alias. A carried buffer is the one that the loop began
with, or one that the iteration before allocated. It does not alias either, as long as no op in the
loop reaches the first buffer by another name.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.transforms.analysis.buffers import Buffer, buffer_of, uses_of


def may_be_read(buffer: Buffer) -> bool:
    """Return whether only views of a buffer may write its memory."""
    return buffer.kind != "unknown" or _is_carried_apart(buffer.value)


def may_be_written(buffer: Buffer) -> bool:
    """Return whether a buffer is an allocation or an argument.

    An allocation has no alias, and the call checks the aliases of an argument.
    """
    return buffer.kind in ("allocation", "argument")


def _is_carried_apart(argument: Any) -> bool:
    """Return whether an `scf.for` carries a block argument that nothing in the loop aliases."""
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
    """Return the buffers that a carried one is in the first iteration, and in the others."""
    carried = argument.arg_number - 1
    operands = list(loop.operands)
    ended = list(argument.owner.operations)[-1].operation
    return [buffer_of(operands[3 + carried]), buffer_of(list(ended.operands)[carried])]


def _is_fresh(buffer: Buffer, body: Any) -> bool:
    """Return whether each iteration of a loop allocates the buffer."""
    owner = buffer.value.owner
    return (
        not isinstance(owner, ir.Block)
        and owner.name == "memref.alloc"
        and owner.operation.block == body
    )


def _is_left_alone(buffer: Buffer, loop: Any) -> bool:
    """Return whether an allocation or argument is used by no op inside a loop."""
    users = [use.owner.operation for use in uses_of(buffer.value)]
    return may_be_written(buffer) and all(
        user == loop or not _is_inside(user, loop) for user in users
    )


def _is_inside(op: Any, loop: Any) -> bool:
    while op is not None and op != loop:
        op = op.parent and op.parent.operation
    return op is not None
