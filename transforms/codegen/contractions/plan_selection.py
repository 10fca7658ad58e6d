"""The selection of a contraction's plan, its alternatives, and their table for `explain()`.

Explaining and tuning both use this module. The plan is the result of `make_plan`, unless a choice
for that problem is in force. The alternatives are variations of it that compute the same, in the
order of the model's estimates.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from linalg_ext.target import Target
from linalg_ext.target.analytic import cycles_per_second
from linalg_ext.target.text import bytes_text, count_text, seconds_text
from linalg_ext.transforms.codegen.base.choices import Variation, choices
from linalg_ext.transforms.codegen.base.payload import Elementwise
from linalg_ext.transforms.codegen.base.problem import Problem

from .contraction_cost import Estimate, estimate
from .contraction_plan import Plan, Tile, cycles_of_a_step, round_up


def problem_key(problem: Problem) -> str:
    """Return the fingerprint of a problem, by its sizes, strides and element types alone."""
    values = (getattr(problem, field.name) for field in fields(problem))
    # The order of a set differs from process to process.
    parts = [sorted(value) if isinstance(value, frozenset) else value for value in values]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def chosen(plan: Plan) -> Plan:
    """The plan in force for the problem of the model's plan."""
    plans = choices().plans
    variation = plans.get(problem_key(plan.problem)) if plans else None
    return plan if variation is None else (varied(plan, variation) or plan)


def varied(plan: Plan, variation: Variation) -> Plan | None:
    """Return a plan with a variation; None if it cannot be varied so."""
    # Sizes are static, C is written from a tile, and nothing else follows from the variation.
    is_variable = plan.problem.is_static and not plan.is_inner and plan.panel is None
    if not is_variable or (plan.by_strips and variation.row_block):
        return None
    tile = plan.tile
    if variation.rows and variation.vectors:
        tile = Tile(variation.rows, variation.vectors, tile.lanes)
    depth = variation.depth_block
    changed = replace(
        plan,
        tile=tile,
        row_block=round_up(variation.row_block or plan.row_block, tile.rows),
        column_block=round_up(variation.column_block or plan.column_block, tile.columns),
        depth_block=round_up(depth, tile.lanes) if depth else plan.depth_block,
    )
    return None if changed == plan else changed


@dataclass(frozen=True)
class Candidate:
    """A plan, how it differs from the model's, and how long it should take."""

    variation: Variation
    plan: Plan
    estimate: Estimate


def candidates(plan: Plan, target: Target, *, most: int = 12) -> list[Candidate]:
    """Return the model's plan, and then others by rising estimate, `most` in all at most."""
    expected = estimate(plan, target)
    if expected is None:
        return []
    alternatives: list[Candidate] = []
    for variation in _variations(plan, target):
        other = varied(plan, variation)
        plans = [candidate.plan for candidate in alternatives]
        if other is None or other in plans or not _fits(other, target):
            continue
        time = estimate(other, target)
        if time is not None:
            alternatives.append(Candidate(variation, other, time))
    ranked = sorted(alternatives, key=lambda candidate: candidate.estimate.seconds)
    return [Candidate(Variation(), plan, expected), *ranked[: most - 1]]


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
    """Return the quickest tile of each width and the next lower, with smaller edges perhaps."""
    tiles = []
    registers = target.vector_registers
    for vectors in range(1, 7):
        fitting = [
            Tile(rows, vectors, plan.tile.lanes)
            for rows in range(1, registers)
            if rows * vectors + vectors + 1 <= registers - 1
        ]
        fitting.sort(key=lambda tile: cycles_of_a_step(tile, target) / (tile.rows * tile.vectors))
        tiles += fitting[:2]
    return tiles


def _fits(plan: Plan, target: Target) -> bool:
    """Return whether the packed operands stay within a thread's part of the caches."""
    size = plan.problem.element_bytes
    l2, last = target.cache(2).size, target.caches[-1].size
    return plan.scratch_a * size <= 2 * l2 and plan.scratch_b * size <= max(2 * l2, last // 4)


_ALTERNATIVES = 3
"""The number of alternative plans that are shown."""


@dataclass(frozen=True)
class PlannedContraction:
    """The plan of a contraction, and its alternatives.

    Attributes:
        function: the symbol of its nest.
        model: the plan that the model gives.
        plan: the one that was taken.
        epilogue: the computation on the tile in registers.
        target: the machine.
    """

    function: str
    model: Plan
    plan: Plan
    epilogue: Elementwise | None
    target: Target

    @property
    def key(self) -> str:
        """The problem, by which a choice for it is known."""
        return problem_key(self.model.problem)

    def candidates(self, most: int = 12) -> list[Candidate]:
        """The model's plan and others, by rising estimate."""
        return candidates(self.model, self.target, most=most)

    @property
    def title(self) -> str:
        """The title of the table."""
        return f"contraction @{self.function}"

    def rows(self) -> Sequence[tuple[str, str]]:
        """The plan, the work, the model's time, and the nearest of the other plans."""
        plan = self.plan
        rows: list[tuple[str, str]] = []
        for line in repr(plan).splitlines():
            name, _, text = line.partition("  ")
            rows.append((name.strip(), text.strip()))
        rows[0] = ("plan", " ".join(filter(None, rows[0])))
        if self.epilogue is not None:
            steps = self.epilogue.payload.summary
            rows.append(("epilogue", f"{steps}, on the tile in registers"))
        return [*rows, *self._model(plan)]

    def _model(self, plan: Plan) -> list[tuple[str, str]]:
        time = estimate(plan, self.target)
        if time is None:
            return [("model", "none: sizes are known at run time only")]
        share = time.peak / time.seconds if time.seconds else 0.0
        clock = cycles_per_second() / 1e9
        work = (
            f"{count_text(time.flops)} flops on {bytes_text(time.moved)}, "
            f"{time.flops / max(1, time.moved):.3g} flops a byte"
        )
        model = (
            f"{seconds_text(time.seconds)} on one thread at {clock:.3g} GHz, "
            f"{100 * share:.0f}% of the peak: products {seconds_text(time.products)}, "
            f"packing {seconds_text(time.packing)}, result {seconds_text(time.result)}"
        )
        rows = [("work", work), ("model", model)]
        alternatives = [candidate for candidate in self.candidates() if candidate.plan != plan]
        for candidate in alternatives[:_ALTERNATIVES]:
            relative = candidate.estimate.seconds / time.seconds if time.seconds else 1.0
            rows.append(("not", f"{candidate.variation}: {_compared(relative)}"))
        return rows


def _compared(relative: float) -> str:
    """Describe the estimated time of an alternative plan, relative to that of the chosen plan."""
    percent = round(100 * abs(relative - 1))
    if percent == 0:
        return "about as fast, by the estimate"
    if relative > 1:
        return f"{percent}% slower, by the estimate"
    return f"{percent}% faster, by the estimate alone; `tune=True` measures it"
