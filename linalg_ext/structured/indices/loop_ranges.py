"""Ranges of the induction variables of loops.

Dialects above add the ranges of their own loops by `add_loop_ranges`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from linalg_ext.bindings import ir
from linalg_ext.structured.indices.mixed import OPERAND_SEGMENTS, Index, mixed


class Range(NamedTuple):
    """One induction variable: from `lower` to below `upper` by `step`."""

    lower: Index
    upper: Index
    step: Index


def range_of(argument: ir.BlockArgument) -> Range | None:
    """Return the range of an argument; None where it is no induction variable, or is not known."""
    op = argument.owner.owner
    if not isinstance(op, (ir.Operation, ir.OpView)) or op.operation.name not in _RANGES:
        return None
    ranges = _RANGES[op.operation.name](op.operation)
    return ranges[argument.arg_number] if argument.arg_number < len(ranges) else None


def add_loop_ranges(op_name: str, ranges: Callable[[ir.Operation], Sequence[Range]]) -> None:
    """Add a loop of a dialect above: a function of the op gives what each iterator runs over."""
    _RANGES[op_name] = ranges


def _for(op: ir.Operation) -> Sequence[Range]:
    lower, upper, step = list(op.operands)[:3]
    return [Range(lower, upper, step)]


def parallel_ranges(op: ir.Operation) -> Sequence[Range]:
    """The ranges of a loop whose first groups of operands are lower bounds, upper bounds, steps."""
    lower, upper, step, *_ = _segments(op)
    return [Range(*bounds) for bounds in zip(lower, upper, step, strict=True)]


def _forall(op: ir.Operation) -> Sequence[Range]:
    lists = (
        mixed(op, name, name, segment)
        for name, segment in zip(
            ("staticLowerBound", "staticUpperBound", "staticStep"), _segments(op), strict=False
        )
    )
    return [Range(*bounds) for bounds in zip(*lists, strict=True)]


def _segments(op: ir.Operation) -> list[list[ir.Value]]:
    operands = iter(list(op.operands))
    sizes = ir.DenseI32ArrayAttr(op.attributes[OPERAND_SEGMENTS])
    return [[next(operands) for _ in range(size)] for size in sizes]


_RANGES: dict[str, Callable[[ir.Operation], Sequence[Range]]] = {
    "scf.for": _for,
    "scf.forall": _forall,
    "scf.parallel": parallel_ranges,
}
