"""What the induction variables of loops run over.

Other rooms may say it of their own loops: `RANGES` is a table by the name of the op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from linalg_ext.bindings import ir
from linalg_ext.gml_st.ir.op_views import Index


class Range(NamedTuple):
    """One induction variable: from `lower` to below `upper` by `step`."""

    lower: Index
    upper: Index
    step: Index


def range_of(argument: ir.BlockArgument) -> Range | None:
    """What an argument runs over; None for one that is no induction variable, or not known."""
    op = argument.owner.owner
    if not isinstance(op, (ir.Operation, ir.OpView)) or op.operation.name not in RANGES:
        return None
    ranges = RANGES[op.operation.name](op.operation)
    return ranges[argument.arg_number] if argument.arg_number < len(ranges) else None


def _for(op: ir.Operation) -> Sequence[Range]:
    lower, upper, step = list(op.operands)[:3]
    return [Range(lower, upper, step)]


def _parallel(op: ir.Operation) -> Sequence[Range]:
    lower, upper, step, *_ = _segments(op)
    return [Range(*bounds) for bounds in zip(lower, upper, step, strict=True)]


def _forall(op: ir.Operation) -> Sequence[Range]:
    lists = (
        _mixed(op, name, segment)
        for name, segment in zip(
            ("staticLowerBound", "staticUpperBound", "staticStep"), _segments(op), strict=False
        )
    )
    return [Range(*bounds) for bounds in zip(*lists, strict=True)]


def _segments(op: ir.Operation) -> list[list[ir.Value]]:
    operands = iter(list(op.operands))
    sizes = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    return [[next(operands) for _ in range(size)] for size in sizes]


def _mixed(op: ir.Operation, name: str, dynamic: Sequence[ir.Value]) -> list[Index]:
    values = iter(dynamic)
    gap = ir.ShapedType.get_dynamic_size()
    static = ir.DenseI64ArrayAttr(op.attributes[name])
    return [next(values) if number == gap else number for number in static]


RANGES: dict[str, Callable[[ir.Operation], Sequence[Range]]] = {
    "scf.for": _for,
    "scf.forall": _forall,
    "scf.parallel": _parallel,
    "gml_st.for": _parallel,
    "gml_st.loop": _parallel,
    "gml_st.parallel": _parallel,
}
