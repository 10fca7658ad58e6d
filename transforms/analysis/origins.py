"""Which memory the operands of an entry's ops are, and whether other names may be the same memory.

Arguments of an entry and allocations are memory of their own. What a loop carries from round to
round is what it began with, or what the round before allocated: memory of its own, too, as long as
nothing in the loop reaches what it began with by another name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linalg_ext.bindings import ir

VIEWS = frozenset({"memref.cast", "memref.collapse_shape", "memref.expand_shape", "memref.subview"})
"""Ops that give another view of the buffer that is their first operand, one element an index."""

SOURCES = frozenset({"memref.alloc", "memref.alloca", "memref.get_global"})
"""Ops that give a buffer."""


def root(value: Any) -> Any:
    """The buffer that a value is, or is a view of."""
    while not isinstance(value.owner, ir.Block) and value.owner.name in VIEWS:
        value = value.owner.operands[0]
    return value


def may_be_read(buffer: Any) -> bool:
    """Whether nothing writes the memory of a buffer but by its name."""
    if isinstance(buffer.owner, ir.Block):
        return _is_given(buffer) or _is_carried_apart(buffer)
    return buffer.owner.name in SOURCES


def may_be_written(buffer: Any) -> bool:
    """Whether nothing reaches the memory of a buffer but by its name, or where that is checked."""
    if isinstance(buffer.owner, ir.Block):
        return _is_given(buffer)
    # Two names of a global are two values.
    return buffer.owner.name in SOURCES - {"memref.get_global"}


def _is_given(buffer: Any) -> bool:
    """Whether a buffer is an argument of the entry."""
    return bool(buffer.owner.owner.operation.name == "func.func")


def _is_carried_apart(argument: Any) -> bool:
    """Whether an argument of a block is what a loop carries, told apart from all else in it."""
    body = argument.owner
    loop = body.owner.operation
    if loop.name != "scf.for":
        return False
    pending, seen = [argument], {argument}
    while pending:
        for origin in _handed_on(loop, pending.pop()):
            if origin.owner == body:
                if origin not in seen:
                    pending.append(origin)
                    seen.add(origin)
            elif not (_is_fresh(origin, body) or _is_left_alone(origin, loop)):
                return False
    return True


def _handed_on(loop: Any, argument: Any) -> list[Any]:
    """The buffers that a carried one is in the first round, and in the others."""
    carried = argument.arg_number - 1
    operands = list(loop.operands)
    ended = list(argument.owner.operations)[-1].operation
    return [root(operands[3 + carried]), root(list(ended.operands)[carried])]


def _is_fresh(buffer: Any, body: Any) -> bool:
    """Whether a buffer is allocated anew in each round of a loop."""
    owner = buffer.owner
    return (
        not isinstance(owner, ir.Block)
        and owner.name == "memref.alloc"
        and owner.operation.block == body
    )


def _is_left_alone(buffer: Any, loop: Any) -> bool:
    """Whether a loop begins with a buffer, and does nothing else with it."""
    return may_be_written(buffer) and all(
        user == loop or not _is_inside(user, loop) for user in _users(buffer)
    )


def _users(buffer: Any) -> Iterator[Any]:
    """The ops that use a buffer, or a view of it."""
    for use in buffer.uses:
        user = use.owner.operation
        yield user
        if user.name in VIEWS:
            yield from _users(user.results[0])


def _is_inside(op: Any, loop: Any) -> bool:
    while op is not None and op != loop:
        op = op.parent and op.parent.operation
    return op is not None
