"""The nest of a convolution by Winograd's F(2x2, 3x3).

Four neighbouring results of a 3 x 3 convolution come of a 4 x 4 part of the input, a tile. Toom and
Cook's interpolation at 0, 1, -1 and infinity (S. Winograd, 1980) makes them of 16 products, where
there are 36 otherwise. For many channels (A. Lavin and S. Gray, CVPR 2016) each of the 16 is a sum
over channels: a product of matrices. In two dimensions each transform is done along both:

    of inputs    d0 - d2, d1 + d2, d2 - d1, d1 - d3
    of filters   g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2
    of sums      m0 + m1 + m2, m1 - m2 - m3

An infinity in a tile may become NaN, since it is subtracted from itself. No element reaches a
result that it has no part in. The memory in between:

    factors   U[strip, point, channel, filter of the strip], all of them, once for a call
    inputs    V[point, channel, tile] of a block; V[point, tile, channel] where channels are lanes
    sums      M[point, filter, tile] of a block and some strips; M[point, tile, filter]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from linalg_ext.transforms.analysis.fills import ZEROS
from linalg_ext.transforms.codegen.base.flat_memory import (
    FlatOperand,
    Memory,
    add,
    multiply_add,
    zero_vector,
)
from linalg_ext.transforms.codegen.base.writer import Index, Writer
from linalg_ext.transforms.codegen.contractions.contraction_plan import round_up

from ._window_nest import Lanes, OperandsNest, Reader, moved_operands
from ._window_plan import WindowPlan
from ._winograd_plan import POINTS, RESULTS, TAPS, TILE, WinogradPlan


class WinogradNest(OperandsNest):
    """Writes the nest of one plan.

    The last operand is the memory of filters and factors where the plan has the factors from there.
    """

    def __init__(self, plan: WinogradPlan, types: Sequence[str]) -> None:
        super().__init__(plan.problem, types, plan.tile.lanes)
        self._plan = plan
        self._last = f"A{len(types) - 1}", types[-1]

    def _write(self) -> None:
        w, plan, c = self._w, self._plan, self._plan.convolution
        operands = self._operands
        channels, filters = c.size(c.channels), plan.strips * plan.strip
        inputs = self._points(channels, channels + plan.tile.lanes)
        sums = self._points(filters, filters)
        factors = self._factors(operands[c.filters])
        self._inputs = Inputs(w, plan, inputs)
        self._products = Products(w, plan, factors, inputs, sums)
        self._results = Results(w, plan, sums, self._epilogue_scalars())
        rows, columns = c.tiles(c.rows), c.tiles(c.columns)
        with ExitStack() as images:
            for name in c.batch:
                at = images.enter_context(w.loop(0, self._sizes[name]))
                operands = moved_operands(operands, name, at)
            with w.loop(0, rows, plan.rows) as row, w.loop(0, columns, plan.columns) as column:
                height = w.part(plan.rows, rows, row)
                width = w.part(plan.columns, columns, column)
                self._write_block(operands, Block(row, column, height, width))

    def _write_block(self, operands: Mapping[int, FlatOperand], block: Block) -> None:
        w, plan = self._w, self._plan
        self._inputs.write(operands[plan.convolution.window], block)
        with w.loop(0, plan.all_strips, plan.strips) as first:
            strips = w.part(plan.strips, plan.all_strips, first)
            with w.loop(0, POINTS) as point:
                self._products.write(point, first, strips, w.mul(block.height, plan.columns))
            self._results.write(operands, block, w.mul(first, plan.strip))

    def _factors(self, filters: FlatOperand) -> Memory:
        if self._plan.is_prepared:
            return _prepared_factors(self._w, self._plan, *self._last)
        factors = self._allocated(self._plan.filter_elements, "f32")
        Factors(self._w, self._plan, factors).write(filters)
        return factors

    def _points(self, channels: int, pitch: int) -> Points:
        """Allocate matrices of channels by tiles, or of tiles by channels."""
        plan = self._plan
        tiles = round_up(plan.block, plan.step)
        rows = tiles
        if plan.convolution.lanes == "columns":
            rows, pitch = channels, tiles + plan.tile.lanes
        pitch = _spread(pitch)
        plane = _spread(rows * pitch)
        return Points(self._allocated(POINTS * plane, "f32"), plane, pitch)


_LINE = 16
"""Elements of a line of a cache."""


@dataclass(frozen=True)
class Block:
    """Some rows and columns of tiles, from a row and a column on."""

    row: Index
    column: Index
    height: Index
    width: Index


@dataclass(frozen=True)
class Points:
    """A matrix for each of the 16 points, in scratch memory.

    Attributes:
        memory: all of them.
        plane: elements from one matrix to the next.
        pitch: elements from one row to the next.
    """

    memory: Memory
    plane: int
    pitch: int


def _spread(size: int) -> int:
    """Return `size` elements or more, an odd number of lines, which meets all sets of L1."""
    return (-(-size // _LINE) | 1) * _LINE


class Part:
    """Writes a part of the nest of a plan."""

    def __init__(self, w: Writer, plan: WinogradPlan) -> None:
        self._w = w
        self._plan = plan
        self._conv = plan.convolution
        self._lanes = plan.tile.lanes
        self._vector = f"vector<{self._lanes}xf32>"
        self._channels = self._conv.size(self._conv.channels)
        self._results = self._conv.size(self._conv.results)

    def _along_columns(self, block: Block, write: Callable[[Index, bool], None]) -> None:
        """Write vectors of tiles along a row of a block, in whole and in part."""
        w, lanes = self._w, self._lanes
        inside = self._conv.size(self._conv.columns) // RESULTS
        whole = w.max(w.min(block.width, w.sub(inside, block.column)), 0)
        self._along(block.width, w.sub(whole, w.rem(whole, lanes)), write)

    def _along_channels(self, count: Index, write: Callable[[Index, bool], None]) -> None:
        """Write vectors of channels, in whole and in part."""
        self._along(count, self._w.sub(count, self._w.rem(count, self._lanes)), write)

    def _along(self, count: Index, whole: Index, write: Callable[[Index, bool], None]) -> None:
        w = self._w
        if whole != 0:
            with w.loop(0, whole, self._lanes) as at:
                write(at, True)
        if whole != count:
            with w.loop(whole, count, self._lanes) as at:
                write(at, False)


class Factors(Part):
    """Writes the transform of the filters."""

    def __init__(self, w: Writer, plan: WinogradPlan, factors: Memory) -> None:
        super().__init__(w, plan)
        self._factors = factors

    def write(self, filters: FlatOperand) -> None:
        """Write the transform of all filters, in strips, in the order of their memory."""
        w, c = self._w, self._conv
        if c.has_filters_in_lanes:
            with w.loop(0, self._channels) as channel:
                moved = filters.moved(c.channels, channel)
                self._along_channels(
                    self._results, lambda at, whole: self._write_vector(moved, channel, at, whole)
                )
            return
        with w.loop(0, self._results) as result, w.loop(0, self._channels) as channel:
            taps = filters.moved(c.results, result).moved(c.channels, channel)
            loaded = [[taps.memory.load(place) for place in row] for row in self._places(taps)]
            values = transform_filter(w, "f32", loaded)
            for place, value in zip(self._points(result, channel), values, strict=True):
                self._factors.store(value, place)

    def _write_vector(self, filters: FlatOperand, channel: Index, at: Index, whole: bool) -> None:
        """Write the transform of a vector of filters, which is within a strip."""
        taps = filters.moved(self._conv.results, at)
        mask = None if whole else taps.memory.below(self._w.sub(self._results, at))
        loaded = [
            [taps.memory.load_vector(place, mask) for place in row] for row in self._places(taps)
        ]
        values = transform_filter(self._w, self._vector, loaded)
        for place, value in zip(self._points(at, channel), values, strict=True):
            self._factors.store_vector(value, place)

    def _places(self, taps: FlatOperand) -> list[list[Index]]:
        """Return the offsets of a filter's elements, row by row."""
        w = self._w
        down, along = (taps.strides[tap] for tap in self._conv.taps)
        return [
            [w.add(taps.base, w.mul(down, y), w.mul(along, x)) for x in range(TAPS)]
            for y in range(TAPS)
        ]

    def _points(self, result: Index, channel: Index) -> list[Index]:
        """Return the offsets of the 16 factors of one filter and channel."""
        w, strip = self._w, self._plan.strip
        plane = self._channels * strip
        base = w.add(
            w.mul(w.div(result, strip), POINTS * plane),
            w.mul(channel, strip),
            w.rem(result, strip),
        )
        return [w.add(base, point * plane) for point in range(POINTS)]


