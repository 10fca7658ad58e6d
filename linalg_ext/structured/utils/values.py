"""Values of live IR: their origin, and ops in their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import ArityError, DTypeError


def producer(value: ir.Value) -> ir.Operation | None:
    """The op that a value is a result of; None for an argument of a block."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def as_values(op: str, values: Sequence[Any]) -> list[ir.Value]:
    """Values, or ops of one result, that are given for the operands of an op."""
    return [single_value(f"{op}: operand {i}", value) for i, value in enumerate(values)]


def single_value(subject: str, value: Any) -> ir.Value:
    """A value, or the one result of an op; `subject` names the operand in errors."""
    if isinstance(value, ir.Value):
        return value
    if isinstance(value, (ir.OpView, ir.Operation)):
        results = value.operation.results
        if len(results) == 1:
            return results[0]
        raise ArityError(
            f"{subject} is given as {value.operation.name}, which has {len(results)} results",
            hint="give one of its results",
        )
    raise DTypeError(
        f"{subject} is {value!r}",
        expected="an MLIR value, as the other operands are",
    )
