"""`scf` ops with tensors that are carried along: what loops and branches are recorded as."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, scf
from linalg_ext.structured.constants import integer_constant
from linalg_ext.tracing.traced import current_trace

Values = list[Any]


def counted(
    count: ir.Value, initial: Sequence[ir.Value], body: Callable[[ir.Value, Values], Values]
) -> Values:
    """`scf.for` from 0 to a count: the body makes the carried values new from the old ones."""
    index = ir.IndexType.get()
    bounds = integer_constant(index, 0), count, integer_constant(index, 1)
    loop = scf.ForOp(*bounds, list(initial))
    at, *carried = loop.body.arguments
    with ir.InsertionPoint(loop.body), current_trace().region():
        scf.YieldOp(body(at, list(carried)))
    return list(loop.results)


def while_holds(
    initial: Sequence[ir.Value],
    condition: Callable[[Values], ir.Value],
    body: Callable[[Values], Values],
) -> Values:
    """`scf.while`: the carried values are made new as long as a condition on them holds."""
    types = [value.type for value in initial]
    loop = scf.WhileOp(types, list(initial))
    before, after = (region.blocks.append(*types) for region in loop.operation.regions)
    with ir.InsertionPoint(before), current_trace().region():
        values = list(before.arguments)
        scf.ConditionOp(condition(values), values)
    with ir.InsertionPoint(after), current_trace().region():
        scf.YieldOp(body(list(after.arguments)))
    return list(loop.results)


def branch(
    condition: ir.Value,
    types: Sequence[ir.Type],
    then: Callable[[], Values],
    otherwise: Callable[[], Values],
) -> Values:
    """`scf.if` of two branches that give values of these types."""
    choice = scf.IfOp(condition, list(types), has_else=True)
    for region, make in zip(choice.operation.regions, (then, otherwise), strict=True):
        with ir.InsertionPoint(region.blocks[0]), current_trace().region():
            scf.YieldOp(make())
    return list(choice.results)


def as_index(value: ir.Value) -> ir.Value:
    """A signed integer as an index."""
    result: ir.Value = arith.IndexCastOp(ir.IndexType.get(), value).result
    return result
