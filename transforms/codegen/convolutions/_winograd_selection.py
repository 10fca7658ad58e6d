"""The plan of a convolution by Winograd's F(2x2, 3x3), if it is quicker than multiplying out.

Blocks of tiles are transformed, multiplied and transformed back while they are in L2: 16 matrices
of tiles by channels, each of which meets one of channels by filters. A model of cycles weighs that
against the products of the convolution: the transforms grow with the channels of one side alone,
the products with both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from linalg_ext.target import Target
from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.contractions.contraction_cost import (
    bytes_per_cycle,
    cycles_of_a_step,
)
from linalg_ext.transforms.codegen.contractions.contraction_plan import Tile

from ._winograd_convolution import Convolution
from ._winograd_plan import WinogradPlan
from ._winograd_transforms import POINTS

CHOICE = "convolutions.winograd"
"""The note of a target that says whether it is done: never, always where it can be, or, where there
is no such note, where it is quicker by the model."""

_LEAST_GAIN = 0.85
"""The limit on the estimate, as a share of the direct time: a model is no measurement."""

_FILTER_CYCLES = 25.0
"""For a filter of one channel, or a vector of them: 9 loads, 28 sums, 16 stores."""

_INPUT_CYCLES = {"columns": 48.0, "channels": 32.0}
"""For a vector of tiles: 16 loads, 32 sums, 16 stores, and what brings columns into lanes."""

_RESULT_CYCLES = 30.0
"""For a vector of tiles: 16 loads, 24 sums, 4 stores."""

_DIRECT_EFFICIENCY = 0.75
"""The rate of multiply-adds in a direct convolution, as a share of the peak."""


def make_winograd_plan(
    convolution: Convolution,
    machine: Machine,
    target: Target,
    *,
    is_prepared: bool = False,
    strip: int | None = None,
) -> WinogradPlan | None:
    """The plan of a convolution by Winograd's algorithm; None where multiplying out is quicker.

    Args:
        convolution: what is computed.
        machine: one core of the target.
        target: that it is made for.
        is_prepared: True where the factors of the filters are there before a call.
        strip: how many filters a strip of those has; None for the best number.
    """
    wanted = target.note(CHOICE, bool)
    if wanted is False or not machine.has_fma:
        return None
    plans = [
        replace(plan, is_prepared=is_prepared)
        for plan in _plans(convolution, machine)
        if strip in (None, plan.strip)
    ]
    best = min(plans, key=lambda plan: cycles(plan, target), default=None)
    if best is None or wanted:
        return best
    images = math.prod(convolution.problem.size(name) or 1 for name in convolution.batch)
    whole = images * cycles(best, target)
    if not is_prepared:
        whole += filter_cycles(convolution, best.tile.lanes)
    return best if whole < _LEAST_GAIN * images * direct_cycles(convolution, target) else None


def _plans(convolution: Convolution, machine: Machine) -> Iterator[WinogradPlan]:
    """The plans to choose from: the tiles of the products, and blocks that divide rows evenly."""
    lanes = machine.vector_bytes // 4
    rows, columns = (convolution.tiles(n) for n in (convolution.rows, convolution.columns))
    for tile in _tiles(lanes, machine):
        step = tile.columns if convolution.lanes == "columns" else tile.rows
        shapes = {(-(-rows // parts), columns) for parts in range(1, rows + 1)}
        for count in range(1, -(-columns // lanes)):
            shapes.add((1, -(-count * lanes // step) * step))
        for shape in sorted(shapes):
            plan = WinogradPlan(convolution, tile, *shape, 1)
            yield replace(plan, strips=_strips(plan, machine))


def _tiles(lanes: int, machine: Machine) -> Iterator[Tile]:
    """Those that hide what a sum waits for, and leave registers for what is multiplied."""
    waiting = machine.fma_units * machine.fma_latency
    for vectors in (2, 3):
        for rows in range(2, machine.vector_registers):
            if (rows + 1) * vectors <= machine.vector_registers - 2 and rows * vectors >= waiting:
                yield Tile(rows, vectors, lanes)


def _strips(plan: WinogradPlan, machine: Machine) -> int:
    """Return the number of strips of filters whose sums fit in a quarter of L2."""
    one = POINTS * plan.block * plan.strip * 4
    return min(plan.all_strips, max(1, machine.l2_bytes // 4 // one))


def cycles(plan: WinogradPlan, target: Target) -> float:
    """Return the cycles of one image, without the transform of the filters."""
    c, lanes = plan.convolution, plan.tile.lanes
    channels, results = c.size(c.channels), c.size(c.results)
    blocks = -(-c.tiles(c.rows) // plan.rows) * -(-c.tiles(c.columns) // plan.columns)
    steps = POINTS * -(-plan.block // plan.step) * plan.all_strips * channels
    parts = -(-plan.all_strips // plan.strips)
    inputs, sums, filters = (
        4 * elements
        for elements in (
            POINTS * plan.block * channels,
            POINTS * plan.block * plan.strips * plan.strip,
            plan.filter_elements,
        )
    )
    # Each part of the filters meets all inputs, and its sums are written and read.
    near, far = inputs + sums + filters // parts, inputs + sums + filters
    moved = (1 + parts) * inputs / bytes_per_cycle(target, near)
    moved += 2 * parts * sums / bytes_per_cycle(target, near)
    moved += filters / bytes_per_cycle(target, far)
    if c.lanes == "columns":
        vectors = plan.rows * -(-plan.columns // lanes)
        given, made = vectors * channels, vectors * results
    else:
        given, made = (plan.block * -(-count // lanes) for count in (channels, results))
    transforms = given * _INPUT_CYCLES[c.lanes] + made * _RESULT_CYCLES
    return blocks * (steps * cycles_of_a_step(plan.tile, target) + moved + transforms)


def filter_cycles(convolution: Convolution, lanes: int) -> float:
    """Return the cycles of the transform of the filters, in vectors of `lanes` where possible."""
    c = convolution
    beside = lanes if c.has_filters_in_lanes else 1
    return _FILTER_CYCLES * c.size(c.channels) * -(-c.size(c.results) // beside)


def direct_cycles(convolution: Convolution, target: Target) -> float:
    """Return the cycles of one image in a direct convolution."""
    c = convolution
    names = (c.rows, c.columns, c.channels, c.results, *c.taps)
    flops = 2 * math.prod(c.size(name) for name in names)
    return flops / target.flops_per_cycle("f32") / _DIRECT_EFFICIENCY
