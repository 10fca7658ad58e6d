"""The time of a plan of a contraction, estimated by a model of the machine.

A roofline for each part of the nest (S. Williams, A. Waterman, D. Patterson, CACM 52(4), 2009),
with the traffic between caches that Goto's order of loops causes (T. M. Low et al., ACM TOMS 43(2),
2016):

    products   multiply-adds of the tiles, edges included, or the panel of B that streams past them
    packing    A and B read from where they lie and written to scratch, as often as that happens
    result     C, read and written once for each block of the depth

The model orders plans; it does not predict the time of a run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from linalg_ext.target import Target
from linalg_ext.target.analytic import NEST, bytes_per_cycle, cycles_per_second

from .contraction_plan import Plan, cycles_of_a_step


@dataclass(frozen=True)
class Estimate:
    """The estimated seconds of a plan on one core, by part.

    Attributes:
        flops: additions and multiplications that are asked for.
        moved: bytes of the operands, each once.
        products, packing, result: seconds of each part.
        peak: seconds of `flops` at the peak of the multiply-add units.
        scratch: bytes of packed operands.
    """

    flops: int
    moved: int
    products: float
    packing: float
    result: float
    peak: float
    scratch: int

    @property
    def seconds(self) -> float:
        """The time of all parts together."""
        return self.products + self.packing + self.result


def estimate(plan: Plan, target: Target) -> Estimate | None:
    """The time of a plan on one core of a target; None where sizes are known to the run alone."""
    problem = plan.problem
    sizes = [group.size for group in (problem.rows, problem.columns, problem.depth)]
    if not problem.is_static or None in sizes:
        return None
    rows, columns, depth = (size or 0 for size in sizes)
    batch = math.prod(dimension.size or 0 for dimension in problem.batch)
    size = problem.element_bytes
    clock = cycles_per_second()
    flops = 2 * batch * rows * columns * depth
    at_peak = flops / target.flops_per_cycle(problem.element)
    operands = (rows * depth, depth * columns, rows * columns)
    cycles = _products(plan, target, rows, columns, depth)
    return Estimate(
        flops=flops,
        moved=batch * sum(operands) * size,
        products=batch * cycles / clock,
        packing=batch * _packing(plan, target, rows, columns, depth) / clock,
        result=batch * _result(plan, target, rows, columns, depth) / clock,
        peak=at_peak / clock,
        scratch=(plan.scratch_a + plan.scratch_b) * size,
    )


def _products(plan: Plan, target: Target, rows: int, columns: int, depth: int) -> float:
    tile, size = plan.tile, plan.problem.element_bytes
    if plan.is_inner:
        steps = _ceil(depth, tile.lanes) * _ceil(rows, tile.rows) * _ceil(columns, tile.columns)
        read = (rows * _ceil(columns, tile.columns) + columns) * depth * size
        return max(steps * cycles_of_a_step(tile, target), read / bytes_per_cycle(target, read))
    strips = _ceil(rows, tile.rows)
    cycles = strips * _ceil(columns, tile.columns) * depth * cycles_of_a_step(tile, target)
    # Each strip of A meets all of the panel of B, which comes from where it stays.
    panel = min(columns, plan.column_block) * min(depth, plan.depth_block) * size
    streamed = strips * columns * depth * size / bytes_per_cycle(target, panel)
    return max(cycles, streamed)


def _packing(plan: Plan, target: Target, rows: int, columns: int, depth: int) -> float:
    a, b = rows * depth, depth * columns
    times = _ceil(columns, plan.column_block)
    return _moves(plan.pack_a, a, a * times, plan, target) + _moves(plan.pack_b, b, b, plan, target)


def _moves(packing: str, operand: int, elements: int, plan: Plan, target: Target) -> float:
    """Return the cycles in which `elements` elements of an operand are packed."""
    if packing == "none":
        return 0.0
    size = plan.problem.element_bytes
    read = elements * size / bytes_per_cycle(target, operand * size)
    written = elements * size / bytes_per_cycle(target, target.cache(1).size + 1)
    by_element = {"scalar": NEST.scalar_cycles, "transpose": NEST.transposed_cycles}
    return read + written + by_element.get(packing, 0.0) * elements


def _result(plan: Plan, target: Target, rows: int, columns: int, depth: int) -> float:
    size = plan.problem.element_bytes
    passes = max(1, _ceil(depth, plan.depth_block))
    moves = 2 * passes - (1 if plan.problem.overwrites else 0)
    elements = rows * columns
    one_by_one = 0.0 if plan.pieces_c or plan.is_inner else NEST.scalar_cycles * elements * passes
    return moves * elements * size / bytes_per_cycle(target, elements * size) + one_by_one


def _ceil(size: int, step: int) -> int:
    return -(-size // max(1, step))
