"""The selection of a contraction's plan, and the list of its alternatives.

Explaining and tuning both use this module. The plan is the result of `make_plan`, unless a choice
for that problem is in force. The alternatives are variations of it that compute the same, in the
order of the model's estimates.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from linalg_ext.target import Target
from linalg_ext.transforms.codegen.base.choices import Variation, choices
from linalg_ext.transforms.codegen.base.problem import Problem

from .contraction_cost import Estimate, cycles_of_a_step, estimate
from .contraction_plan import Plan, Tile


def problem_key(problem: Problem) -> str:
    """Return the fingerprint of a problem, by its sizes, strides and element types alone."""
    return hashlib.sha256(repr(problem).encode()).hexdigest()[:24]


def chosen(plan: Plan) -> Plan:
    """The plan in force for the problem of the model's plan."""
    plans = choices().plans
    variation = plans.get(problem_key(plan.problem)) if plans else None
    return plan if variation is None else (varied(plan, variation) or plan)


def varied(plan: Plan, variation: Variation) -> Plan | None:
    """A plan with what differs; None where it cannot be varied so."""
    if not is_variable(plan) or not _is_free(plan, variation):
        return None
    tile = plan.tile
    if variation.rows and variation.vectors:
        tile = Tile(variation.rows, variation.vectors, tile.lanes)
    depth = variation.depth_block
    changed = replace(
        plan,
        tile=tile,
        row_block=_up(variation.row_block or plan.row_block, tile.rows),
        column_block=_up(variation.column_block or plan.column_block, tile.columns),
        depth_block=_up(depth, tile.lanes) if depth else plan.depth_block,
    )
    return None if changed == plan else changed


def is_variable(plan: Plan) -> bool:
    """Return whether a plan has alternatives: its sizes are known, and C is written from a tile."""
    return plan.problem.is_static and not plan.is_inner and plan.panel is None


def _is_free(plan: Plan, variation: Variation) -> bool:
    """Return whether nothing else in a plan follows from what is varied."""
    return not (plan.by_strips and variation.row_block)


@dataclass(frozen=True)
class Candidate:
    """A plan, how it differs from the model's, and how long it should take."""

    variation: Variation
    plan: Plan
    estimate: Estimate


def candidates(plan: Plan, target: Target, *, most: int = 12) -> list[Candidate]:
    """The model's plan, and then others by rising estimate.

    Args:
        plan: what the model says.
        target: whose time is estimated.
        most: how many there are in all, at most.
    """
    expected = estimate(plan, target)
    if expected is None:
        return []
    first = Candidate(Variation(), plan, expected)
    found: list[Candidate] = []
    for variation in _variations(plan, target):
        other = varied(plan, variation)
        known = other is None or any(one.plan == other for one in found)
        if other is None or known or not _fits(other, target):
            continue
        time = estimate(other, target)
        if time is not None:
            found.append(Candidate(variation, other, time))
    ranked = sorted(found, key=lambda one: one.estimate.seconds)
    return [first, *ranked[: most - 1]]


def _variations(plan: Plan, target: Target) -> Iterator[Variation]:
    for tile in _tiles(plan, target):
        yield Variation(rows=tile.rows, vectors=tile.vectors)
    for name in ("depth_block", "row_block", "column_block"):
        block = getattr(plan, name)
        for size in (block // 2, block * 2):
            if size:
                yield Variation(**{name: size})
    if plan.depth_block > 1:
        yield Variation(depth_block=plan.depth_block * 2, row_block=max(1, plan.row_block // 2))
        yield Variation(depth_block=max(1, plan.depth_block // 2), row_block=plan.row_block * 2)


def _tiles(plan: Plan, target: Target) -> list[Tile]:
    """The quickest tile of each width, and the next lower one, which may leave smaller edges."""
    found = []
    registers = target.vector_registers
    for vectors in range(1, 7):
        fitting = [
            Tile(rows, vectors, plan.tile.lanes)
            for rows in range(1, registers)
            if rows * vectors + vectors + 1 <= registers - 1
        ]
        fitting.sort(key=lambda one: cycles_of_a_step(one, target) / (one.rows * one.vectors))
        found += fitting[:2]
    return found


def _fits(plan: Plan, target: Target) -> bool:
    """Return whether the packed operands stay within what a thread may take."""
    size = plan.problem.element_bytes
    l2, last = target.cache(2).size, target.caches[-1].size
    return plan.scratch_a * size <= 2 * l2 and plan.scratch_b * size <= max(2 * l2, last // 4)


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
