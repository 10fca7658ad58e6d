"""The origin of values of live IR."""

from __future__ import annotations

from linalg_ext.bindings import ir


def producer(value: ir.Value) -> ir.Operation | None:
    """The op that a value is a result of; None for an argument of a block."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation
