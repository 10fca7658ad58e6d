"""The nest around the micro-kernel: batch, blocks and strips."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from linalg_ext.transforms.codegen.base.epilogue import Finisher
from linalg_ext.transforms.codegen.base.flat_memory import Memory, Strided
from linalg_ext.transforms.codegen.base.nest import Nest
from linalg_ext.transforms.codegen.base.operand_types import Argument
from linalg_ext.transforms.codegen.base.payload import Elementwise
from linalg_ext.transforms.codegen.base.problem import Group, Operand
from linalg_ext.transforms.codegen.base.writer import Index

from ._inner_products import write_inner_products
from ._panels import collect_tile, write_panel
from ._prologue import Prologue
from ._tile_epilogue import finish_tile
from ._word_packing import pack_words_of_a, pack_words_of_b
from ._zero_points import Corrections
from .contraction_plan import Packing, Plan
from .micro_kernel import Finish, fetch_tile, multiply, scatter_tile, store_tile
from .packing import divides, pack_a, pack_b
from .strip_readers import Reader, rows_of, vectors_of

Pack = Callable[..., None]
"""Packs strips of an operand."""


class ContractionNest(Nest):
    """Writes the nest of one plan."""

    def __init__(
        self,
        plan: Plan,
        arguments: Sequence[Argument],
        epilogue: Elementwise | None = None,
        prologues: Sequence[Elementwise | None] = (None, None),
    ) -> None:
        """
        Args:
            plan: how.
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
        self._prologues = {
            role: Prologue(w, plan, role, body, self._others(body, f"{role}P", f"{role}S"))
            for role, body in zip(order, prologues, strict=False)
            if body is not None
        }
        self._finisher = None
        if epilogue is not None:
            groups = plan.problem.rows, plan.problem.columns
            others = self._others(epilogue, "E", "S")
            self._finisher = Finisher(w, groups, epilogue, others, plan.tile.lanes)
        problem = plan.problem
        self._rows, self._columns, self._depth = (
            self._size(group) for group in (problem.rows, problem.columns, problem.depth)
        )
        self._whole_depth = self._depth
        self._depth = w.ceil_div(self._depth, problem.word)
        self._corrections = None
        if problem.dot is not None:
            self._corrections = Corrections(w, plan, problem.dot, self._whole_depth)
        self._one_depth_block = isinstance(self._depth, int) and self._depth <= plan.depth_block

    def _size(self, group: Group) -> Index:
        total: Index = 1
        for dimension in group.dimensions:
            total = self._w.mul(total, self._sizes[dimension.name])
        return total

    def _others(self, body: Elementwise, operands: str, scalars: str) -> list[Strided]:
        """Add what a payload reads besides to the parameters: other operands, and scalars."""
        others = [
            self._operand(f"{operands}{number}", argument).grouped("C", self._sizes)
            for number, argument in enumerate(body.arguments)
        ]
        for number, type_ in enumerate(body.scalars):
            self._scalar(f"{scalars}{number}", type_)
        return others

    def function(self, name: str) -> str:
        """The function as text, and the instruction that it declares."""
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
                for role, prologue in self._prologues.items():
                    self._prologues[role] = prologue.moved(dimension.name, at)
            if plan.is_inner:
                sizes = self._rows, self._columns, self._depth
                write_inner_products(w, plan, a, b, c, sizes)
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
                self._pack_b(b, column, strips_b, depth, extent)
                with w.loop(0, self._rows, plan.row_block) as row:
                    rows = w.min(plan.row_block, w.sub(self._rows, row))
                    strips_a = w.ceil_div(rows, plan.tile.rows)
                    self._pack_a(a, row, strips_a, depth, extent)
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
            self._pack_a(a, 0, strips_a, depth, extent)
            with w.loop(0, self._columns, plan.tile.columns) as column:
                self._pack_b(b, column, 1, depth, extent)
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
            self._pack_a(a, 0, strips_a, 0, self._depth)
        others = w.div(self._columns, panel.size * panel.length)
        with w.loop(0, others) as other, w.loop(0, panel.size, panel.runs) as first:
            runs = w.min(panel.runs, w.sub(panel.size, first))
            column = w.mul(w.add(w.mul(other, panel.size), first), panel.length)
            strips_b = w.ceil_div(w.mul(runs, panel.length), plan.tile.columns)
            with self._depth_blocks(True) as (depth, extent):
                if not self._one_depth_block:
                    self._pack_a(a, 0, strips_a, depth, extent)
                adds = not self._one_depth_block and w.compare("ne", depth, 0)
                with w.loop(0, strips_b) as strip_b:
                    at = w.mul(strip_b, plan.tile.columns)
                    self._pack_b(b, w.add(column, at), 1, depth, extent)
                    with w.loop(0, strips_a) as strip_a:
                        row = w.mul(strip_a, plan.tile.rows)
                        read_a = self._reader_of_a(a, strip_a, row, depth)
                        read_b = self._reader_of_b(b, 0, w.add(column, at), depth)
                        if plan.fetches_b:
                            read_b = self._fetching(read_b, b, w.add(column, at), depth, strip_a)
                        first_sums = self._first_sums((strip_a, 0))
                        values = multiply(w, plan, extent, read_a, read_b, first_sums)
                        collect_tile(w, plan, collected, values, (row, at), adds)
            write_panel(w, plan, collected, c, self._rows, column, runs, past_caches)
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
        """The loop over blocks of the depth: where each begins, and how deep it is."""
        w, block = self._w, self._plan.depth_block
        # Where nothing is summed C is still to be written: one round, of no depth.
        with w.loop(0, w.max(self._depth, 1) if at_least_one else self._depth, block) as depth:
            is_whole = divides(block, self._depth)
            yield depth, block if is_whole else w.min(block, w.sub(self._depth, depth))

    def _pack_a(self, a: Strided, row: Index, strips: Index, depth: Index, extent: Index) -> None:
        pack: Pack = self._prologues.get("A", pack_a)
        if self._corrections is not None:
            pack = partial(pack_words_of_a, self._corrections)
        if self._packed_a is not None:
            pack(self._w, self._plan, a, self._packed_a, row, depth, extent, strips,
                 self._rows, self._whole_depth)  # fmt: skip

    def _pack_b(
        self, b: Strided, column: Index, strips: Index, depth: Index, extent: Index
    ) -> None:
        pack: Pack = self._prologues.get("B", pack_b)
        if self._corrections is not None:
            pack = partial(pack_words_of_b, self._corrections)
        if self._packed_b is not None:
            pack(self._w, self._plan, b, self._packed_b, column, depth, extent, strips,
                 self._columns, self._whole_depth)  # fmt: skip

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
        store = partial(self._store, c, values, row, column, adds)
        if self._finisher is None or self._one_depth_block:
            store(finishes=self._finisher is not None)
            return
        end = w.add(depth, plan.depth_block)
        with w.when(w.compare("sge", end, self._depth)):
            store(finishes=True)
        with w.otherwise():
            store(finishes=False)

    def _first_sums(self, strips: tuple[Index, Index]) -> list[str]:
        w, plan = self._w, self._plan
        if self._corrections is None or self._packed_a is None or self._packed_b is None:
            return []
        strip_a, strip_b = w.mul(strips[0], plan.strip_a), w.mul(strips[1], plan.strip_b)
        return self._corrections.first_sums(self._packed_a, self._packed_b, strip_a, strip_b)

    def _store(
        self,
        c: Strided,
        values: Sequence[str],
        row: Index,
        column: Index,
        adds: str | bool,
        *,
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

    def _reader_of_b(self, b: Strided, strip: Index, column: Index, depth: Index) -> Reader:
        w, plan = self._w, self._plan
        start = w.mul(strip, plan.strip_b)
        return vectors_of(w, plan, b, self._packed_b, start, column, self._columns, depth)
