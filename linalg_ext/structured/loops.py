"""Loops and branches that carry values, built at the insertion point.

An op whose body raises an error while it is built is erased: the caller may catch the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from linalg_ext.bindings import ir, scf
from linalg_ext.structured.constants import index

Bounds: TypeAlias = tuple[Any, Any, Any]
"""The lower bound, the upper bound and the step of a loop: numbers, or values of type index."""


def counted(
    lower: Any,
    upper: Any,
    carried: Sequence[Any],
    body: Callable[[Any, list[Any]], Sequence[Any]],
    step: Any = 1,
) -> list[Any]:
    """Build an `scf.for` from `lower` up to `upper`; the body gives the next carried values."""
    loop = scf.ForOp(index(lower), index(upper), index(step), list(carried))
    with whole_or_none(loop), ir.InsertionPoint(loop.body):
        scf.YieldOp(list(body(loop.induction_variable, list(loop.inner_iter_args))))
    return list(loop.results)


def nest(
    bounds: Sequence[Bounds],
    carried: Sequence[Any],
    body: Callable[[list[Any], list[Any]], Sequence[Any]],
    indices: Sequence[Any] = (),
) -> list[Any]:
    """Build loops, the first one outermost, around `body(indices, carried)`, which gives the next.

    Args:
        indices: the induction variables of the first loops, where they stand around already.
    """
    if len(indices) == len(bounds):
        return list(body(list(indices), list(carried)))
    lower, upper, step = bounds[len(indices)]
    return counted(
        lower,
        upper,
        carried,
        lambda position, inner: nest(bounds, inner, body, [*indices, position]),
        step,
    )


def nest_over(
    sizes: Sequence[Any],
    carried: Sequence[Any],
    body: Callable[[list[Any], list[Any]], Sequence[Any]],
) -> list[Any]:
    """Build a `nest` from 0 to each size."""
    return nest([(0, size, 1) for size in sizes], carried, body)


def either(
    condition: Any,
    if_true: Callable[[], Sequence[Any]],
    if_false: Callable[[], Sequence[Any]],
    like: Sequence[Any],
) -> list[Any]:
    """Build an `scf.if` whose branches give values of the types of `like`."""
    branch: Any = scf.IfOp(condition, [value.type for value in like], has_else=True)
    with whole_or_none(branch):
        for block, build in ((branch.then_block, if_true), (branch.else_block, if_false)):
            with ir.InsertionPoint(block):
                scf.YieldOp(list(build()))
    return list(branch.results)


@contextmanager
def whole_or_none(op: ir.OpView) -> Iterator[None]:
    """Erase an op if an error stops the building of its regions."""
    try:
        yield
    except BaseException:
        op.operation.erase()
        raise