def _prepared_factors(w: Writer, plan: WinogradPlan, name: str, type_: str) -> Memory:
    """Return the factors behind the filters of an argument, given its name and type."""
    count, first = plan.filter_elements, plan.filter_rows * plan.strip
    line = f"memref<{first + count}xf32>"
    part = f"memref<{count}xf32, strided<[1], offset: {first}>>"
    whole = w.op(f"memref.collapse_shape %{name} [[0, 1]] : {type_} into {line}")
    factors = w.op(f"memref.subview {whole}[{first}] [{count}] [1] : {line} to {part}")
    return Memory(w, factors, part, "f32", plan.tile.lanes)


class Inputs(Part):
    """Writes the transform of the inputs."""

    def __init__(self, w: Writer, plan: WinogradPlan, inputs: Points) -> None:
        super().__init__(w, plan)
        self._inputs = inputs

    def write(self, window: FlatOperand, block: Block) -> None:
        w, c = self._w, self._conv
        if c.lanes == "columns":
            with w.loop(0, self._channels) as channel, w.loop(0, block.height) as row:
                moved = window.moved(c.channels, channel)
                base = w.add(w.mul(channel, self._inputs.pitch), w.mul(row, self._plan.columns))
                write = partial(self._write_tiles_beside, moved, w.add(block.row, row), block, base)
                self._along_columns(block, write)
            return
        with w.loop(0, block.height) as row, w.loop(0, block.width) as column:
            base = w.mul(w.add(w.mul(row, self._plan.columns), column), self._inputs.pitch)
            down = self._places(window, c.rows, w.add(block.row, row))
            along = self._places(window, c.columns, w.add(block.column, column))
            places = [[w.add(window.base, y, x) for x in along] for y in down]
            self._along_channels(
                self._channels, partial(self._write_tile, window.memory, places, base)
            )

    def _write_tiles_beside(
        self, window: FlatOperand, row: Index, block: Block, base: Index, at: Index, whole: bool
    ) -> None:
        """Write the transform of a vector of adjacent tiles."""
        w, lanes = self._w, self._lanes
        column = w.mul(w.add(block.column, at), RESULTS)
        left = w.sub(self._conv.size(self._conv.columns) + TAPS - 1, column)
        starts = [0, lanes, RESULTS, lanes + RESULTS]
        masks = [None if whole else window.memory.below(w.sub(left, start)) for start in starts]
        rows = []
        for place in self._places(window, self._conv.rows, row):
            loaded = [
                window.memory.load_vector(w.add(window.base, place, column, start), mask)
                for start, mask in zip(starts, masks, strict=True)
            ]
            rows.append([*self._parted(*loaded[:2]), *self._parted(*loaded[2:])])
        self._store_points(transform_inputs(w, self._vector, rows), w.add(base, at))

    def _parted(self, first: str, second: str) -> list[str]:
        """Return the elements of even and of odd numbers of two vectors."""
        picks = list(range(RESULTS * self._lanes))
        return [
            self._w.shuffle(first, second, picks[part::RESULTS], self._vector)
            for part in range(RESULTS)
        ]

    def _write_tile(
        self, memory: Memory, places: Sequence[Sequence[Index]], base: Index,
        channel: Index, whole: bool,
    ) -> None:  # fmt: skip
        """Write the transform of a vector of channels of a tile."""
        w = self._w
        mask = None if whole else memory.below(w.sub(self._channels, channel))
        loaded = [
            [memory.load_vector(w.add(place, channel), mask) for place in row] for row in places
        ]
        self._store_points(transform_inputs(w, self._vector, loaded), w.add(base, channel))

    def _places(self, window: FlatOperand, loop: str, tile: Index) -> list[Index]:
        """Return the offsets of a tile's rows or columns.

        The last offset comes twice for a tile with one less. No result uses the repeated elements.
        """
        w, size = self._w, self._conv.size(loop)
        first = w.mul(tile, RESULTS)
        numbers = [w.add(first, number) for number in range(TILE)]
        if size % RESULTS:
            numbers[-1] = w.min(numbers[-1], size + TAPS - RESULTS)
        return [w.mul(number, window.strides[loop]) for number in numbers]

    def _store_points(self, values: Sequence[str], base: Index) -> None:
        for point, value in enumerate(values):
            self._inputs.memory.store_vector(value, self._w.add(base, point * self._inputs.plane))


