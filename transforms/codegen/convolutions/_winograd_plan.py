"""Convolutions by Winograd's F(2x2, 3x3): which ops they are, and their plan, if it is quicker.

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
from typing import Any, Literal

from linalg_ext.bindings import ir
from linalg_ext.target import Target, current
from linalg_ext.target.analytic import bytes_per_cycle
from linalg_ext.target.text import table
from linalg_ext.transforms.analysis.buffers import buffer_of
from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.base.parameters import has_factors
from linalg_ext.transforms.codegen.base.payload import Payload
from linalg_ext.transforms.codegen.contractions.contraction_plan import Tile, cycles_of_a_step

from ._window_plan import Loop, WindowProblem

TILE = 4
"""Rows and columns of the input that a tile has; twice that is 16 products."""

RESULTS = 2
"""Rows and columns of results that a tile gives."""

TAPS = 3
"""Rows and columns of a filter."""

POINTS = TILE * TILE
"""Products of matrices."""

Lanes = Literal["columns", "channels"]
"""The dimension that is contiguous in memory, and so along the lanes of vectors."""


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
        lanes: the dimension along vectors.
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
        """Return the static size of a loop that is not over images."""
        return self.problem.size(loop) or 0

    def tiles(self, loop: str) -> int:
        """Return the number of tiles along rows or columns."""
        return -(-self.size(loop) // RESULTS)

    @property
    def has_filters_in_lanes(self) -> bool:
        """True where filters are contiguous, element by element, as the results of channels are."""
        return self.lanes == "channels" and self.problem.stride(self.filters, self.results) == 1

    @property
    def vector(self) -> str:
        """The loop over results that vectors run along."""
        return self.columns if self.lanes == "columns" else self.results


def find_convolution(problem: WindowProblem) -> Convolution | None:
    """Return a contraction as a 3 x 3 convolution of f32 with stride 1; else None."""
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
        read_loop, written_loop = vectors
        steps = {problem.stride(place, written_loop) for place in problem.finishing}
        beside = problem.stride(window, read_loop), problem.stride(problem.output, written_loop)
        if beside == (1, 1) and steps <= {0, 1}:
            return Convolution(
                problem, window, filters, batch, rows, columns, result, channel, (tap_y, tap_x),
                "columns" if lanes == "columns" else "channels",
            )  # fmt: skip
    return None


def _slid(
    problem: WindowProblem, window: int, images: set[str], summed: set[str]
) -> Iterator[tuple[int, str, str]]:
    """Yield the stride and both loops along which a window of 3 slides one by one."""
    for over, tap in itertools.product(sorted(images), sorted(summed)):
        stride = problem.stride(window, over)
        if stride and problem.stride(window, tap) == stride and problem.size(tap) == TAPS:
            yield stride, over, tap


def sized_convolution(
    images: int | None, channels: int, results: int, rows: int, columns: int
) -> Convolution:
    """Return a convolution of known sizes, channels first, before its operands are in memory."""
    names = ("images", "results", "rows", "columns", "channels", "down", "along")
    sizes = (images, results, rows, columns, channels, TAPS, TAPS)
    loops = tuple(
        Loop(name, size, is_parallel=place < 4)
        for place, (name, size) in enumerate(zip(names, sizes, strict=True))
    )
    problem = WindowProblem(loops, {}, 2, frozenset({0}), Payload(3, (), 2), None)
    image, result, row, column, channel, *taps = names
    return Convolution(
        problem, 0, 1, (image,), row, column, result, channel, (taps[0], taps[1]), "columns"
    )


@dataclass(frozen=True)
class WinogradPlan:
    """The plan of a convolution by Winograd's algorithm. Its `repr` is a table.

    Attributes:
        convolution: the convolution.
        tile: the tile of the products: filters by tiles, or tiles by filters if lanes are channels.
        rows: the rows of tiles in a block.
        columns: the columns of tiles in a block.
        strips: the strips of filters whose sums are transformed back at once.
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
        return self.convolution.problem

    @property
    def strip(self) -> int:
        return self.tile.rows if self.convolution.lanes == "columns" else self.tile.columns

    @property
    def step(self) -> int:
        """The number of tiles that are multiplied at once."""
        return self.tile.columns if self.convolution.lanes == "columns" else self.tile.rows

    @property
    def all_strips(self) -> int:
        return -(-self.convolution.size(self.convolution.results) // self.strip)

    @property
    def filter_elements(self) -> int:
        channels = self.convolution.size(self.convolution.channels)
        return self.all_strips * POINTS * channels * self.strip

    @property
    def filter_rows(self) -> int:
        """The number of rows of a strip's length that filters take in front of their factors."""
        c = self.convolution
        return -(-c.size(c.results) * c.size(c.channels) * TAPS * TAPS // self.strip)

    @property
    def block(self) -> int:
        return self.rows * self.columns

    def __repr__(self) -> str:
        c = self.convolution
        images = " ".join(f"{n}:{self.problem.size(n) or '?'}" for n in c.batch)
        sizes = " ".join(f"{n}:{c.size(n)}" for n in (c.results, c.rows, c.columns))
        start, epilogue = self.problem.start, self.problem.epilogue
        rows = [
            ("winograd", "f32, 2 x 2 results of 16 products, not 36"),
            ("results", f"{images} {sizes}".strip()),
            ("window", " ".join(f"{n}:{c.size(n)}" for n in (c.channels, *c.taps))),
            ("vectors", f"of {self.tile.lanes} {c.vector if c.lanes == 'columns' else 'channels'}"),
            ("tile", f"{self.tile.rows} x {self.tile.vectors} vectors"),
            ("block", f"{self.rows} x {self.columns} tiles, {self.strips * self.strip} filters"),
            ("filters", "transformed before" if self.is_prepared else "transformed at each call"),
            ("result", f"starts from {start or 'the destination'}"),
            *([("epilogue", epilogue.payload.summary)] if epilogue else []),
        ]
        return table(rows)


CHOICE = "convolutions.winograd"
"""The note of a target that says whether it is done: never, always where it can be, or, where there
is no such note, where it is quicker by the model."""

_LEAST_GAIN = 0.85
"""The limit on the estimate, as a share of the direct time: a model is not a measurement."""

_FILTER_CYCLES = 25.0
"""For a filter of one channel, or a vector of them: 9 loads, 28 sums, 16 stores."""

_INPUT_CYCLES = {"columns": 48.0, "channels": 32.0}
"""For a vector of tiles: 16 loads, 32 sums, 16 stores, and shuffles of columns into lanes."""

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
        is_prepared: True where the factors of the filters are there before a call.
        strip: how many filters a strip of those has; None for the best number.
    """
    choice = target.note(CHOICE, bool)
    if choice is False or not machine.has_fma:
        return None
    plans = [
        replace(plan, is_prepared=is_prepared)
        for plan in _plans(convolution, machine)
        if strip in (None, plan.strip)
    ]
    best = min(plans, key=lambda plan: cycles(plan, target), default=None)
    if best is None or choice:
        return best
    images = math.prod(convolution.problem.size(name) or 1 for name in convolution.batch)
    whole = images * cycles(best, target)
    if not is_prepared:
        whole += filter_cycles(convolution, best.tile.lanes)
    return best if whole < _LEAST_GAIN * images * direct_cycles(convolution, target) else None


def _plans(convolution: Convolution, machine: Machine) -> Iterator[WinogradPlan]:
    """Yield the plans to choose from: tiles of the products, and blocks that divide rows evenly."""
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
    """Yield the tiles that hide the latency of sums, and leave registers for factors."""
    waiting = machine.fma_units * machine.fma_latency
    for vectors in (2, 3):
        for rows in range(2, machine.vector_registers):
            if (rows + 1) * vectors <= machine.vector_registers - 2 and rows * vectors >= waiting:
                yield Tile(rows, vectors, lanes)


def _strips(plan: WinogradPlan, machine: Machine) -> int:
    """Return the number of strips of filters whose sums fit in a quarter of L2."""
    strip_bytes = POINTS * plan.block * plan.strip * 4
    return min(plan.all_strips, max(1, machine.l2_bytes // 4 // strip_bytes))


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
        read_vectors, written_vectors = vectors * channels, vectors * results
    else:
        read_vectors, written_vectors = (
            plan.block * -(-count // lanes) for count in (channels, results)
        )
    transforms = read_vectors * _INPUT_CYCLES[c.lanes] + written_vectors * _RESULT_CYCLES
    return blocks * (steps * cycles_of_a_step(plan.tile, target) + moved + transforms)


def filter_cycles(convolution: Convolution, lanes: int) -> float:
    """Return the cycles of the transform of the filters, in vectors of `lanes` where possible."""
    c = convolution
    beside = lanes if c.has_filters_in_lanes else 1
    return _FILTER_CYCLES * c.size(c.channels) * -(-c.size(c.results) // beside)


def direct_cycles(convolution: Convolution, target: Target) -> float:
    c = convolution
    names = (c.rows, c.columns, c.channels, c.results, *c.taps)
    flops = 2 * math.prod(c.size(name) for name in names)
    return flops / target.flops_per_cycle("f32") / _DIRECT_EFFICIENCY


def winograd_plan_for(convolution: Convolution, op: Any, machine: Machine) -> WinogradPlan | None:
    """The plan of a convolution on buffers, with prepared factors where there are some.

    The filters of the op may be a view of an argument that has their factors behind.
    """
    filters = op.operands[convolution.filters]
    width = _width(filters)
    if width is not None:
        plan = make_winograd_plan(convolution, machine, current(), is_prepared=True, strip=width)
        if plan is not None and _is_all(filters, plan):
            return plan
    return make_winograd_plan(convolution, machine, current())


def _width(filters: Any) -> int | None:
    """Return the number of filters in a strip of prepared factors; None without such factors."""
    argument = buffer_of(filters).value
    if argument == filters or not has_factors(argument):
        return None
    type_ = argument.type
    dense = ir.MemRefType.get(type_.shape, ir.MemRefType(filters.type).element_type)
    if type_ != dense or type_.rank != 2 or not type_.has_static_shape:
        return None
    return int(type_.shape[-1])


def _is_all(filters: Any, plan: WinogradPlan) -> bool:
    """Return whether filters fill the part of their argument in front of the factors.

    They must be contiguous and begin at its first element.
    """
    strides, offset = ir.MemRefType(filters.type).get_strides_and_offset()
    shape = list(filters.type.shape)
    dense = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    elements = plan.filter_rows * plan.strip + plan.filter_elements
    argument_elements = math.prod(buffer_of(filters).value.type.shape)
    return offset == 0 and list(strides) == dense and argument_elements == elements
