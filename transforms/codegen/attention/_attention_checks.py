"""Checks that reject ops that resemble attention, with a reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linalg_ext.transforms.codegen.base.vectorizable import has_vector_form

from ._elements import has_maps_and_body, output_of, writer
from ._expressions import Applied, Element, Expression, Position, walk
from ._precision import is_seen_as_bits

_LEAST_ROWS = 4
"""With fewer queries for a head, putting its keys in order is not repaid."""


class NotAttention(Exception):
    """Why something that resembles attention is left; caught where it was asked."""


def is_few(rows: Sequence[int | None]) -> bool:
    """Return whether there are few queries; dynamic sizes count as large."""
    known = [size for size in rows if size is not None]
    return len(known) == len(rows) and math.prod(known) < _LEAST_ROWS


def check_on_vectors(changed: Expression, loops: set[int]) -> None:
    for each in walk(changed):
        if is_seen_as_bits(each):
            raise NotAttention("the scores are read as bits")
        if isinstance(each, Applied):
            if not has_vector_form(each.name, each.type):
                raise NotAttention(f"the scores go through {each.name}")
        elif isinstance(each, Element):
            if not {loop for loop in each.at if loop is not None} <= loops:
                raise NotAttention("the mask has a dimension of its own")
        elif isinstance(each, Position) and each.loop is not None and each.loop not in loops:
            raise NotAttention("the mask depends on another position")


def in_order(ops: list[Any]) -> tuple[Any, ...]:
    """The ops in the order of their block, in which all must be."""
    if any(op.block != ops[0].block for op in ops):
        raise NotAttention("the ops are in several blocks")
    order = [other.operation for other in ops[0].block.operations]
    return tuple(sorted(ops, key=order.index))


def check_alone(ops: tuple[Any, ...], scores: Any, last: Any) -> None:
    """Check that no other op reads the scores, or values computed from them."""
    of_scores = [scores]
    for op in ops:
        if op == last or op.name == "arith.constant":
            continue
        inputs = list(op.operands)[: 1 if "shape" in op.name else len(op.operands) - 1]
        if op != scores and not any(_comes_of(value, of_scores) for value in inputs):
            continue
        of_scores.append(op)
        result = op.results[0] if len(op.results) else output_of(op)
        for use in result.uses:
            user = use.owner.operation
            fills = len(user.operands) == 1 and has_maps_and_body(user)
            if user not in ops and user.name != "memref.dealloc" and not fills:
                raise NotAttention("the scores or weights are read by other ops")


def _comes_of(value: Any, ops: list[Any]) -> bool:
    op = writer(value)
    return op is not None and op in ops