_Side = tuple[Memory, Index, int, int]
"""A side of a product: its memory and base, and the elements between channels and between lines."""


class Products(Part):
    """Writes the products."""

    def __init__(
        self, w: Writer, plan: WinogradPlan, factors: Memory, inputs: Points, sums: Points
    ) -> None:
        super().__init__(w, plan)
        self._factors = factors
        self._inputs = inputs
        self._sums = sums

    def write(self, point: Index, first: Index, strips: Index, tiles: Index) -> None:
        """Write the sums of one of the 16 points for a block of tiles and strips of filters."""
        w, plan = self._w, self._plan
        size = self._channels * plan.strip
        inputs, sums = (w.mul(point, points.plane) for points in (self._inputs, self._sums))

        def write(tile: Index, strip: Index) -> None:
            place = w.add(w.mul(w.add(first, strip), POINTS), point)
            filters = w.mul(strip, plan.strip)
            self._write_sums(inputs, w.mul(place, size), sums, tile, filters)

        if self._conv.lanes == "columns":
            with w.loop(0, tiles, plan.step) as tile, w.loop(0, strips) as strip:
                write(tile, strip)
        else:
            with w.loop(0, strips) as strip, w.loop(0, tiles, plan.step) as tile:
                write(tile, strip)

    def _write_sums(
        self, inputs: Index, factors: Index, sums: Index, tile: Index, filters: Index
    ) -> None:
        """Write a tile of sums in registers, over all channels."""
        w, shape, lanes = self._w, self._plan.tile, self._lanes
        strip, pitch, of_sums = self._plan.strip, self._inputs.pitch, self._sums.pitch
        if self._conv.lanes == "columns":
            spread = self._factors, factors, strip, 1
            beside = self._inputs.memory, w.add(inputs, tile), pitch, lanes
            place = w.add(sums, tile, w.mul(filters, of_sums))
        else:
            spread = self._inputs.memory, w.add(inputs, w.mul(tile, pitch)), 1, pitch
            beside = self._factors, factors, strip, lanes
            place = w.add(sums, filters, w.mul(tile, of_sums))

        def offsets(side: _Side, channel: Index, count: int) -> list[Index]:
            _, base, channels, step = side
            first = w.add(base, w.mul(channel, channels))
            return [w.add(first, number * step) for number in range(count)]

        start = [zero_vector(w, "f32", lanes)] * (shape.rows * shape.vectors)
        with w.carrying_loop(self._channels, 1, start, self._vector) as loop:
            channel, old, new, values = loop
            scalars = offsets(spread, channel, shape.rows)
            vectors = [beside[0].load_vector(at) for at in offsets(beside, channel, shape.vectors)]
            totals = iter(old)
            for at in scalars:
                left = w.broadcast(spread[0].load(at), "f32", self._vector)
                new += [
                    multiply_add(w, self._vector, left, right, next(totals)) for right in vectors
                ]
        for number, value in enumerate(values):
            row, at = divmod(number, shape.vectors)
            where = w.add(place, row * self._sums.pitch + at * lanes)
            self._sums.memory.store_vector(value, where)


