"""The plan of a contraction: tile, blocks and packing, from an analytic model.

The nest is Goto's, as BLIS has it, and its sizes follow from the caches as in T. M. Low, F. D.
Igual, T. M. Smith, E. S. Quintana-Orti, "Analytical Modeling Is Enough for High-Performance BLIS",
ACM TOMS 43(2), 2016:

    for columns by `column_block`            a packed panel of B stays in the last cache
      for depth by `depth_block`             pack B
        for rows by `row_block`              pack A: its block stays in half of L2
          for columns by `tile.columns`
            for rows by `tile.rows`          a strip of A stays in L1, one of B streams from L2
              for depth                      the micro-kernel: a tile of C in registers
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ._machine import Machine
from ._problem import Operand, Problem

Packing = Literal["none", "rows", "columns", "transpose", "scalar"]
"""How an operand is packed: not at all; by vectors along the depth (`rows` of A) or along what is
not the depth (`columns` of A, `rows` of B); by a transposition in registers; one by one."""


@dataclass(frozen=True)
class Tile:
    """The part of C that the micro-kernel holds in registers.

    Attributes:
        rows: how many rows.
        vectors: how many vectors of columns.
        lanes: how many columns a vector has.
    """

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        """How many columns."""
        return self.vectors * self.lanes


@dataclass(frozen=True)
class SumsTile(Tile):
    """A tile each element of which is a vector of partial sums along the depth."""

    @property
    def columns(self) -> int:
        """How many columns."""
        return self.vectors


@dataclass(frozen=True)
class Plan:
    """How a contraction is computed. Its `repr` is a table.

    Attributes:
        problem: what is computed.
        tile: the tile of C in registers.
        row_block: rows of A that are packed at once.
        column_block: columns of B that are packed at once.
        depth_block: how much of the depth is packed at once.
        pack_a: how A is packed.
        pack_b: how B is packed.
        pieces_c: in how many masked pieces a vector of C is stored; 0 where one by one.
        is_inner: whether the vectors run along the depth, and are summed at the end.
    """

    problem: Problem
    tile: Tile
    row_block: int
    column_block: int
    depth_block: int
    pack_a: Packing
    pack_b: Packing
    pieces_c: int
    is_inner: bool = False

    @property
    def strip_a(self) -> int:
        """Elements of a packed strip of A: `tile.rows` rows."""
        return self.end_a + (self.tile.rows if "B" in self.problem.zero_points else 0)

    @property
    def end_a(self) -> int:
        """Where a packed strip of A ends, and what its rows add to dot products begins."""
        # A vector that is stored may reach beyond the end of its strip.
        return self.tile.rows * self.stride_a + self.tile.lanes

    @property
    def stride_a(self) -> int:
        """Elements from one row to the next where A is packed by rows."""
        # Rows a power of two apart would share the sets of the cache.
        return self.depth_block + (16 if self.pack_a == "rows" else 0)

    @property
    def strip_b(self) -> int:
        """Elements of a packed strip of B: `tile.columns` columns."""
        return self.end_b + (self.tile.columns if self.problem.corrects_columns else 0)

    @property
    def end_b(self) -> int:
        """Where a packed strip of B ends, and what its columns add to dot products begins."""
        return self.tile.columns * self.depth_block

    @property
    def scratch_a(self) -> int:
        """Elements of the packed block of A; 0 where it is not packed."""
        return 0 if self.pack_a == "none" else self.row_block // self.tile.rows * self.strip_a

    @property
    def scratch_b(self) -> int:
        """Elements of the packed panel of B; 0 where it is not packed."""
        return 0 if self.pack_b == "none" else self.column_block // self.tile.columns * self.strip_b

    def __repr__(self) -> str:
        problem, tile = self.problem, self.tile
        named = [
            (name, " ".join(f"{d.name}:{'?' if d.size is None else d.size}" for d in dimensions))
            for name, dimensions in (
                ("batch", problem.batch),
                ("rows", problem.rows.dimensions),
                ("columns", problem.columns.dimensions),
                ("depth", problem.depth.dimensions),
            )
        ]
        scratch = (self.scratch_a + self.scratch_b) * problem.element_bytes / 1024
        rows = [
            ("inner products" if self.is_inner else "packed contraction", problem.element),
            *([("products", problem.dot.function)] if problem.dot is not None else []),
            *((name, text) for name, text in named if text),
            ("tile", f"{tile.rows} x {tile.columns} sums of vectors of {tile.lanes}"
                     if self.is_inner else f"{tile.rows} x {tile.vectors} vectors of {tile.lanes}"),
            ("blocks", f"rows {self.row_block}, columns {self.column_block}, "
                       f"depth {self.depth_block}"),
            ("packing", f"A {self.pack_a}, B {self.pack_b}, {scratch:.0f} KiB"),
            ("result", "overwritten" if problem.overwrites else "added to"),
        ]  # fmt: skip
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:{width}}  {text}" for name, text in rows)


def make_plan(problem: Problem, machine: Machine) -> Plan:
    """The plan of a contraction on a machine."""
    size = problem.element_bytes
    lanes = machine.vector_bytes // size if problem.dot is None else problem.dot.lanes
    if problem.dot is None and not problem.computed and _is_inner(problem, lanes):
        return _inner_plan(problem, lanes)
    rows, columns, depth = problem.rows.size, problem.columns.size, problem.words
    registers = machine.vector_registers
    if problem.dot is not None:
        registers = min(registers, problem.dot.registers)
    tile = _choose_tile(rows, columns, lanes, registers)
    depth_block = _even_block(depth, _DEPTH_BYTES // size, lanes)
    if problem.is_undivided:
        depth_block = _up(max(depth or 0, 1), lanes)
    fits = _fits_unpacked(problem, machine)
    streams = (
        not problem.is_undivided
        and not fits
        and _is_streamed(problem, machine)
        and _is_readable_b(problem, lanes)
    )
    if streams:
        # B is read once or twice, from far away: a few of its rows at a time, side by side.
        depth_block = 8 if rows == 1 else 16
    row_block = _block(rows, machine.l2_bytes // 2 // size // depth_block, tile.rows)
    panel = min(machine.l3_bytes // 4, _PANEL_BYTES)
    if rows is not None and rows <= row_block:
        # One block of A: the panel is walked over once, and need not outlive that.
        panel = machine.l2_bytes // 4
    column_block = _block(columns, panel // size // depth_block, tile.columns)
    pack_a, pack_b = _packing_a(problem, tile), _packing_b(problem, lanes)
    # Packing pays by being read again and again.
    is_read_once = streams or _is_one(rows, tile.rows)
    if (fits or is_read_once) and _is_readable_b(problem, lanes):
        # Converting pays by being done once, too.
        pack_b = pack_b if "B" in problem.converted and not is_read_once else "none"
    if (fits or _is_one(columns, tile.columns)) and _is_readable_a(problem):
        pack_a = pack_a if "A" in problem.converted else "none"
    return Plan(
        problem,
        tile,
        row_block,
        column_block,
        depth_block,
        pack_a,
        pack_b,
        _few(problem.columns.pieces("C", lanes)),
    )


def _is_inner(problem: Problem, lanes: int) -> bool:
    """Whether both operands lie along the depth, and one is too thin to make packing pay."""
    rows, columns, depth = (g.size for g in (problem.rows, problem.columns, problem.depth))
    along_depth = all(
        len(problem.depth.segments(operand)) == 1 and problem.depth.run(operand) != 0
        for operand in _INPUTS
    )
    if not along_depth or rows is None or depth is None or columns is None:
        return False
    return min(rows, columns) <= _THIN and depth >= 2 * lanes


def _inner_plan(problem: Problem, lanes: int) -> Plan:
    rows, columns, depth = (g.size or 1 for g in (problem.rows, problem.columns, problem.depth))
    height = min(rows, 2)
    tile = SumsTile(height, min(columns, 8 if height == 1 else 4), lanes)
    return Plan(
        problem,
        tile,
        row_block=_up(rows, tile.rows),
        column_block=_up(columns, tile.columns),
        depth_block=depth,
        pack_a="none",
        pack_b="none",
        pieces_c=0,
        is_inner=True,
    )


_INPUTS: tuple[Operand, Operand] = ("A", "B")

_THIN = 2
"""Up to so many rows or columns, an element is read once for each, and packing it is not repaid."""

_DEPTH_BYTES = 2048
"""Depth of a block, in bytes of a row.

