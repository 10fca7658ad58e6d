"""The loops of a convolution by Winograd's algorithm, as a function on memrefs.

filters   U[strip, point, channel, filter of the strip], all of them, once for a call
inputs    V[point, channel, tile] of a block; V[point, tile, channel] where channels are in lanes
sums      M[point, filter, tile] of a block and some strips; M[point, tile, filter]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from linalg_ext.transforms.codegen._fills import ZEROS
from linalg_ext.transforms.codegen._flattening import flattened
from linalg_ext.transforms.codegen._memory import Memory, multiply_add, zero_vector
from linalg_ext.transforms.codegen._writer import Index, Writer

from ._window_finish import Finisher
from ._window_plan import WindowPlan
from ._window_reader import Lanes, Operand, Reader
from ._winograd_plan import WinogradPlan, rows_of_filters
from ._winograd_transforms import (
    POINTS,
    RESULTS,
    TAPS,
    TILE,
    transform_filter,
    transform_inputs,
    transform_sums,
)

_LINE = 16
"""Elements of a line of a cache."""


def winograd_function(name: str, plan: WinogradPlan, operands: Sequence[str]) -> str:
    """A function that does a convolution, as text.

    Args:
        name: of the function.
        plan: how.
        operands: the types of the operands of the body: memrefs, or scalars. The last one is the
            memory of filters and factors where the plan has the factors from there.
    """
    w = Writer()
    count = len(operands) - plan.is_prepared
    _Nest(w, plan, operands[:count]).write(operands[count:])
    signature = ", ".join(f"%A{place}: {type_}" for place, type_ in enumerate(operands))
    return f"func.func private @{name}({signature}) {{\n{w.text()}\nreturn\n}}"


def _spread(size: int) -> int:
    """A distance of so many elements or more, an odd number of lines: it meets all sets of L1."""
    return (-(-size // _LINE) | 1) * _LINE


class _Nest:
    """Writes the nest of one plan."""

    def __init__(self, w: Writer, plan: WinogradPlan, types: Sequence[str]) -> None:
        self._w = w
        self._plan = plan
        self._types = types
        self._conv = c = plan.convolution
        self._lanes = plan.tile.lanes
        self._vector = f"vector<{self._lanes}xf32>"
        self._channels, self._results = c.size(c.channels), c.size(c.results)
        tiles = -(-plan.block // plan.step) * plan.step
        filters = plan.strips * plan.strip
        if c.lanes == "columns":
            self._pitch = _spread(tiles + self._lanes)
            self._planes = tuple(_spread(n * self._pitch) for n in (self._channels, filters))
            self._pitches = self._pitch, self._pitch
        else:
            self._pitches = _spread(self._channels + self._lanes), _spread(filters)
            self._planes = tuple(_spread(tiles * pitch) for pitch in self._pitches)
        self._finish = Finisher(w, plan.problem, types, self._lanes)

    def write(self, prepared: Sequence[str]) -> None:
        """Write the nest.

        Args:
            prepared: the type of the memory that has the factors of the filters, if one has.
        """
        w, plan, c = self._w, self._plan, self._conv
        sizes: dict[str, Index] = {}
        operands = {place: self._flat(place, sizes) for place in plan.problem.arguments}
        sizes |= {each.name: each.size for each in plan.problem.loops if each.size is not None}
        self._inputs, self._sums = (self._scratch(POINTS * plane) for plane in self._planes)
        scratch = [self._inputs, self._sums]
        if prepared:
            self._factors = self._prepared(f"A{len(self._types)}", *prepared)
        else:
            self._factors = self._scratch(plan.filter_elements)
            scratch.append(self._factors)
            self._write_filters(operands[c.filters])
        tiles = c.tiles(c.rows), c.tiles(c.columns)
        with ExitStack() as loops:
            for name in c.batch:
                at = loops.enter_context(w.loop(0, sizes[name]))
                operands = {place: each.moved(name, at) for place, each in operands.items()}
            row = loops.enter_context(w.loop(0, tiles[0], plan.rows))
            column = loops.enter_context(w.loop(0, tiles[1], plan.columns))
            rows = w.min(plan.rows, w.sub(tiles[0], row))
            columns = w.min(plan.columns, w.sub(tiles[1], column))
            block = _Block(row, column, rows, columns)
            self._write_inputs(operands[c.window], block)
            with w.loop(0, plan.all_strips, plan.strips) as first:
                strips = w.min(plan.strips, w.sub(plan.all_strips, first))
                with w.loop(0, POINTS) as point:
                    self._write_products(point, first, strips, w.mul(rows, plan.columns))
                self._write_results(operands, block, w.mul(first, plan.strip))
        for memory in scratch:
            w.line(f"memref.dealloc {memory.name} : {memory.type}")

    def _flat(self, place: int, sizes: dict[str, Index]) -> Operand:
        argument = self._plan.problem.arguments[place]
        memory, strides = flattened(self._w, f"A{place}", argument, self._lanes, sizes)
        return Operand(memory, 0, strides)

    def _scratch(self, size: int) -> Memory:
        type_ = f"memref<{size}xf32>"
        name = self._w.op(f"memref.alloc() {{alignment = 64}} : {type_}")
        return Memory(self._w, name, type_, "f32", self._lanes)

    # The filters.

    def _prepared(self, name: str, type_: str) -> Memory:
        """The factors behind the filters of an argument."""
        w, plan = self._w, self._plan
        filters = self._results * self._channels * TAPS * TAPS
        rows = rows_of_filters(filters, plan.strip)
        whole, line = f"memref<{rows * plan.strip + plan.filter_elements}xf32>", "strided<[1], "
        all_ = w.op(f"memref.collapse_shape %{name} [[0, 1]] : {type_} into {whole}")
        part = f"memref<{plan.filter_elements}xf32, {line}offset: {rows * plan.strip}>>"
        factors = w.op(
            f"memref.subview {all_}[{rows * plan.strip}] [{plan.filter_elements}] [1] : "
            f"{whole} to {part}"
        )
        return Memory(w, factors, part, "f32", self._lanes)

    def _write_filters(self, filters: Operand) -> None:
        w, plan, c = self._w, self._plan, self._conv
        down, along = (filters.strides[tap] for tap in c.taps)
        plane = self._channels * plan.strip
        with w.loop(0, self._results) as result, w.loop(0, self._channels) as channel:
            read = filters.moved(c.results, result).moved(c.channels, channel)
            places = [[w.add(w.mul(down, y), w.mul(along, x)) for x in range(TAPS)]
                      for y in range(TAPS)]  # fmt: skip
            taps = [[read.memory.load(w.add(read.base, at)) for at in row] for row in places]
            base = w.add(
                w.mul(w.div(result, plan.strip), POINTS * plane),
                w.mul(channel, plan.strip),
                w.rem(result, plan.strip),
            )
            for point, value in enumerate(transform_filter(w, "f32", taps)):
                self._factors.store(value, w.add(base, point * plane))

    # The inputs.

    def _write_inputs(self, window: Operand, block: _Block) -> None:
        w, c = self._w, self._conv
        if c.lanes == "columns":
            with w.loop(0, self._channels) as channel, w.loop(0, block.height) as row:
                moved = window.moved(c.channels, channel)
                base = w.add(w.mul(channel, self._pitch), w.mul(row, self._plan.columns))
                write = partial(self._write_tiles_beside, moved, w.add(block.row, row), block, base)
                self._along_columns(block, write)
            return
        with w.loop(0, block.height) as row, w.loop(0, block.width) as column:
            base = w.mul(w.add(w.mul(row, self._plan.columns), column), self._pitches[0])
            down = self._places(window, c.rows, w.add(block.row, row))
            along = self._places(window, c.columns, w.add(block.column, column))
            places = [[w.add(window.base, y, x) for x in along] for y in down]
            self._along_channels(
                self._channels, partial(self._write_tile, window.memory, places, base)
            )

    def _write_tiles_beside(
        self, window: Operand, row: Index, block: _Block, base: Index, at: Index, whole: bool
    ) -> None:
        """Transform the tiles of a vector, which lie beside each other."""
        w, lanes = self._w, self._lanes
        column = w.mul(w.add(block.column, at), RESULTS)
        left = w.sub(self._conv.size(self._conv.columns) + TAPS - 1, column)
        starts = [0, lanes, RESULTS, lanes + RESULTS]
        masks = [None if whole else self._below(w.sub(left, start)) for start in starts]
        rows = []
        for place in self._places(window, self._conv.rows, row):
            loaded = [
                window.memory.load_vector(w.add(window.base, place, column, start), mask)
                for start, mask in zip(starts, masks, strict=True)
            ]
            rows.append([*self._parted(*loaded[:2]), *self._parted(*loaded[2:])])
        self._store_points(transform_inputs(w, self._vector, rows), w.add(base, at))

    def _parted(self, first: str, second: str) -> list[str]:
        """The elements of even and of odd numbers of two vectors."""
        pair = f"{self._vector}, {self._vector}"
        return [
            self._w.op(
                f"vector.shuffle {first}, {second} "
                f"{[RESULTS * lane + part for lane in range(self._lanes)]} : {pair}"
            )
            for part in range(RESULTS)
        ]

    def _write_tile(
        self, memory: Memory, places: Sequence[Sequence[Index]], base: Index,
        channel: Index, whole: bool,
    ) -> None:  # fmt: skip
        """Transform a vector of channels of a tile."""
        w = self._w
        mask = None if whole else self._below(w.sub(self._channels, channel))
        loaded = [
            [memory.load_vector(w.add(place, channel), mask) for place in row] for row in places
        ]
        self._store_points(transform_inputs(w, self._vector, loaded), w.add(base, channel))

    def _places(self, window: Operand, loop: str, tile: Index) -> list[Index]:
        """How far the rows or columns of a tile are; the last one twice where there is one less.

        What is read twice is part of no result.
        """
        w, size = self._w, self._conv.size(loop)
        first = w.mul(tile, RESULTS)
        numbers = [w.add(first, number) for number in range(TILE)]
        if size % RESULTS:
            numbers[-1] = w.min(numbers[-1], size + TAPS - RESULTS)
        return [w.mul(number, window.strides[loop]) for number in numbers]

    def _store_points(self, values: Sequence[str], base: Index) -> None:
        for point, value in enumerate(values):
            self._inputs.store_vector(value, self._w.add(base, point * self._planes[0]))

    # The products.

    def _write_products(self, point: Index, first: Index, strips: Index, tiles: Index) -> None:
        """The sums of one of the 16 for a block of tiles and some strips of filters."""
        w, plan = self._w, self._plan
        size = self._channels * plan.strip
        inputs, sums = (w.mul(point, plane) for plane in self._planes)

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
        """A tile of sums in registers, over all channels."""
        w, plan, shape = self._w, self._plan, self._plan.tile
        zero = zero_vector(w, "f32", self._lanes)
        pitch = self._pitches[0]
        spread, beside = (self._factors, self._inputs)
        places = w.add(factors, 0), w.add(inputs, tile)
        steps = (plan.strip, 1), pitch
        if self._conv.lanes == "channels":
            spread, beside = self._inputs, self._factors
            places = w.add(inputs, w.mul(tile, pitch)), factors
            steps = (1, pitch), plan.strip
        start = [zero] * (shape.rows * shape.vectors)
        with w.carrying_loop(self._channels, 1, start, self._vector) as loop:
            channel, old, new, values = loop
            (along, down), across = steps
            element = w.add(places[0], w.mul(channel, along))
            vector = w.add(places[1], w.mul(channel, across))
            vectors = [
                beside.load_vector(w.add(vector, number * self._lanes))
                for number in range(shape.vectors)
            ]
            for row in range(shape.rows):
                scalar = spread.load(w.add(element, row * down))
                left = w.op(f"vector.broadcast {scalar} : f32 to {self._vector}")
                for number, right in enumerate(vectors):
                    total = old[row * shape.vectors + number]
                    new.append(multiply_add(w, self._vector, left, right, total))
        across, down = tile, filters
        if self._conv.lanes == "channels":
            across, down = filters, tile
        base = w.add(sums, across, w.mul(down, self._pitches[1]))
        for number, value in enumerate(values):
            row, at = divmod(number, shape.vectors)
            self._sums.store_vector(value, w.add(base, row * self._pitches[1] + at * self._lanes))

    # The results.

    def _write_results(self, operands: Mapping[int, Operand], block: _Block, first: Index) -> None:
        w, plan, c = self._w, self._plan, self._conv
        count = w.min(plan.strips * plan.strip, w.sub(self._results, first))
        if c.lanes == "columns":
            with w.loop(0, count) as result, w.loop(0, block.height) as row:
                moved = _moved(operands, c.results, w.add(first, result))
                moved = _moved(moved, c.rows, w.mul(w.add(block.row, row), RESULTS))
                base = w.add(w.mul(result, self._pitch), w.mul(row, plan.columns))
                tile = w.add(block.row, row)
                self._along_columns(
                    block, partial(self._finish_tiles_beside, moved, tile, block, base)
                )
            return
        with w.loop(0, block.height) as row, w.loop(0, block.width) as column:
            tile = w.add(block.row, row), w.add(block.column, column)
            moved = _moved(operands, c.rows, w.mul(tile[0], RESULTS))
            moved = _moved(moved, c.columns, w.mul(tile[1], RESULTS))
            base = w.mul(w.add(w.mul(row, plan.columns), column), self._pitches[1])
            self._along_channels(
                count, partial(self._finish_tile, moved, tile, (first, count), base)
            )

    def _results_of(self, base: Index) -> Sequence[Sequence[str]]:
        places = [self._w.add(base, point * self._planes[1]) for point in range(POINTS)]
        sums = [self._sums.load_vector(place) for place in places]
        return transform_sums(self._w, self._vector, sums)

    def _finish_tiles_beside(
        self, operands: Mapping[int, Operand], tile: Index, block: _Block,
        base: Index, at: Index, whole: bool,
    ) -> None:  # fmt: skip
        """The results of a vector of tiles, whose columns are in turn."""
        w, c = self._w, self._conv
        column = w.mul(w.add(block.column, at), RESULTS)
        moved = _moved(operands, c.columns, column)
        lanes = Lanes(None if whole else w.sub(c.size(c.columns), column))
        results = [self._in_turn(*row) for row in self._results_of(w.add(base, at))]
        for number, row in enumerate(results):
            with self._if_inside(c.rows, tile, number):
                reader = self._reader(moved, lanes)
                for part, value in enumerate(row):
                    self._store(reader, {c.rows: number, c.columns: part * self._lanes}, value)

    def _in_turn(self, left: str, right: str) -> list[str]:
        """The elements of two vectors in turn, as two vectors."""
        lanes, pair = self._lanes, f"{self._vector}, {self._vector}"
        picks = [part * lanes + lane for lane in range(lanes) for part in range(RESULTS)]
        return [
            self._w.op(f"vector.shuffle {left}, {right} {picks[at : at + lanes]} : {pair}")
            for at in range(0, RESULTS * lanes, lanes)
        ]

    def _finish_tile(
        self, operands: Mapping[int, Operand], tile: tuple[Index, Index],
        filters: tuple[Index, Index], base: Index, at: Index, whole: bool,
    ) -> None:  # fmt: skip
        """A vector of channels of the results of a tile."""
        w, c = self._w, self._conv
        first, count = filters
        moved = _moved(operands, c.results, w.add(first, at))
        lanes = Lanes(None if whole else w.sub(count, at))
        for y, row in enumerate(self._results_of(w.add(base, at))):
            for x, value in enumerate(row):
                with self._if_inside(c.rows, tile[0], y), self._if_inside(c.columns, tile[1], x):
                    self._store(self._reader(moved, lanes), {c.rows: y, c.columns: x}, value)

    def _if_inside(self, loop: str, tile: Index, number: int) -> ExitStack:
        """Where a row or column of the results of a tile is there."""
        w, size, condition = self._w, self._conv.size(loop), ExitStack()
        if number and size % RESULTS:
            at = w.add(w.mul(tile, RESULTS), number)
            condition.enter_context(w.when(w.compare("slt", at, size)))
        return condition

    def _reader(self, operands: Mapping[int, Operand], lanes: Lanes) -> Reader:
        plan = WindowPlan(self._plan.problem, self._conv.vector, self._lanes, {}, (), ())
        return Reader(self._w, plan, operands, lanes, {})

    def _store(self, reader: Reader, at: Mapping[str, int], value: str) -> None:
        w, problem = self._w, self._plan.problem
        if problem.start is None:
            value = w.op(
                f"arith.addf {reader.result(problem.output, at)}, {value} : {self._vector}"
            )
        elif problem.start not in ZEROS:
            start = w.constant(f"dense<{problem.start}>", self._vector)
            value = w.op(f"arith.addf {start}, {value} : {self._vector}")
        reader.store(problem.output, at, self._finish(reader, at, value))

    # Loops over vectors: whole ones, then what is left.

    def _along_columns(self, block: _Block, write: Callable[[Index, bool], None]) -> None:
        """Vectors of tiles along a row of a block: `write` is given the first of each."""
        w, lanes = self._w, self._lanes
        inside = self._conv.size(self._conv.columns) // RESULTS
        whole = w.max(w.min(block.width, w.sub(inside, block.column)), 0)
        self._along(block.width, w.sub(whole, w.rem(whole, lanes)), write)

    def _along_channels(self, count: Index, write: Callable[[Index, bool], None]) -> None:
        self._along(count, self._w.sub(count, self._w.rem(count, self._lanes)), write)

    def _along(self, count: Index, whole: Index, write: Callable[[Index, bool], None]) -> None:
        w = self._w
        if whole != 0:
            with w.loop(0, whole, self._lanes) as at:
                write(at, True)
        if whole != count:
            with w.loop(whole, count, self._lanes) as at:
                write(at, False)

    def _below(self, count: Index) -> str:
        """A mask of the first lanes."""
        clamped = self._w.min(self._w.max(count, 0), self._lanes)
        return self._w.op(f"vector.create_mask {self._w.value(clamped)} : vector<{self._lanes}xi1>")


class _Block:
    """Some rows and columns of tiles.

    Attributes:
        row, column: of the first one.
        height, width: how many there are.
    """

    def __init__(self, row: Index, column: Index, height: Index, width: Index) -> None:
        self.row, self.column, self.height, self.width = row, column, height, width


def _moved(operands: Mapping[int, Operand], loop: str, at: Index) -> dict[int, Operand]:
    return {place: operand.moved(loop, at) for place, operand in operands.items()}
