"""The plan of a convolution by Winograd's F(2x2, 3x3), where that is quicker than multiplying out.

Blocks of tiles are transformed, multiplied and transformed back while they are in L2: 16 matrices
of tiles by channels, each of which meets one of channels by filters. A model of cycles weighs that
against the products of the convolution: the transforms grow with the channels of one side alone,
the products with both.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from linalg_ext.target import Target
from linalg_ext.transforms.codegen._machine import Machine
from linalg_ext.transforms.codegen.contractions._estimates import bytes_per_cycle, cycles_of_a_step
from linalg_ext.transforms.codegen.contractions._plan import Tile

from ._window_body import Body
from ._window_problem import Loop, WindowProblem
from ._winograd_transforms import POINTS, RESULTS, TAPS

CHOICE = "convolutions.winograd"
"""The note of a target that says whether it is done: never, always where it can be, or, where there
is no such note, where it is quicker by the model."""

Lanes = Literal["columns", "channels"]
"""What lies side by side in memory, and so in vectors."""


@dataclass(frozen=True)
class Convolution:
    """A 3 x 3 convolution of stride 1: the loop of each of its dimensions.

    Attributes:
        problem: the convolution.
        window: the place of the input.
        filters: the place of the filters.
        batch: loops over images.
        rows: the loop over rows of results.
        columns: the loop over their columns.
        results: the loop over channels of results, one for each filter.
        channels: the loop over channels of the input.
        taps: the loops over rows and columns of a filter.
        lanes: what vectors run along.
    """

    problem: WindowProblem
    window: int
    filters: int
    batch: tuple[str, ...]
    rows: str
    columns: str
    results: str
    channels: str
    taps: tuple[str, str]
    lanes: Lanes

    def size(self, loop: str) -> int:
        """The rounds of a loop that is not one over images."""
        return self.problem.size(loop) or 0

    def tiles(self, loop: str) -> int:
        """How many tiles there are along rows or columns."""
        return -(-self.size(loop) // RESULTS)

    @property
    def vector(self) -> str:
        """The loop over results that vectors run along."""
        return self.columns if self.lanes == "columns" else self.results


@dataclass(frozen=True)
class WinogradPlan:
    """How a convolution is computed. Its `repr` is a table.

    Attributes:
        convolution: what is computed.
        tile: of the products: filters by tiles, or tiles by filters where channels are in lanes.
        rows: of tiles, in a block.
        columns: of tiles, in a block.
        strips: of filters, whose sums are transformed back at once.
        is_prepared: whether the factors of the filters are there before a call.
    """

    convolution: Convolution
    tile: Tile
    rows: int
    columns: int
    strips: int
    is_prepared: bool = False

    @property
    def problem(self) -> WindowProblem:
        """The convolution as a reduction over windows."""
        return self.convolution.problem

    @property
    def strip(self) -> int:
        """How many filters a strip has."""
        return self.tile.rows if self.convolution.lanes == "columns" else self.tile.columns

    @property
    def step(self) -> int:
        """How many tiles are multiplied at once."""
        return self.tile.columns if self.convolution.lanes == "columns" else self.tile.rows

    @property
    def all_strips(self) -> int:
        """How many strips the filters make."""
        return -(-self.convolution.size(self.convolution.results) // self.strip)

    @property
    def filter_elements(self) -> int:
        """Elements of the transformed filters."""
        channels = self.convolution.size(self.convolution.channels)
        return self.all_strips * POINTS * channels * self.strip

    @property
    def block(self) -> int:
        """How many tiles a block has."""
        return self.rows * self.columns

    def __repr__(self) -> str:
        c = self.convolution
        images = " ".join(f"{n}:{self.problem.size(n) or '?'}" for n in c.batch)
        sizes = " ".join(f"{n}:{c.size(n)}" for n in (c.results, c.rows, c.columns))
        start = self.problem.start
        rows = [
            ("winograd", "f32, 2 x 2 results of 16 products, not 36"),
            ("results", f"{images} {sizes}".strip()),
            ("window", " ".join(f"{n}:{c.size(n)}" for n in (c.channels, *c.taps))),
            ("vectors", f"of {self.tile.lanes} {c.vector if c.lanes == 'columns' else 'channels'}"),
            ("tile", f"{self.tile.rows} x {self.tile.vectors} vectors"),
            ("block", f"{self.rows} x {self.columns} tiles, {self.strips * self.strip} filters"),
            ("filters", "transformed before" if self.is_prepared else "transformed at each call"),
            ("result", f"starts from {start or 'what is there'}"),
        ]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:{width}}  {text}" for name, text in rows)


def find_convolution(problem: WindowProblem) -> Convolution | None:
    """The dimensions of a problem, if it is a 3 x 3 convolution of f32 with a stride of 1.

    Args:
        problem: a contraction of two operands.
    """
    if {argument.element for argument in problem.arguments.values()} != {"f32"}:
        return None
    if any(loop.size == 0 for loop in problem.loops):
        return None
    if [step.name for step in problem.body.steps] != ["vector.fma"] or len(problem.inputs) != 2:
        return None
    window, filters = sorted(problem.inputs, key=lambda place: place not in problem.windows)
    if filters in problem.windows or window not in problem.windows:
        return None
    inside = {p: set(problem.arguments[p].dimensions) for p in (window, filters, problem.output)}
    images = inside[window] & inside[problem.output] - inside[filters]
    results = inside[filters] & inside[problem.output] - inside[window]
    summed = inside[window] & inside[filters] - inside[problem.output]
    if set.union(*inside.values()) != images | results | summed or len(results) != 1:
        return None
    slid = sorted(_slid(problem, window, images, summed))
    if len(slid) != 2:
        return None
    (_, columns, tap_x), (_, rows, tap_y) = slid
    channels = summed - {tap_x, tap_y}
    if len({rows, columns, tap_x, tap_y}) < 4 or len(channels) != 1:
        return None
    (result,), (channel,) = results, channels
    batch = tuple(loop.name for loop in problem.loops if loop.name in images - {rows, columns})
    names = (rows, columns, result, channel)
    if any(problem.size(name) is None for name in names):
        return None
    if any(problem.stride(p, n) is None for p in problem.arguments for n in (*names, tap_x, tap_y)):
        return None
    for lanes, vectors in (("columns", (columns, columns)), ("channels", (channel, result))):
        given, made = vectors
        steps = {problem.stride(place, made) for place in problem.finishing}
        beside = problem.stride(window, given), problem.stride(problem.output, made)
        if beside == (1, 1) and steps <= {0, 1}:
            return Convolution(
                problem, window, filters, batch, rows, columns, result, channel, (tap_y, tap_x),
                "columns" if lanes == "columns" else "channels",
            )  # fmt: skip
    return None


def _slid(
    problem: WindowProblem, window: int, images: set[str], summed: set[str]
) -> Iterator[tuple[int, str, str]]:
    """The loops along which a window of 3 slides one by one: its stride, and both loops."""
    for over, tap in itertools.product(sorted(images), sorted(summed)):
        stride = problem.stride(window, over)
        if stride and problem.stride(window, tap) == stride and problem.size(tap) == TAPS:
            yield stride, over, tap


def rows_of_filters(elements: int, width: int) -> int:
    """How many rows of so many elements the filters take that prepared factors come after."""
    return -(-elements // width)


def sized_convolution(
    images: int | None, channels: int, results: int, rows: int, columns: int
) -> Convolution:
    """A convolution of given sizes whose channels come first, before its operands are in memory."""
    names = ("images", "results", "rows", "columns", "channels", "down", "along")
    sizes = (images, results, rows, columns, channels, TAPS, TAPS)
    loops = tuple(
        Loop(name, size, is_parallel=place < 4)
        for place, (name, size) in enumerate(zip(names, sizes, strict=True))
    )
    problem = WindowProblem(loops, {}, 2, frozenset({0}), Body(3, (), 2), None)
    image, result, row, column, channel, *taps = names
    return Convolution(
        problem, 0, 1, (image,), row, column, result, channel, (taps[0], taps[1]), "columns"
    )


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
        is_prepared: whether the factors of the filters are there before a call.
        strip: how many filters a strip of those has; whatever is best where nothing is said.
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
        whole += filter_cycles(convolution)
    return best if whole < _LEAST_GAIN * images * direct_cycles(convolution, target) else None


_LEAST_GAIN = 0.85
"""Of the time: a model is no measurement."""

_FILTER_CYCLES = 25.0
"""For a filter of one channel: 9 loads, 28 sums, 16 stores."""

_INPUT_CYCLES = {"columns": 48.0, "channels": 32.0}
"""For a vector of tiles: 16 loads, 32 sums, 16 stores, and what brings columns into lanes."""

_RESULT_CYCLES = 30.0
"""For a vector of tiles: 16 loads, 24 sums, 4 stores."""

_DIRECT_EFFICIENCY = 0.75
"""Of the multiply-adds in a direct convolution, beside the peak."""


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
    """How many strips of filters have their sums in a quarter of L2."""
    one = POINTS * plan.block * plan.strip * 4
    return min(plan.all_strips, max(1, machine.l2_bytes // 4 // one))


def cycles(plan: WinogradPlan, target: Target) -> float:
    """What one image takes, without the transform of the filters."""
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


def filter_cycles(convolution: Convolution) -> float:
    """What the transform of the filters takes."""
    c = convolution
    return _FILTER_CYCLES * c.size(c.channels) * c.size(c.results)


def direct_cycles(convolution: Convolution, target: Target) -> float:
    """What one image takes where it is multiplied out."""
    c = convolution
    names = (c.rows, c.columns, c.channels, c.results, *c.taps)
    flops = 2 * math.prod(c.size(name) for name in names)
    return flops / target.flops_per_cycle("f32") / _DIRECT_EFFICIENCY
