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

from linalg_ext.transforms.codegen.base.blocked_sums import (
    BLOCK,
    FLOATS,
    written_compensated,
    written_nothing,
)
from linalg_ext.transforms.codegen.base.epilogue import Finisher
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
from linalg_ext.transforms.codegen.base.writer import Index, Writer, divides

from ._word_packing import WordPacker
from .contraction_plan import Packing, Plan
from .micro_kernel import (
    Finish,
    collect_tile,
    fetch_tile,
    finish_tile,
    multiply,
    scatter_tile,
    store_tile,
    write_panel,
)
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
            arguments: the operands of the op: its two inputs and its output. The zero points that
                there are follow them.
            epilogue: what is done to the result, whose operands are the last parameters.
            prologues: what is done to each input, whose operands come before those.
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
                others = self._others(body, f"{role}P", f"{role}S")
                self._packers[role] = Prologue(w, plan, role, body, others)
        self._finisher = None
        if epilogue is not None:
            groups = plan.problem.rows, plan.problem.columns
            others = self._others(epilogue, "E", "S")
            self._finisher = Finisher(w, groups, epilogue, others, plan.tile.lanes)
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

    def _others(self, body: Elementwise, operands: str, scalars: str) -> list[Strided]:
        others = [
            self._operand(f"{operands}{number}", argument).grouped("C", self._sizes)
            for number, argument in enumerate(body.arguments)
        ]
        for number, type_ in enumerate(body.scalars):
            self._scalar(f"{scalars}{number}", type_)
        return others

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
        if self._finisher is not None and self._finisher.is_long and not collected:
            collected = plan.tile.rows * plan.tile.columns
        self._buffer = self._allocated(collected, plan.problem.element) if collected else None
        a, b, c = (self._operands[role] for role in ("A", "B", "C"))
        with ExitStack() as loops:
            for dimension in plan.problem.batch:
                at = loops.enter_context(w.loop(0, self._sizes[dimension.name]))
                a, b, c = (operand.moved(dimension.name, at) for operand in (a, b, c))
                if self._finisher is not None:
                    self._finisher = self._finisher.moved(dimension.name, at)
                for role, packer in self._packers.items():
                    self._packers[role] = packer.moved(dimension.name, at)
            if plan.is_inner:
                self._write_inner_products(a, b, c)
            elif plan.panel is not None:
                self._write_panels(a, b, c)
            elif plan.by_strips:
                self._write_strips(a, b, c)
            else:
                self._write_blocks(a, b, c)

    def _packed(self, packing: Packing, size: Index) -> Memory | None:
        return None if packing == "none" else self._allocated(size, self._plan.problem.packed)

    def _write_blocks(self, a: Strided, b: Strided, c: Strided) -> None:
        w, plan = self._w, self._plan
        with w.loop(0, self._columns, plan.column_block) as column:
            columns = w.min(plan.column_block, w.sub(self._columns, column))
            strips_b = w.ceil_div(columns, plan.tile.columns)
            with self._depth_blocks(plan.problem.overwrites) as (depth, extent):
                self._pack(b, column, strips_b, depth, extent)
                with w.loop(0, self._rows, plan.row_block) as row:
                    rows = w.min(plan.row_block, w.sub(self._rows, row))
                    strips_a = w.ceil_div(rows, plan.tile.rows)
                    self._pack(a, row, strips_a, depth, extent)
                    with w.loop(0, strips_b) as strip_b, w.loop(0, strips_a) as strip_a:
                        at = (
                            w.add(row, w.mul(strip_a, plan.tile.rows)),
                            w.add(column, w.mul(strip_b, plan.tile.columns)),
                        )
                        self._write_tile((a, b, c), at, (strip_a, strip_b), depth, extent)

    def _write_strips(self, a: Strided, b: Strided, c: Strided) -> None:
        """The nest where one block has all rows: a strip of B is packed when its turn comes."""
        w, plan = self._w, self._plan
        strips_a = w.ceil_div(self._rows, plan.tile.rows)
        with self._depth_blocks(plan.problem.overwrites) as (depth, extent):
            self._pack(a, 0, strips_a, depth, extent)
            with w.loop(0, self._columns, plan.tile.columns) as column:
                self._pack(b, column, 1, depth, extent)
                with w.loop(0, strips_a) as strip:
                    row = w.mul(strip, plan.tile.rows)
                    self._write_tile((a, b, c), (row, column), (strip, 0), depth, extent)

    def _write_panels(self, a: Strided, b: Strided, c: Strided) -> None:
        """The nest where panels of C are collected: all rows of each."""
        w, plan, panel, collected = self._w, self._plan, self._plan.panel, self._buffer
        if panel is None or collected is None:
            raise AssertionError("a plan without panels")
        past_caches = self._is_aligned(c) if panel.past_caches else None
        strips_a = w.ceil_div(self._rows, plan.tile.rows)
        if self._one_depth_block:
            self._pack(a, 0, strips_a, 0, self._depth)
        others = w.div(self._columns, panel.size * panel.length)
        is_whole = panel.is_of_whole_tiles(plan.tile)
        with w.loop(0, others) as other, w.loop(0, panel.size, panel.runs) as first:
            runs = w.min(panel.runs, w.sub(panel.size, first))
            column = w.mul(w.add(w.mul(other, panel.size), first), panel.length)
            columns = w.mul(runs, panel.length)
            strips_b = w.ceil_div(columns, plan.tile.columns)
            # The last tile of a panel may reach into the next one, or beyond the operand.
            end = self._columns if is_whole else w.add(column, columns)
            with self._depth_blocks(True) as (depth, extent):
                if not self._one_depth_block:
                    self._pack(a, 0, strips_a, depth, extent)
                adds = not self._one_depth_block and w.compare("ne", depth, 0)
                with w.loop(0, strips_b) as strip_b:
                    at = w.mul(strip_b, plan.tile.columns)
                    self._pack(b, w.add(column, at), 1, depth, extent, end, is_whole)
                    with w.loop(0, strips_a) as strip_a:
                        row = w.mul(strip_a, plan.tile.rows)
                        read_a = self._reader_of_a(a, strip_a, row, depth)
                        read_b = self._reader_of_b(b, 0, w.add(column, at), depth, end)
                        if plan.fetches_b:
                            read_b = self._fetching(read_b, b, w.add(column, at), depth, strip_a)
                        first_sums = self._first_sums((strip_a, 0))
                        values = multiply(w, plan, extent, read_a, read_b, first_sums)
                        collect_tile(w, plan, panel, collected, values, (row, at), adds)
            write_panel(w, plan, panel, collected, c, self._rows, column, runs, past_caches)
        if past_caches is not None:
            # Stores past the caches lack an order among themselves, and with those that follow.
            w.line("llvm.fence seq_cst")

    def _is_aligned(self, c: Strided) -> str:
        """Emit a test that the address of C is a multiple of a vector's size; return the i1."""
        w, memory = self._w, c.memory
        start = w.op(f"memref.extract_aligned_pointer_as_index %C : {self._type_of_c} -> index")
        size = self._plan.problem.element_bytes
        address = w.add(start, w.mul("%C_offset", size))
        return w.compare("eq", w.rem(address, memory.lanes * size), 0)

    def _fetching(
        self, read: Reader, b: Strided, column: Index, depth: Index, strip: Index
    ) -> Reader:
        """A reader that asks for the next strip of B, too: a part of it for each strip of A."""
        w, tile, lanes = self._w, self._plan.tile, self._plan.tile.lanes
        columns, steps = self._plan.problem.columns, self._plan.problem.depth
        passes = -(-(self._plan.problem.rows.size or 1) // tile.rows)
        if self._plan.pack_b == "transpose":
            # Its lines lie along the depth: each step asks for one of another column.
            each = -(-tile.columns // passes)
            first = w.mul(w.rem(strip, -(-tile.columns // each)), each)
            start = w.add(b.base, b.offset(columns, w.add(column, tile.columns, first)))
            apart = b.stride(columns.segments("B")[-1])

            def fetch(k: str) -> None:
                line = w.mul(w.div(k, each), lanes)
                offset = b.offset(steps, w.add(depth, line))
                b.memory.prefetch(w.add(start, w.mul(w.rem(k, each), apart), offset))
        else:
            each = -(-tile.vectors // passes)
            first = w.mul(w.rem(strip, -(-tile.vectors // each)), each * lanes)
            starts = [
                w.add(b.base, b.offset(columns, w.add(column, tile.columns, first, at * lanes)))
                for at in range(each)
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
        # Where nothing is summed C is still to be written: one round, of no depth.
        with w.loop(0, w.max(self._depth, 1) if at_least_one else self._depth, block) as depth:
            yield depth, self._part(block, self._depth, depth)

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
        self,
        operands: tuple[Strided, Strided, Strided],
        at: tuple[Index, Index],
        strips: tuple[Index, Index],
        depth: Index,
        extent: Index,
    ) -> None:
        w, plan = self._w, self._plan
        a, b, c = operands
        row, column = at
        if plan.fetches_c:
            fetch_tile(w, plan, c, at)
        read_a = self._reader_of_a(a, strips[0], row, depth)
        read_b = self._reader_of_b(b, strips[1], column, depth)
        if plan.fetches_b:
            read_b = self._fetching(read_b, b, column, depth, strips[0])
        values = multiply(w, plan, extent, read_a, read_b, self._first_sums(strips))
        adds: str | bool = not plan.problem.overwrites
        if not adds and not self._one_depth_block:
            adds = w.compare("ne", depth, 0)
        if self._buffer is not None and not plan.pieces_c:
            limits = self._rows, self._columns
            scatter_tile(w, plan, c, self._buffer, values, (row, column), limits, adds)
            return
        finishes: str | bool = self._finisher is not None
        if finishes and not self._one_depth_block:
            finishes = w.compare("sge", w.add(depth, plan.depth_block), self._depth)
        w.either(finishes, partial(self._store, c, values, row, column, adds))

    def _first_sums(self, strips: tuple[Index, Index]) -> list[str]:
        w, plan = self._w, self._plan
        if self._words is None or self._packed_a is None or self._packed_b is None:
            return []
        strip_a, strip_b = w.mul(strips[0], plan.strip_a), w.mul(strips[1], plan.strip_b)
        return self._words.first_sums(self._packed_a, self._packed_b, strip_a, strip_b)

    def _store(
        self,
        c: Strided,
        values: Sequence[str],
        row: Index,
        column: Index,
        adds: str | bool,
        finishes: bool,
    ) -> None:
        """Write a tile, in masked form where it may reach beyond the edge of C."""
        w, plan = self._w, self._plan
        tile = plan.tile
        rows = None if divides(tile.rows, self._rows) else self._rows
        columns = None if divides(tile.columns, self._columns) else self._columns

        def store(rows: Index | None, columns: Index | None) -> None:
            finisher = self._finisher if finishes else None
            if finisher is not None and finisher.is_long and self._buffer is not None:
                at, limits = (row, column), (rows, columns)
                finish_tile(w, plan, c, self._buffer, values, at, limits, adds, finisher)
                return
            finish: Finish | None = None
            if finisher is not None:
                finish = lambda value, at, vector: finisher(  # noqa: E731
                    value, at, w.add(column, vector * tile.lanes), columns
                )
            store_tile(w, plan, c, values, (row, column), (rows, columns), adds, finish)

        if rows is None and columns is None:
            store(None, None)
            return
        below = w.compare("sle", w.add(row, tile.rows), self._rows)
        before = w.compare("sle", w.add(column, tile.columns), self._columns)
        with w.when(w.op(f"arith.andi {below}, {before} : i1")):
            store(None, None)
        with w.otherwise():
            store(rows, columns)

    def _reader_of_a(self, a: Strided, strip: Index, row: Index, depth: Index) -> Reader:
        start = self._w.mul(strip, self._plan.strip_a)
        return rows_of(self._w, self._plan, a, self._packed_a, start, row, self._rows, depth)

    def _reader_of_b(
        self, b: Strided, strip: Index, column: Index, depth: Index, end: Index | None = None
    ) -> Reader:
        w, plan = self._w, self._plan
        start = w.mul(strip, plan.strip_b)
        columns = self._columns if end is None else end
        return vectors_of(w, plan, b, self._packed_b, start, column, columns, depth)

    # Inner products.

    def _write_inner_products(self, a: Strided, b: Strided, c: Strided) -> None:
        w, tile, rows, columns = self._w, self._plan.tile, self._rows, self._columns
        is_inside = divides(tile.rows, rows) and divides(tile.columns, columns)
        with w.loop(0, columns, tile.columns) as column, w.loop(0, rows, tile.rows) as row:
            lines = [w.within(w.add(row, number), rows, tile.rows) for number in range(tile.rows)]
            places = [
                w.within(w.add(column, number), columns, tile.columns)
                for number in range(tile.columns)
            ]
            for number, value in enumerate(self._inner_products(a, b, lines, places)):
                at_row, at_column = divmod(number, tile.columns)
                if is_inside:
                    self._store_element(c, value, lines[at_row], places[at_column])
                    continue
                below = w.compare("slt", w.add(row, at_row), rows)
                before = w.compare("slt", w.add(column, at_column), columns)
                with w.when(w.op(f"arith.andi {below}, {before} : i1")):
                    self._store_element(c, value, lines[at_row], places[at_column])

    def _inner_products(
        self, a: Strided, b: Strided, rows: Sequence[Index], columns: Sequence[Index]
    ) -> list[str]:
        w, problem, lanes, depth = self._w, self._plan.problem, self._lanes, self._depth
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
            errors = [written_nothing(w, vector)] * len(zeros)
            blocks = w.carrying_loop(whole, block, [*zeros, *errors], vector)
            with blocks as (start, carried, handed_on, totals):
                parts = rounds(start, w.min(w.add(start, block), whole))
                pairs = [
                    written_compensated(w, vector, total, error, part)
                    for total, error, part in zip(
                        carried, carried[len(zeros) :], parts, strict=False
                    )
                ]
                handed_on += [total for total, _ in pairs] + [error for _, error in pairs]
            results = totals[: len(zeros)]
        if not divides(lanes, depth):
            results = step(whole, a.memory.below(w.sub(depth, whole)), results)
        return [_sum_of_lanes(w, sums, lanes, problem.element) for sums in results]

    def _store_element(self, c: Strided, value: str, row: Index, column: Index) -> None:
        w, problem, memory = self._w, self._plan.problem, c.memory
        index = w.add(c.base, c.offset(problem.rows, row), c.offset(problem.columns, column))
        if not problem.overwrites:
            value = add(w, memory.load(index), value, problem.element)
        memory.store(value, index)


def _sum_of_lanes(w: Writer, vector: str, lanes: int, element: str) -> str:
    """The elements of a vector added up: halves to halves, where they are floats."""
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
