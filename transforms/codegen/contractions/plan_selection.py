"""Which plan a contraction gets, and which others there are: one place for who explains or tunes.

The plan is what `make_plan` gives, unless a choice for that problem is in force; the others are
variations of it that compute the same, in the order of the model's estimates:

    with choosing(Choices(plans={problem_key(problem): Variation(rows=8, vectors=3)})):
        lower_to_llvm(module)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from linalg_ext.target import Target
from linalg_ext.transforms.codegen.base.problem import Problem

from .contraction_cost import Estimate, cycles_of_a_step, estimate
from .contraction_plan import Plan, Tile


@dataclass(frozen=True)
class Variation:
    """What differs from the plan that the model gives; 0 where nothing does.

    Attributes:
        rows, vectors: of the tile.
        row_block, column_block, depth_block: of the blocks.
    """

    rows: int = 0
    vectors: int = 0
    row_block: int = 0
    column_block: int = 0
    depth_block: int = 0

    def __bool__(self) -> bool:
        return any(asdict(self).values())

    def __str__(self) -> str:
        tile = f"tile {self.rows} x {self.vectors} vectors" if self.rows else ""
        blocks = [
            f"{name.removesuffix('_block')} {getattr(self, name)}"
            for name in ("row_block", "column_block", "depth_block")
            if getattr(self, name)
        ]
        of_blocks = f"blocks {', '.join(blocks)}" if blocks else ""
        return "; ".join(filter(None, (tile, of_blocks))) or "as the model says"

    def as_data(self) -> dict[str, int]:
        """What JSON can hold."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_data(cls, data: Any) -> Variation | None:
        """Back from `as_data`; None where it is not of that form."""
        known = {one.name for one in fields(cls)}
        if not isinstance(data, dict) or not set(data) <= known:
            return None
        if any(type(value) is not int or not 0 < value < 1 << 32 for value in data.values()):
            return None
        return cls(**data)


@dataclass(frozen=True)
class Choices:
    """What is chosen in the place of what the model says.

    Attributes:
        plans: for problems, by `problem_key`, the variation of the plan.
        vector_bits: of the registers of loops over vectors; 0 for the widest.
        streams: whether large results of such loops go past the caches; None for the model's word.
    """

    plans: Mapping[str, Variation] = field(default_factory=dict)
    vector_bits: int = 0
    streams: bool | None = None


_in_force: ContextVar[Choices | None] = ContextVar("linalg_ext.choices", default=None)
_NONE = Choices()


def choices() -> Choices:
    """What is in force."""
    return _in_force.get() or _NONE


@contextmanager
def choosing(chosen: Choices) -> Iterator[None]:
    """Have the code that is made inside the `with` block follow these choices."""
    token = _in_force.set(chosen)
    try:
        yield
    finally:
        _in_force.reset(token)


def problem_key(problem: Problem) -> str:
    """What a problem is known by: equal for equal sizes, strides and element types alone."""
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
    """Whether a plan has others beside it: sizes that are known, a tile that C is written from."""
    return plan.problem.is_static and not plan.is_inner and plan.panel is None


def _is_free(plan: Plan, variation: Variation) -> bool:
    """Whether nothing else in a plan follows from what is varied."""
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
    """Whether the packed operands stay within what a thread may take."""
    size = plan.problem.element_bytes
    l2, last = target.cache(2).size, target.caches[-1].size
    return plan.scratch_a * size <= 2 * l2 and plan.scratch_b * size <= max(2 * l2, last // 4)


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
