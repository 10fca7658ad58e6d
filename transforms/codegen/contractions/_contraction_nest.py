"""The nest of a contraction around the micro-kernel, or around inner products.

Inner products are for a matrix times a vector whose rows lie along the depth, and for two vectors.
Each element of a small tile of C is a vector of partial sums; both operands are read once, where
they lie, and the vectors are summed when the depth is done. Where it is long it is done in blocks,
whose vectors are added with compensation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from linalg_ext.target import current
from linalg_ext.transforms.codegen.base.blocked_sums import BLOCK, FLOATS, write_compensated
from linalg_ext.transforms.codegen.base.epilogue import ElementwiseEmitter
from linalg_ext.transforms.codegen.base.flat_memory import (
    Memory,
    Strided,
    add,
    multiply_add,
    zero_vector,
)
from linalg_ext.transforms.codegen.base.nest import Nest
from linalg_ext.transforms.codegen.base.payload import Elementwise
from linalg_ext.transforms.codegen.base.problem import Argument, Operand
from linalg_ext.transforms.codegen.base.writer import Index, Writer, divides, edge

from ._word_packing import WordPacker
from .contraction_plan import Packing, Plan
from .micro_kernel import Limits, TileWriter, multiply, prefetch_tile, write_panel
from .packing import Packer, Prologue, Reader, Strips, rows_of, vectors_of


class ContractionNest(Nest):
    def __init__(
        self,
        plan: Plan,
        arguments: Sequence[Argument],
        epilogue: Elementwise | None = None,
        prologues: Sequence[Elementwise | None] = (None, None),
    ) -> None:
        """
        Args:
            plan: the plan.
            arguments: the two inputs and the output of the op; zero points follow them.
            epilogue: the computation on the result, whose operands are the last parameters.
            prologues: the computation on each input, whose operands come before those.
        """
        super().__init__(plan.tile.lanes)
        self._plan = plan
        w = self._w
        order: tuple[Operand, ...] = ("B", "A", "C") if plan.problem.swapped else ("A", "B", "C")
        self._operands = {
            role: self._operand(role, argument).grouped(role, self._sizes)
            for role, argument in zip(order, arguments, strict=True)
        }
        self._type_of_c = arguments[-1].type
        for role in order:
            if role in plan.problem.zero_points:
                self._scalar(f"zero_point_{role}", "i32")
        self._packers: dict[Operand, Packer] = {role: Packer() for role in order[:2]}
        for role, body in zip(order, prologues, strict=False):
            if body is not None:
                extra_operands = self._extra_operands(body, f"{role}P", f"{role}S")
                self._packers[role] = Prologue(w, plan, role, body, extra_operands)
        self._epilogue = None
        if epilogue is not None:
            groups = plan.problem.rows, plan.problem.columns
            extra_operands = self._extra_operands(epilogue, "E", "S")
            self._epilogue = ElementwiseEmitter(
                w, groups, epilogue, extra_operands, plan.tile.lanes
            )
        problem = plan.problem
        self._rows, self._columns, self._whole_depth = (
            self._extent(group) for group in (problem.rows, problem.columns, problem.depth)
        )
        self._depth = w.ceil_div(self._whole_depth, problem.word)
        self._words = None
        if problem.dot is not None:
            self._words = WordPacker(w, plan, problem.dot)
            self._packers = dict.fromkeys(order[:2], self._words)
        self._one_depth_block = isinstance(self._depth, int) and self._depth <= plan.depth_block

    def _extra_operands(self, body: Elementwise, operands: str, scalars: str) -> list[Strided]:
        strided = [
            self._operand(f"{operands}{number}", argument).grouped("C", self._sizes)
            for number, argument in enumerate(body.arguments)
        ]
        for number, type_ in enumerate(body.scalars):
            self._scalar(f"{scalars}{number}", type_)
        return strided

    def function(self, name: str) -> str:
        text, dot = super().function(name), self._plan.problem.dot
        return text if dot is None else f"{text}\n{dot.declaration}"

    def _write(self) -> None:
        w, plan = self._w, self._plan
        count_a = w.ceil_div(w.min(self._rows, plan.row_block), plan.tile.rows)
        count_b = w.ceil_div(w.min(self._columns, plan.column_block), plan.tile.columns)
        self._packed_a = self._packed(plan.pack_a, w.mul(count_a, plan.strip_a))
        if plan.by_strips or plan.panel is not None:
            count_b = 1
        self._packed_b = self._packed(plan.pack_b, w.mul(count_b, plan.strip_b))
        collected = plan.scratch_c
        if self._epilogue is not None and self._epilogue.is_long and not collected:
            collected = plan.tile.rows * plan.tile.columns
        self._buffer = self._allocated(collected, plan.problem.element) if collected else None
        self._a, self._b, self._c = (self._operands[role] for role in ("A", "B", "C"))
        with ExitStack() as loops:
            for dimension in plan.problem.batch:
                at = loops.enter_context(w.loop(0, self._sizes[dimension.name]))
                self._move(dimension.name, at)
            if plan.is_inner:
                self._write_inner_products()
            elif plan.panel is not None:
                self._write_panels()
            elif plan.by_strips:
                self._write_strips()
            else:
                self._write_blocks()

    def _move(self, dimension: str, at: Index) -> None:
        self._a, self._b, self._c = (
            operand.moved(dimension, at) for operand in (self._a, self._b, self._c)
        )
        if self._epilogue is not None:
            self._epilogue = self._epilogue.moved(dimension, at)
        self._packers = {
            role: packer.moved(dimension, at) for role, packer in self._packers.items()
        }

    def _packed(self, packing: Packing, size: Index) -> Memory | None:
        return None if packing == "none" else self._allocated(size, self._plan.problem.packed)

    def _write_blocks(self) -> None:
        w, plan = self._w, self._plan
        with w.loop(0, self._columns, plan.column_block) as column:
            columns = w.part(plan.column_block, self._columns, column)
            strips_b = w.ceil_div(columns, plan.tile.columns)
            with self._depth_blocks(plan.problem.overwrites) as (depth, extent):
                self._pack(self._b, column, strips_b, depth, extent)
                with w.loop(0, self._rows, plan.row_block) as row:
                    rows = w.part(plan.row_block, self._rows, row)
                    strips_a = w.ceil_div(rows, plan.tile.rows)
                    self._pack(self._a, row, strips_a, depth, extent)
                    with w.loop(0, strips_b) as strip_b, w.loop(0, strips_a) as strip_a:
                        at = (
                            w.add(row, w.mul(strip_a, plan.tile.rows)),
                            w.add(column, w.mul(strip_b, plan.tile.columns)),
                        )
                        self._write_tile(at, (strip_a, strip_b), depth, extent)

    def _write_strips(self) -> None:
        """Write the nest of one block of rows: a strip of B is packed when its turn comes."""
        w, plan = self._w, self._plan
        strips_a = w.ceil_div(self._rows, plan.tile.rows)
        with self._depth_blocks(plan.problem.overwrites) as (depth, extent):
            self._pack(self._a, 0, strips_a, depth, extent)
            with w.loop(0, self._columns, plan.tile.columns) as column:
                self._pack(self._b, column, 1, depth, extent)
                with w.loop(0, strips_a) as strip:
                    row = w.mul(strip, plan.tile.rows)
                    self._write_tile((row, column), (strip, 0), depth, extent)

    def _write_panels(self) -> None:
        """Write the nest that collects panels of C, all rows of each."""
        w, plan, panel, collected = self._w, self._plan, self._plan.panel, self._buffer
        if panel is None or collected is None:
            raise AssertionError("a plan without panels")
        past_caches = self._is_aligned() if panel.past_caches else False
        strips_a = w.ceil_div(self._rows, plan.tile.rows)
        if self._one_depth_block:
            self._pack(self._a, 0, strips_a, 0, self._depth)
        outer_count = w.div(self._columns, panel.size * panel.length)
        is_whole = panel.is_of_whole_tiles(plan.tile)
        with w.loop(0, outer_count) as outer, w.loop(0, panel.size, panel.runs) as first:
            runs = w.part(panel.runs, panel.size, first)
            column = w.mul(w.add(w.mul(outer, panel.size), first), panel.length)
            columns = w.mul(runs, panel.length)
            strips_b = w.ceil_div(columns, plan.tile.columns)
            # The last tile of a panel may reach into the next one, or beyond the operand.
            end = self._columns if is_whole else w.add(column, columns)
            with self._depth_blocks(True) as (depth, extent):
                if not self._one_depth_block:
                    self._pack(self._a, 0, strips_a, depth, extent)
                adds = not self._one_depth_block and w.compare("ne", depth, 0)
                with w.loop(0, strips_b) as strip_b:
                    at = w.mul(strip_b, plan.tile.columns)
                    self._pack(self._b, w.add(column, at), 1, depth, extent, end, is_whole)
                    with w.loop(0, strips_a) as strip_a:
                        row = w.mul(strip_a, plan.tile.rows)
                        read_a = self._reader_of_a(strip_a, row, depth)
                        limit = edge(plan.tile.columns, end)
                        read_b = self._reader_of_b(0, w.add(column, at), depth, limit)
                        if plan.fetches_b:
                            read_b = self._fetching(read_b, w.add(column, at), depth, strip_a)
                        first_sums = self._first_sums((strip_a, 0))
                        values = multiply(w, plan, extent, read_a, read_b, first_sums)
                        tile = TileWriter(w, plan, self._c, row, at, adds)
                        tile.collect(values, panel, collected)
            write_panel(w, plan, panel, collected, self._c, self._rows, column, runs, past_caches)
        if past_caches:
            # Stores past the caches lack an order among themselves, and with those that follow.
            w.line("llvm.fence seq_cst")

    def _is_aligned(self) -> str:
        """Write the test that the address of C is a multiple of a vector's size."""
        w, memory = self._w, self._c.memory
        start = w.op(f"memref.extract_aligned_pointer_as_index %C : {self._type_of_c} -> index")
        size = self._plan.problem.element_bytes
        address = w.add(start, w.mul("%C_offset", size))
        return w.compare("eq", w.rem(address, memory.lanes * size), 0)

    def _fetching(self, read: Reader, column: Index, depth: Index, strip: Index) -> Reader:
        """Return a reader that prefetches the next strip of B, a part for each strip of A."""
        w, tile, b = self._w, self._plan.tile, self._b
        columns, steps = self._plan.problem.columns, self._plan.problem.depth
        passes = -(-(self._plan.problem.rows.size or 1) // tile.rows)
        if self._plan.pack_b == "transpose":
            # Its lines lie along the depth: each step asks for one of another column.
            per_pass = -(-tile.columns // passes)
            first = w.mul(w.rem(strip, -(-tile.columns // per_pass)), per_pass)
            start = w.add(b.base, b.offset(columns, w.add(column, tile.columns, first)))
            stride = b.stride(columns.segments("B")[-1])

            def fetch(k: str) -> None:
                line = w.mul(w.div(k, per_pass), tile.lanes)
                offset = b.offset(steps, w.add(depth, line))
                b.memory.prefetch(w.add(start, w.mul(w.rem(k, per_pass), stride), offset))
        else:
            per_pass = -(-tile.vectors // passes)
            first = w.mul(w.rem(strip, -(-tile.vectors // per_pass)), per_pass * tile.lanes)
            starts = [
                w.add(
                    b.base,
                    b.offset(columns, w.add(column, tile.columns, first, number * tile.lanes)),
                )
                for number in range(per_pass)
            ]

            def fetch(k: str) -> None:
                offset = b.offset(steps, w.add(depth, k))
                for start in starts:
                    b.memory.prefetch(w.add(start, offset))

        def read_and_fetch(k: str) -> list[str]:
            fetch(k)
            return read(k)

        return read_and_fetch

    @contextmanager
    def _depth_blocks(self, at_least_one: bool) -> Iterator[tuple[Index, Index]]:
        w, block = self._w, self._plan.depth_block
        # An empty sum still writes C: one round, of no depth.
        with w.loop(0, w.max(self._depth, 1) if at_least_one else self._depth, block) as depth:
            yield depth, self._w.part(block, self._depth, depth)

    def _pack(
        self, operand: Strided, first: Index, strips: Index, depth: Index, extent: Index,
        end: Index | None = None, on_tiles: bool = True,
    ) -> None:  # fmt: skip
        is_a = operand.operand == "A"
        packed, size = (self._packed_a, self._rows) if is_a else (self._packed_b, self._columns)
        if packed is not None:
            self._packers[operand.operand].pack(
                Strips(
                    self._w, self._plan, operand, packed, first, strips,
                    size if end is None else end, depth, extent, self._whole_depth, on_tiles,
                )
            )  # fmt: skip

    def _write_tile(
        self, at: tuple[Index, Index], strips: tuple[Index, Index], depth: Index, extent: Index
    ) -> None:
        w, plan, (row, column) = self._w, self._plan, at
        if plan.fetches_c:
            prefetch_tile(w, plan, self._c, row, column)
        write = partial(self._write_products, at, strips, depth, extent)
        reaches_beyond = edge(plan.tile.columns, self._columns) is not None
        if reaches_beyond and self._packed_b is None and not current().has_mask_registers:
            # A mask takes three instructions for each vector of B: only the last tile has some.
            w.either(self._is_before_end(column), write)
        else:
            write(None)

    def _is_before_end(self, column: Index) -> str:
        w = self._w
        return w.compare("sle", w.add(column, self._plan.tile.columns), self._columns)

    def _write_products(
        self,
        at: tuple[Index, Index],
        strips: tuple[Index, Index],
        depth: Index,
        extent: Index,
        is_whole: bool | None,
    ) -> None:
        """Write a tile, of whose columns is known whether all are there, or not before the run."""
        w, plan, (row, column) = self._w, self._plan, at
        limit = None if is_whole else edge(plan.tile.columns, self._columns)
        read_a = self._reader_of_a(strips[0], row, depth)
        read_b = self._reader_of_b(strips[1], column, depth, limit)
        if plan.fetches_b:
            read_b = self._fetching(read_b, column, depth, strips[0])
        values = multiply(w, plan, extent, read_a, read_b, self._first_sums(strips))
        adds: str | bool = not plan.problem.overwrites
        if not adds and not self._one_depth_block:
            adds = w.compare("ne", depth, 0)
        tile = TileWriter(w, plan, self._c, row, column, adds)
        if self._buffer is not None and not plan.pieces_c:
            tile.scatter(values, self._buffer, (self._rows, self._columns))
            return
        finishes: str | bool = self._epilogue is not None
        if finishes and not self._one_depth_block:
            finishes = w.compare("sge", w.add(depth, plan.depth_block), self._depth)
        w.either(finishes, partial(self._store, tile, values, is_whole))

    def _first_sums(self, strips: tuple[Index, Index]) -> list[str]:
        w, plan = self._w, self._plan
        if self._words is None or self._packed_a is None or self._packed_b is None:
            return []
        strip_a, strip_b = w.mul(strips[0], plan.strip_a), w.mul(strips[1], plan.strip_b)
        return self._words.first_sums(self._packed_a, self._packed_b, strip_a, strip_b)

    def _store(
        self, tile: TileWriter, values: Sequence[str], is_whole: bool | None, finishes: bool
    ) -> None:
        """Write a tile, in masked form where it may reach beyond the edge of C.

        Args:
            tile: the writer of the tile.
            values: its vectors.
            is_whole: whether C has all its columns; None if the run tells.
            finishes: whether these are the results, which the epilogue takes.
        """
        w, shape, epilogue = self._w, self._plan.tile, self._epilogue if finishes else None

        def store(limits: Limits) -> None:
            if epilogue is not None and epilogue.is_long and self._buffer is not None:
                tile.finish(values, self._buffer, limits, epilogue)
            else:
                tile.store(values, limits, epilogue)

        rows = edge(shape.rows, self._rows)
        columns = None if is_whole else edge(shape.columns, self._columns)
        if is_whole is False or (rows is None and columns is None):
            store((rows, columns))
            return
        is_inside = w.compare("sle", w.add(tile.row, shape.rows), self._rows)
        if not is_whole:
            is_inside = w.op(f"arith.andi {is_inside}, {self._is_before_end(tile.column)} : i1")
        with w.when(is_inside):
            store((None, None))
        with w.otherwise():
            store((rows, columns))

    def _reader_of_a(self, strip: Index, row: Index, depth: Index) -> Reader:
        start = self._w.mul(strip, self._plan.strip_a)
        return rows_of(self._w, self._plan, self._a, self._packed_a, start, row, self._rows, depth)

    def _reader_of_b(
        self, strip: Index, column: Index, depth: Index, limit: Index | None
    ) -> Reader:
        w, plan = self._w, self._plan
        start = w.mul(strip, plan.strip_b)
        return vectors_of(w, plan, self._b, self._packed_b, start, column, limit, depth)

    # Inner products.

    def _write_inner_products(self) -> None:
        w, tile, rows, columns = self._w, self._plan.tile, self._rows, self._columns
        is_inside = divides(tile.rows, rows) and divides(tile.columns, columns)
        with w.loop(0, columns, tile.columns) as column, w.loop(0, rows, tile.rows) as row:
            tile_rows = [
                w.within(w.add(row, number), rows, tile.rows) for number in range(tile.rows)
            ]
            tile_columns = [
                w.within(w.add(column, number), columns, tile.columns)
                for number in range(tile.columns)
            ]
            for number, value in enumerate(self._inner_products(tile_rows, tile_columns)):
                at_row, at_column = divmod(number, tile.columns)
                with ExitStack() as condition:
                    if not is_inside:
                        below = w.compare("slt", w.add(row, at_row), rows)
                        before = w.compare("slt", w.add(column, at_column), columns)
                        both = w.op(f"arith.andi {below}, {before} : i1")
                        condition.enter_context(w.when(both))
                    self._store_element(value, tile_rows[at_row], tile_columns[at_column])

    def _inner_products(self, rows: Sequence[Index], columns: Sequence[Index]) -> list[str]:
        w, problem, lanes, depth = self._w, self._plan.problem, self._lanes, self._depth
        a, b = self._a, self._b
        vector = a.memory.vector
        starts_a = [a.offset(problem.rows, row) for row in rows]
        starts_b = [b.offset(problem.columns, column) for column in columns]
        zero = zero_vector(w, problem.element, lanes)
        whole = w.mul(w.div(depth, lanes), lanes)
        zeros = [zero] * (len(rows) * len(columns))

        def step(k: Index, mask: str | None, sums: Sequence[str]) -> list[str]:
            offset_a, offset_b = a.offset(problem.depth, k), b.offset(problem.depth, k)
            left = [a.load_pieces([(start, mask)], offset_a) for start in starts_a]
            right = [b.load_pieces([(start, mask)], offset_b) for start in starts_b]
            pairs = [(x, y) for x in left for y in right]
            return [
                multiply_add(w, vector, x, y, old) for (x, y), old in zip(pairs, sums, strict=True)
            ]

        def rounds(start: Index, stop: Index) -> list[str]:
            length = w.sub(stop, start)
            with w.carrying_loop(length, lanes, zeros, vector) as (at, sums, handed_on, totals):
                handed_on += step(w.add(start, at), None, sums)
            return totals

        block = 2 * BLOCK * lanes
        if problem.element not in FLOATS or (isinstance(whole, int) and whole <= block):
            results = rounds(0, whole)
        else:
            errors = [w.splat("-0.0", vector)] * len(zeros)
            blocks = w.carrying_loop(whole, block, [*zeros, *errors], vector)
            with blocks as (start, carried, handed_on, totals):
                parts = rounds(start, w.min(w.add(start, block), whole))
                pairs = [
                    write_compensated(w, vector, total, error, part)
                    for total, error, part in zip(
                        carried, carried[len(zeros) :], parts, strict=False
                    )
                ]
                handed_on += [total for total, _ in pairs] + [error for _, error in pairs]
            results = totals[: len(zeros)]
        if not divides(lanes, depth):
            results = step(whole, a.memory.below(w.sub(depth, whole)), results)
        return [_sum_of_lanes(w, sums, lanes, problem.element) for sums in results]

    def _store_element(self, value: str, row: Index, column: Index) -> None:
        w, problem, c = self._w, self._plan.problem, self._c
        index = w.add(c.base, c.offset(problem.rows, row), c.offset(problem.columns, column))
        if not problem.overwrites:
            value = add(w, c.memory.load(index), value, problem.element)
        c.memory.store(value, index)


def _sum_of_lanes(w: Writer, vector: str, lanes: int, element: str) -> str:
    """Write the sum of the elements of a vector: halves to halves for floats."""
    while element in FLOATS and lanes > 1:
        whole, lanes = f"vector<{lanes}x{element}>", lanes // 2
        half = f"vector<{lanes}x{element}>"
        low, high = (
            w.op(
                f"vector.extract_strided_slice {vector} "
                f"{{offsets = [{start}], sizes = [{lanes}], strides = [1]}} : {whole} to {half}"
            )
            for start in (0, lanes)
        )
        vector = w.op(f"arith.addf {low}, {high} : {half}")
    type_ = f"vector<{lanes}x{element}>"
    return w.op(f"vector.reduction <add>, {vector} : {type_} into {element}")