class Results(Part):
    """Writes the transform of the sums."""

    def __init__(self, w: Writer, plan: WinogradPlan, sums: Points, scalars: Sequence[str]) -> None:
        super().__init__(w, plan)
        self._sums = sums
        self._scalars = scalars

    def write(self, operands: Mapping[int, FlatOperand], block: Block, first: Index) -> None:
        """Write the results of a block, of some strips of filters from a first one on."""
        count = self._w.part(self._plan.strips * self._plan.strip, self._results, first)
        if self._conv.lanes == "columns":
            self._write_along_columns(operands, block, first, count)
        else:
            self._write_along_channels(operands, block, first, count)

    def _write_along_columns(
        self, operands: Mapping[int, FlatOperand], block: Block, first: Index, count: Index
    ) -> None:
        w, c = self._w, self._conv
        with w.loop(0, count) as result, w.loop(0, block.height) as row:
            tile = w.add(block.row, row)
            moved = moved_operands(operands, c.results, w.add(first, result))
            moved = moved_operands(moved, c.rows, w.mul(tile, RESULTS))
            base = w.add(w.mul(result, self._sums.pitch), w.mul(row, self._plan.columns))
            self._along_columns(block, partial(self._finish_tiles_beside, moved, tile, block, base))

    def _write_along_channels(
        self, operands: Mapping[int, FlatOperand], block: Block, first: Index, count: Index
    ) -> None:
        w, c = self._w, self._conv
        with w.loop(0, block.height) as row, w.loop(0, block.width) as column:
            tile = w.add(block.row, row), w.add(block.column, column)
            moved = moved_operands(operands, c.rows, w.mul(tile[0], RESULTS))
            moved = moved_operands(moved, c.columns, w.mul(tile[1], RESULTS))
            base = w.mul(w.add(w.mul(row, self._plan.columns), column), self._sums.pitch)
            self._along_channels(
                count, partial(self._finish_tile, moved, tile, (first, count), base)
            )

    def _results_of(self, base: Index) -> Sequence[Sequence[str]]:
        """Return the 2 x 2 vectors of results of tiles."""
        places = [self._w.add(base, point * self._sums.plane) for point in range(POINTS)]
        sums = [self._sums.memory.load_vector(place) for place in places]
        return transform_sums(self._w, self._vector, sums)

    def _finish_tiles_beside(
        self, operands: Mapping[int, FlatOperand], tile: Index, block: Block,
        base: Index, at: Index, whole: bool,
    ) -> None:  # fmt: skip
        """Write the results of a vector of adjacent tiles, whose columns are in turn."""
        w, c = self._w, self._conv
        column = w.mul(w.add(block.column, at), RESULTS)
        moved = moved_operands(operands, c.columns, column)
        lanes = Lanes(None if whole else w.sub(c.size(c.columns), column))
        results = [self._in_turn(*row) for row in self._results_of(w.add(base, at))]
        for number, row in enumerate(results):
            with self._if_inside(c.rows, tile, number):
                reader = self._reader(moved, lanes)
                for part, value in enumerate(row):
                    self._store(reader, {c.rows: number, c.columns: part * self._lanes}, value)

    def _in_turn(self, left: str, right: str) -> list[str]:
        """Return the elements of two vectors in turn, as two vectors."""
        lanes = self._lanes
        picks = [part * lanes + lane for lane in range(lanes) for part in range(RESULTS)]
        return [
            self._w.shuffle(left, right, picks[at : at + lanes], self._vector)
            for at in range(0, RESULTS * lanes, lanes)
        ]

    def _finish_tile(
        self, operands: Mapping[int, FlatOperand], tile: tuple[Index, Index],
        filters: tuple[Index, Index], base: Index, at: Index, whole: bool,
    ) -> None:  # fmt: skip
        """Write a vector of channels of the results of a tile."""
        w, c = self._w, self._conv
        first, count = filters
        moved = moved_operands(operands, c.results, w.add(first, at))
        lanes = Lanes(None if whole else w.sub(count, at))
        for y, row in enumerate(self._results_of(w.add(base, at))):
            for x, value in enumerate(row):
                with self._if_inside(c.rows, tile[0], y), self._if_inside(c.columns, tile[1], x):
                    self._store(self._reader(moved, lanes), {c.rows: y, c.columns: x}, value)

    def _if_inside(self, loop: str, tile: Index, number: int) -> ExitStack:
        """Enter an `if` where a row or column of a tile's results may lie outside the result."""
        w, size, condition = self._w, self._conv.size(loop), ExitStack()
        if number and size % RESULTS:
            at = w.add(w.mul(tile, RESULTS), number)
            condition.enter_context(w.when(w.compare("slt", at, size)))
        return condition

    def _reader(self, operands: Mapping[int, FlatOperand], lanes: Lanes) -> Reader:
        plan = WindowPlan(self._plan.problem, self._conv.vector, self._lanes, {}, (), ())
        return Reader(self._w, plan, operands, lanes, {})

    def _store(self, reader: Reader, at: Mapping[str, int], value: str) -> None:
        w, problem = self._w, self._plan.problem
        if problem.start is None:
            value = add(w, reader.result(problem.output, at), value, self._vector)
        elif problem.start not in ZEROS:
            start = w.constant(f"dense<{problem.start}>", self._vector)
            value = add(w, start, value, self._vector)
        reader.finish(at, value, self._scalars)


