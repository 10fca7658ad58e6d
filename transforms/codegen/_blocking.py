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

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ._machine import Machine
from ._problem import Group, Operand, Problem

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
class Panel:
    """Columns whose results are collected, and then transposed into C.

    Attributes:
        size: how many values the dimensions have that are contiguous in C.
        runs: how many of them a panel has, whole vectors.
        length: how many columns lie between them: the values of the dimension contiguous in B.
        stride: elements of a panel from one row to the next.
        rows: how many rows it has room for.
        past_caches: whether it goes to C past the caches, where C is aligned.
    """

    size: int
    runs: int
    length: int
    stride: int
    rows: int
    past_caches: bool


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
        panel: what is collected before it goes to C; None where tiles go there one by one.
        by_strips: whether B is packed strip by strip, each of which all of A then meets.
        fetches_b: whether the next strip of B is asked for while one is multiplied.
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
    panel: Panel | None = None
    by_strips: bool = False
    fetches_b: bool = False

    @property
    def fetches_c(self) -> bool:
        """Whether the lines of C are asked for before a tile of it is computed."""
        # Of whole lines one after the other, the machine itself does that better.
        depth = self.problem.words
        return self.pieces_c > 0 and (depth is None or depth > self.depth_block)

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
        is_even = self.depth_block * self.problem.element_bytes % _LINES == 0
        return self.depth_block + (16 if self.pack_a == "rows" and is_even else 0)

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
        if self.pack_b == "none":
            return 0
        # Where there is one block of rows, a strip is read by it alone.
        is_one = self.by_strips or self.panel is not None
        strips = 1 if is_one else self.column_block // self.tile.columns
        return strips * self.strip_b

    @property
    def scratch_c(self) -> int:
        """Elements of a panel of results, or of a tile that is written one by one."""
        if self.panel is not None:
            return self.panel.rows * self.panel.stride
        return 0 if self.pieces_c or self.is_inner else self.tile.rows * self.tile.columns

    def _collected(self) -> str:
        if self.panel is None:
            return ""
        return f", transposed from panels of {self.panel.runs} x {self.panel.length} columns"

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
        scratch = (self.scratch_a + self.scratch_b + self.scratch_c) * problem.element_bytes / 1024
        rows = [
            ("inner products" if self.is_inner else "packed contraction", problem.element),
            *([("products", problem.dot.function)] if problem.dot is not None else []),
            *((name, text) for name, text in named if text),
            ("tile", f"{tile.rows} x {tile.columns} sums of vectors of {tile.lanes}"
                     if self.is_inner else f"{tile.rows} x {tile.vectors} vectors of {tile.lanes}"),
            ("blocks", f"rows {self.row_block}, columns {self.column_block}, "
                       f"depth {self.depth_block}"),
            ("packing", f"A {self.pack_a}, B {self.pack_b}"
                        f"{' strip by strip' if self.by_strips or self.panel else ''}, "
                        f"{scratch:.0f} KiB"),
            ("result", ("overwritten" if problem.overwrites else "added to") + self._collected()),
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
    tile = _choose_tile(problem, lanes, registers)
    depth_block = _depth_block(rows, depth, size, lanes, machine)
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
    panel_bytes = min(machine.l3_bytes // 4, _PANEL_BYTES)
    if rows is not None and rows <= row_block:
        # One block of A: the panel is walked over once, and need not outlive that.
        panel_bytes = machine.l2_bytes // 4
    column_block = _block(columns, panel_bytes // size // depth_block, tile.columns)
    pack_a, pack_b = _packing_a(problem, tile), _packing_b(problem, lanes)
    # Packing pays by being read again and again.
    is_read_once = streams or _is_one(rows, tile.rows)
    if (fits or is_read_once) and _is_readable_b(problem, lanes):
        # Converting pays by being done once, too.
        pack_b = pack_b if "B" in problem.converted and not is_read_once else "none"
    if (fits or _is_one(columns, tile.columns)) and _is_readable_a(problem):
        pack_a = pack_a if "A" in problem.converted else "none"
    whole = rows is not None and rows <= row_block
    panel = _panel(problem, tile, machine) if whole else None
    if panel is not None:
        column_block = _up(panel.runs * panel.length, tile.columns)
    by_strips = whole and panel is None and pack_b != "none"
    is_far = columns is None or depth is None or columns * depth * size > machine.l2_bytes
    return Plan(
        problem,
        tile,
        row_block,
        column_block,
        depth_block,
        pack_a,
        pack_b,
        _few(problem.columns.pieces("C", lanes)),
        panel=panel,
        by_strips=by_strips,
        fetches_b=is_far
        and bool(problem.columns.dimensions)
        and problem.dot is None
        and pack_b in ("rows", "transpose")
        and (by_strips or panel is not None),
    )


def _panel(problem: Problem, tile: Tile, machine: Machine) -> Panel | None:
    """What is collected where C is contiguous along the last but one of the columns."""
    columns, rows, lanes = problem.columns.dimensions, problem.rows.size, tile.lanes
    if _few(problem.columns.pieces("C", lanes)) or len(columns) < 2 or rows is None:
        return None
    contiguous = Group(columns[:-1]).segments("C")[-1]
    size, length = contiguous.size, columns[-1].size
    if contiguous.stride != 1 or size is None or length is None or length < lanes // 2:
        return None
    height = _up(rows, tile.rows)
    most = machine.l2_bytes // 2 // problem.element_bytes // (height * length)
    runs = min(_up(size, lanes), most // lanes * lanes)
    if not runs:
        return None
    stride = _up(runs * length, tile.columns)
    # Rows a power of two apart would share the sets of the cache.
    return Panel(size, runs, length, stride + lanes, height, _goes_past(problem, size, machine))


def _goes_past(problem: Problem, size: int, machine: Machine) -> bool:
    """Whether no cache holds the operands, and all lines of C are whole vectors' alone."""
    lanes = machine.vector_bytes // problem.element_bytes
    groups = (problem.rows, problem.columns, problem.depth, Group(problem.batch))
    dimensions = [dimension for group in groups for dimension in group.dimensions]
    steps = [d.strides["C"] for d in dimensions if "C" in d.strides]
    if not problem.overwrites or size % lanes or not problem.is_static:
        return False
    if any(step is None or (step != 1 and step % lanes) for step in steps):
        return False
    names: tuple[Operand, ...] = ("A", "B", "C")
    elements = sum(
        math.prod(d.size or 1 for d in dimensions if name in d.strides) for name in names
    )
    return elements * problem.element_bytes > machine.l3_bytes


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


_LINES = 1024
"""Rows apart by a multiple of so many bytes soon meet in one set of L1."""

_INPUTS: tuple[Operand, Operand] = ("A", "B")

_THIN = 2
"""Up to so many rows or columns, an element is read once for each, and packing it is not repaid."""

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
    if problem.dot is not None or "A" in problem.computed:
        is_even = len(problem.rows.segments("A")) == 1 and problem.rows.run("A") != 0
        return "columns" if is_even else "scalar"
    if problem.rows.dimensions and _few(pieces_of_rows(problem, tile, min(tile.rows, tile.lanes))):
        return "columns"
    return "scalar"


def pieces_of_rows(problem: Problem, tile: Tile, width: int) -> int:
    """In how many pieces at most the first rows of a tile lie in A; 0 for none."""
    run = problem.rows.run("A")
    if len(problem.rows.segments("A")) <= 1 or (run and run % tile.rows == 0):
        return 0 if run == 0 else 1
    return 1 + -(-(width - 1) // run) if run else 0


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


def _choose_tile(problem: Problem, lanes: int, registers: int) -> Tile:
    """The tile with the least work, what is computed beyond the edges of C included."""
    rows, columns, depth = problem.rows.size, problem.columns.size, problem.words
    best: tuple[float, Tile] | None = None
    for vectors in range(1, 9):
        for height in range(1, registers):
            tile = Tile(height, vectors, lanes)
            if height * vectors + vectors + 1 > registers - 1:
                break
            if height > _STREAMS and _is_one(columns, tile.columns) and _is_along_depth(problem):
                break
            cycles = _cost(tile)
            if depth:
                cycles += _storing(problem, tile) / (tile.rows * tile.vectors * depth)
            if rows:
                cycles += _copying(problem, tile) / rows
            work = _padding(rows, height) * _padding(columns, tile.columns) * cycles
            if best is None or work < best[0]:
                best = work, tile
    if best is None:
        raise AssertionError("a machine without registers")
    return best[1]


_STREAMS = 10
"""Rows of A that are read side by side, where they lie: lines of more would evict each other, all
of one set of L1 where the rows are a power of two apart."""


def _is_along_depth(problem: Problem) -> bool:
    """Whether A is read where it lies, each of its rows from its first element to its last."""
    return (
        _is_readable_a(problem) and problem.depth.run("A") != 0 and bool(problem.depth.dimensions)
    )


def _storing(problem: Problem, tile: Tile) -> float:
    """Cycles for writing a tile of C that nothing else is done in."""
    depth, pieces = problem.words or 1, _few(problem.columns.pieces("C", tile.lanes))
    if not pieces:
        return 2.0 * tile.rows * tile.columns
    products = tile.rows * tile.vectors
    run = problem.columns.run("C")
    is_cut_evenly = run and max(run, tile.columns) % min(run, tile.columns) == 0
    if pieces > 1 and is_cut_evenly and run and run >= tile.columns:
        pieces = 1
    cycles = 3.0 * products * pieces
    if pieces > 1 and not is_cut_evenly:
        cycles += 12.0 * tile.vectors
    segments = problem.rows.segments("C")
    last = segments[-1].size if segments else 1
    if len(segments) > 1 and (last is None or last % tile.rows):
        cycles += 16.0 * tile.rows
    # The next tile is begun meanwhile, if a core sees that far.
    instructions = depth * (products + tile.rows + tile.vectors)
    return cycles * min(max(instructions / _WINDOW - 1.0, 0.0), 1.0)


def _copying(problem: Problem, tile: Tile) -> float:
    """Cycles for copying a vector of B, where that is how it is packed."""
    if _packing_b(problem, tile.lanes) != "rows":
        return 0.0
    run, pieces = problem.columns.run("B"), problem.columns.pieces("B", tile.lanes)
    if pieces == 1:
        return 1.0
    is_cut_evenly = run and max(run, tile.columns) % min(run, tile.columns) == 0
    if is_cut_evenly:
        return 1.0 if run and run % tile.columns == 0 else 1.5
    return 2.0 * pieces


_WINDOW = 512
"""So many instructions, at most, does a core have under way."""


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


def _depth_block(
    rows: int | None, depth: int | None, size: int, lanes: int, machine: Machine
) -> int:
    """How much of the depth is packed at once: much, for C is read and written for each block.

    A block of A is then still some strips high, and takes half of L2.
    """
    half = machine.l2_bytes // 2
    most = max(half // _ROWS, _LEAST_DEPTH_BYTES)
    if depth is not None and depth * size <= 2 * most:
        most = 2 * most  # C is written once
    elif rows and rows * _LEAST_DEPTH_BYTES <= half:
        # All rows in one block: neither operand is packed twice.
        most = min(most, max(half // (rows + _ROWS), _LEAST_DEPTH_BYTES))
    return _even_block(depth, most // size, lanes)


_ROWS = 128
"""The least rows of A that make reading a strip of B from L2 worth while."""

_LEAST_DEPTH_BYTES = 2048
"""The least depth of a block: writing C then costs a tenth."""


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
