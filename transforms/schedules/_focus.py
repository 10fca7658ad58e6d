"""The ops that a schedule is about, found again after each step.

No handle into IR outlives a transformation. Ops are marked by an attribute while a step runs, and
between steps they are known by their places in the order of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linalg_ext.bindings import ir
from linalg_ext.transforms.ir_utils.walking import select

MARK = "linalg_ext.schedule"
"""The attribute on the ops that a step is about, while it runs."""

MADE = "linalg_ext.schedule_made"
"""The attribute on the ops that the step hands on."""


class Spot(NamedTuple):
    """An op by its place in the walk over its module, and by its name, which proves it."""

    number: int
    name: str


def find(root: ir.Operation, spots: Sequence[Spot]) -> list[ir.Operation] | None:
    """The ops at these spots; None where another op stands there now."""
    wanted = {spot.number: spot.name for spot in spots}
    ops = [op.operation for op in select(root, lambda op: True)]
    if any(at >= len(ops) or ops[at].name != name for at, name in wanted.items()):
        return None
    return [ops[at] for at in sorted(wanted)]


def collect(root: ir.Operation, mark: str) -> tuple[Spot, ...]:
    """The spots of the ops with a mark; all marks are taken off."""
    found: list[Spot] = []
    for number, op in enumerate(select(root, lambda op: True)):
        attributes = op.attributes
        if mark in attributes:
            found.append(Spot(number, op.name))
        for name in (MARK, MADE):
            if name in attributes:
                del attributes[name]
    return tuple(found)