Grid = Sequence[Sequence[str]]
"""Names of values, row by row."""

_Line = Callable[["_Arithmetic", Sequence[str]], list[str]]


def transform_inputs(w: Writer, type_: str, tile: Grid) -> list[str]:
    """Return the 16 factors of a 4 x 4 tile of the input."""
    return _along_both(_Arithmetic(w, type_), tile, _of_inputs)


def transform_filter(w: Writer, type_: str, taps: Grid) -> list[str]:
    """Return the 16 factors of a 3 x 3 filter."""
    return _along_both(_Arithmetic(w, type_), taps, _of_filters)


def transform_sums(w: Writer, type_: str, sums: Sequence[str]) -> Grid:
    """Return the 2 x 2 results of 16 sums of products."""
    rows = [sums[at : at + TILE] for at in range(0, POINTS, TILE)]
    results = _along_both(_Arithmetic(w, type_), rows, _of_sums)
    return [results[at : at + RESULTS] for at in range(0, RESULTS * RESULTS, RESULTS)]


def _along_both(arithmetic: _Arithmetic, grid: Grid, line: _Line) -> list[str]:
    """Transform each row, and then each column; the result is row by row."""
    rows = [line(arithmetic, row) for row in grid]
    columns = [line(arithmetic, column) for column in zip(*rows, strict=True)]
    return [value for row in zip(*columns, strict=True) for value in row]


def _of_inputs(a: _Arithmetic, d: Sequence[str]) -> list[str]:
    return [a.sub(d[0], d[2]), a.add(d[1], d[2]), a.sub(d[2], d[1]), a.sub(d[1], d[3])]


def _of_filters(a: _Arithmetic, g: Sequence[str]) -> list[str]:
    outer = a.add(g[0], g[2])
    return [g[0], a.half(a.add(outer, g[1])), a.half(a.sub(outer, g[1])), g[2]]


def _of_sums(a: _Arithmetic, m: Sequence[str]) -> list[str]:
    return [a.add(m[0], a.add(m[1], m[2])), a.sub(a.sub(m[1], m[2]), m[3])]


@dataclass(frozen=True)
class _Arithmetic:
    writer: Writer
    type: str

    def add(self, left: str, right: str) -> str:
        return add(self.writer, left, right, self.type)

    def sub(self, left: str, right: str) -> str:
        return self.writer.op(f"arith.subf {left}, {right} : {self.type}")

    def half(self, value: str) -> str:
        half = self.writer.splat("0.5", self.type)
        return self.writer.op(f"arith.mulf {value}, {half} : {self.type}")