A strip of A of six rows then takes a quarter of L1, and reading and writing C costs a tenth of a
percent or so for each vector of the tile.
"""

_PANEL_BYTES = 8 << 20
"""The packed panel of B: more does not pay, as A is packed anew for each."""

_FEW_ROWS = 32
"""Up to so many rows of A, packing B costs more than reading it for each strip of them."""

_MOST_PIECES = 3
"""A vector in more pieces than this costs more than its elements one by one."""


def _few(pieces: int) -> int:
    return pieces if pieces <= _MOST_PIECES else 0


def _packing_a(problem: Problem, tile: Tile) -> Packing:
    if _few(problem.depth.pieces("A", tile.lanes * problem.word)) and problem.depth.dimensions:
        return "rows"
    if len(problem.rows.segments("A")) == 1 and problem.rows.run("A") != 0:
        return "columns"
    return "scalar"


def _packing_b(problem: Problem, lanes: int) -> Packing:
    if problem.columns.dimensions and _few(problem.columns.pieces("B", lanes)):
        return "rows"
    if problem.depth.dimensions and _few(problem.depth.pieces("B", lanes * problem.word)):
        return "transpose"
    return "scalar"


def _is_streamed(problem: Problem, machine: Machine) -> bool:
    """Whether A has few rows, and C stays in L2 while it is added to again and again."""
    rows, columns = problem.rows.size, problem.columns.size
    if rows is None or columns is None or rows > _FEW_ROWS:
        return False
    return rows * columns * problem.element_bytes <= machine.l2_bytes // 2


def _is_one(size: int | None, tile: int) -> bool:
    return size is not None and size <= tile


def _is_readable_a(problem: Problem) -> bool:
    """Whether the micro-kernel may read A where it lies: its offsets are cheap to know."""
    if problem.dot is not None or "A" in problem.computed:
        return False
    return all(len(group.segments("A")) <= 1 for group in (problem.rows, problem.depth))


def _is_readable_b(problem: Problem, lanes: int) -> bool:
    """Whether the micro-kernel may read B where it lies: in whole vectors."""
    if problem.dot is not None or "B" in problem.computed:
        return False
    is_in_vectors = problem.columns.pieces("B", lanes) == 1 and bool(problem.columns.dimensions)
    return is_in_vectors and len(problem.depth.segments("B")) <= 1


def _fits_unpacked(problem: Problem, machine: Machine) -> bool:
    """Whether both operands stay in L2 while the tiles walk over them."""
    rows, columns, depth = (g.size for g in (problem.rows, problem.columns, problem.depth))
    if rows is None or columns is None or depth is None:
        return False
    # What is read is every line of B for each strip of A, and a strip of A for each of B.
    a, b = rows * depth * problem.element_bytes, columns * depth * problem.element_bytes
    return a <= machine.l2_bytes * 2 // 5 and b <= machine.l2_bytes


def _choose_tile(rows: int | None, columns: int | None, lanes: int, registers: int) -> Tile:
    """The tile with the least work, what is computed beyond the edges of C included."""
    best: tuple[float, Tile] | None = None
    for vectors in range(1, 9):
        for height in range(1, registers):
            if height * vectors + vectors + 1 > registers - 1:
                break
            tile = Tile(height, vectors, lanes)
            work = _padding(rows, height) * _padding(columns, tile.columns) * _cost(tile)
            if best is None or work < best[0]:
                best = work, tile
    if best is None:
        raise AssertionError("a machine without registers")
    return best[1]


def _padding(size: int | None, tile: int) -> float:
    """By how much the edges enlarge the work."""
    size = size or 64 * tile
    return -(-size // tile) * tile / size


def _cost(tile: Tile) -> float:
    """Cycles for a product of each element of the tile, two FMA a cycle being the least.

    An FMA takes four cycles: fewer than eight of them under way leave the units idle. Loads run
    beside them and cost little, those of B, from L2, more than those of A, from L1.
    """
    products = tile.rows * tile.vectors
    cycles = max(products / 2, 4.0) + 0.1 * tile.rows + 0.15 * tile.vectors
    return cycles / products


def _even_block(size: int | None, most: int, multiple: int) -> int:
    """Blocks of about the same size, none larger than `most`."""
    if size is None:
        return most
    count = max(1, -(-size // most))
    return max(multiple, _up(-(-size // count), multiple))


def _block(size: int | None, most: int, multiple: int) -> int:
    block = max(multiple, most // multiple * multiple)
    return block if size is None else min(block, max(multiple, _up(size, multiple)))


_up: Callable[[int, int], int] = lambda size, multiple: -(-size // multiple) * multiple  # noqa: E731
