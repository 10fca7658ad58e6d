"""The plan of a contraction: tile, blocks and packing, by an analytic model.

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

import functools
import math
from dataclasses import dataclass
from typing import Literal

from linalg_ext.target import Target
from linalg_ext.target.text import table
from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.base.problem import Group, Operand, Problem, size_text

Packing = Literal["none", "rows", "columns", "transpose", "scalar"]
"""The ways to pack an operand.

`none` does not pack. `rows` and `columns` pack by vectors: along the depth (`rows` of A), or along
the other dimensions (`columns` of A, `rows` of B). `transpose` transposes in registers. `scalar`
copies one element at a time.
"""


_LINES = 1024
"""A row distance in bytes whose multiples soon meet in one set of L1."""

_SHORT_DEPTH = 128
"""The most steps of the depth whose products take less time than fetching the lines of C."""


@dataclass(frozen=True)
class Tile:
    """The part of C that the micro-kernel holds in registers: rows of vectors of columns."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.vectors * self.lanes


@dataclass(frozen=True)
class SumsTile(Tile):
    """A tile each element of which is a vector of partial sums along the depth."""

    @property
    def columns(self) -> int:
        """The number of columns: one for each vector."""
        return self.vectors


@dataclass(frozen=True)
class Panel:
    """Columns whose results are collected, and then transposed into C.

    Attributes:
        size: the size of the dimensions that are contiguous in C.
        runs: the part of that size in a panel, whole vectors.
        length: the columns between two such runs: the size of the dimension contiguous in B.
        stride: elements of a panel from one row to the next.
        rows: the number of rows of its memory.
        past_caches: whether it goes to C past the caches, where C is aligned.
    """

    size: int
    runs: int
    length: int
    stride: int
    rows: int
    past_caches: bool

    def is_of_whole_tiles(self, tile: Tile) -> bool:
        """Return whether every panel begins and ends at a multiple of a tile's columns."""
        runs = self.size, min(self.size, self.runs)
        return all(count * self.length % tile.columns == 0 for count in runs)


@dataclass(frozen=True)
class Plan:
    """The plan of a contraction. Its `repr` is a table.

    Attributes:
        problem: the contraction.
        tile: the tile of C in registers.
        row_block: rows of A that are packed at once.
        column_block: columns of B that are packed at once.
        depth_block: how much of the depth is packed at once.
        pack_a: how A is packed.
        pack_b: how B is packed.
        pieces_c: in how many masked pieces a vector of C is stored; 0 where one by one.
        is_inner: whether the vectors run along the depth, and are summed at the end.
        panel: the panel in which results are collected; None if tiles go to C one by one.
        by_strips: whether B is packed strip by strip, each of which all of A then meets.
        fetches_b: whether the next strip of B is prefetched while one is multiplied.
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
        """True where the lines of C are prefetched before a tile of it is computed."""
        depth, segments = self.problem.words, self.problem.columns.segments("C")
        if depth is None or depth > self.depth_block:
            return self.pieces_c > 0
        if depth > _SHORT_DEPTH:
            return False  # The lines, each written once, arrive in time.
        if len(segments) == 1 and (segments[0].size or math.inf) <= self.tile.columns:
            return False  # The machine foresees the rows, which lie one after the other.
        return self.pieces_c > 1 or (self.pieces_c == 1 and not self.fetches_b)

    @property
    def strip_a(self) -> int:
        """Elements of a packed strip of A: `tile.rows` rows."""
        return self.end_a + (self.tile.rows if "B" in self.problem.zero_points else 0)

    @property
    def end_a(self) -> int:
        """The end of the elements in a packed strip of A; its rows' corrections follow."""
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
        """The end of the elements in a packed strip of B; its columns' corrections follow."""
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
        # One block of rows alone reads each strip, so one strip is packed at a time.
        is_one = self.by_strips or self.panel is not None
        strips = 1 if is_one else self.column_block // self.tile.columns
        return strips * self.strip_b

    @property
    def scratch_c(self) -> int:
        """Elements of a panel of results, or of a tile that is written one by one."""
        if self.panel is not None:
            return self.panel.rows * self.panel.stride
        return 0 if self.pieces_c or self.is_inner else self.tile.rows * self.tile.columns

    def __repr__(self) -> str:
        problem, tile = self.problem, self.tile
        named = [
            (name, " ".join(f"{d.name}:{size_text(d.size)}" for d in dimensions))
            for name, dimensions in (
                ("batch", problem.batch),
                ("rows", problem.rows.dimensions),
                ("columns", problem.columns.dimensions),
                ("depth", problem.depth.dimensions),
            )
        ]
        scratch = (self.scratch_a + self.scratch_b + self.scratch_c) * problem.element_bytes / 1024
        is_by_strips = self.pack_b != "none" and (self.by_strips or self.panel is not None)
        result = "overwritten" if problem.overwrites else "added to"
        if self.panel is not None:
            result += f", transposed from panels of {self.panel.runs} x {self.panel.length} columns"
        rows = [
            ("inner products" if self.is_inner else "packed contraction", problem.element),
            *([("products", problem.dot.function)] if problem.dot is not None else []),
            *((name, text) for name, text in named if text),
            ("tile", f"{tile.rows} x {tile.columns} sums of vectors of {tile.lanes}"
                     if self.is_inner else f"{tile.rows} x {tile.vectors} vectors of {tile.lanes}"),
            ("blocks", f"rows {self.row_block}, columns {self.column_block}, "
                       f"depth {self.depth_block}"),
            ("packing", f"A {self.pack_a}, B {self.pack_b}"
                        f"{' strip by strip' if is_by_strips else ''}, {scratch:.0f} KiB"),
            ("result", result),
        ]  # fmt: skip
        return table(rows)


@functools.lru_cache(maxsize=512)
def make_plan(problem: Problem, machine: Machine) -> Plan:
    """The plan of a contraction on a machine; layers of a model ask for the same ones."""
    size = problem.element_bytes
    lanes = machine.vector_bytes // size if problem.dot is None else problem.dot.lanes
    if problem.dot is None and not problem.computed and _is_inner(problem, lanes):
        return _inner_plan(problem, lanes)
    rows, columns, depth = problem.rows.size, problem.columns.size, problem.words
    registers = machine.vector_registers
    if problem.dot is not None:
        registers = min(registers, problem.dot.registers)
    tile = _choose_tile(problem, lanes, registers, machine)
    in_strips = _vectors_of_strips(problem, lanes) == tile.vectors
    depth_block = _depth_block(rows, depth, size, lanes, machine)
    if problem.is_undivided:
        depth_block = round_up(max(depth or 0, 1), lanes)
    fits, is_readable_b = _fits_unpacked(problem, machine), _is_readable_b(problem, lanes)
    is_whole = problem.is_undivided or fits or in_strips
    streams = not is_whole and _is_streamed(problem, machine) and is_readable_b
    if streams:
        # B is read once or twice, from far away: a few of its rows at a time, side by side.
        depth_block = 8 if rows == 1 else 16
    row_block = _block(rows, machine.l2_bytes // 2 // size // depth_block, tile.rows)
    panel_bytes = min(machine.l3_bytes // 4, _PANEL_BYTES)
    if rows is not None and rows <= row_block:
        # One block of A: the panel is walked over once, and need not outlive that.
        panel_bytes = machine.l2_bytes // 4
    column_block = _block(columns, panel_bytes // size // depth_block, tile.columns)
    pack_a, pack_b = _packing_of_a(problem, tile), _packing_of_b(problem, lanes)
    # Packing pays by being read again and again.
    is_read_once = streams or _is_one(rows, tile.rows)
    is_near = fits and _strips_stay_near(problem, tile, machine)
    if in_strips:
        pack_b = "none"
    elif (is_near or is_read_once) and is_readable_b:
        # Converting pays by being done once, too.
        pack_b = pack_b if "B" in problem.converted and not is_read_once else "none"
    if (is_near or _is_one(columns, tile.columns)) and _is_readable_a(problem):
        pack_a = pack_a if "A" in problem.converted else "none"
    whole = rows is not None and rows <= row_block
    panel = _panel(problem, tile, machine) if whole else None
    if panel is not None:
        column_block = round_up(panel.runs * panel.length, tile.columns)
    by_strips = whole and panel is None and (pack_b != "none" or in_strips)
    # Strips that lie ready come one after the other: from the last cache, a core foresees that.
    near = machine.l3_bytes // 2 if in_strips else machine.l2_bytes
    is_far = columns is None or depth is None or columns * depth * size > near
    return Plan(
        problem,
        tile,
        row_block,
        column_block,
        depth_block,
        pack_a,
        pack_b,
        few(problem.columns.pieces("C", lanes)),
        panel=panel,
        by_strips=by_strips,
        fetches_b=is_far
        and bool(problem.columns.dimensions)
        and problem.dot is None
        and (in_strips or (pack_b in ("rows", "transpose") and (by_strips or panel is not None))),
    )


def cycles_of_a_step(tile: Tile, core: Machine | Target) -> float:
    """Return the cycles for one value of the depth: multiply-adds, and delays by loads.

    The units idle with fewer multiply-adds in flight than one takes cycles. Loads run in parallel
    and cost little, those of B, from L2, more than those of A, from L1.
    """
    products = tile.rows * tile.vectors
    busy = max(products / core.fma_units, float(core.fma_latency))
    return busy + 0.1 * tile.rows + 0.15 * tile.vectors


_MOST_PIECES = 3
"""A vector in more pieces than this costs more than its elements one by one."""


def few(pieces: int) -> int:
    """The pieces of a vector where they are few enough to be read or written so; else 0."""
    return pieces if pieces <= _MOST_PIECES else 0


def pieces_of_rows(problem: Problem, tile: Tile, width: int) -> int:
    """In how many pieces at most the first rows of a tile lie in A; 0 for none."""
    run = problem.rows.run("A")
    if len(problem.rows.segments("A")) <= 1 or (run and run % tile.rows == 0):
        return 0 if run == 0 else 1
    return 1 + -(-(width - 1) // run) if run else 0


def round_up(size: int, multiple: int) -> int:
    """Return the least multiple of a number that is no less than a size."""
    return -(-size // multiple) * multiple


def _panel(problem: Problem, tile: Tile, machine: Machine) -> Panel | None:
    """Return the panel that collects C, if C is contiguous along the last column but one."""
    columns, rows, lanes = problem.columns.dimensions, problem.rows.size, tile.lanes
    if few(problem.columns.pieces("C", lanes)) or len(columns) < 2 or rows is None:
        return None
    contiguous = Group(columns[:-1]).segments("C")[-1]
    size, length = contiguous.size, columns[-1].size
    if contiguous.stride != 1 or size is None or length is None or length < lanes // 2:
        return None
    height = round_up(rows, tile.rows)
    most = machine.l2_bytes // 2 // problem.element_bytes // (height * length)
    runs = min(round_up(size, lanes), most // lanes * lanes)
    if not runs:
        return None
    # Panels of whole tiles are packed without masks.
    even = math.lcm(lanes, tile.columns // math.gcd(tile.columns, length))
    if even <= runs < size and size * length % tile.columns == 0:
        runs -= runs % even
    stride = round_up(runs * length, tile.columns)
    # Rows a power of two apart would share the sets of the cache.
    return Panel(size, runs, length, stride + lanes, height, _goes_past(problem, size, machine))


def _goes_past(problem: Problem, size: int, machine: Machine) -> bool:
    """Return whether no cache holds the operands, and all vectors fill lines of C alone."""
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
    """Return whether both operands lie along the depth, and one is too thin to make packing pay."""
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
        row_block=round_up(rows, tile.rows),
        column_block=round_up(columns, tile.columns),
        depth_block=depth,
        pack_a="none",
        pack_b="none",
        pieces_c=0,
        is_inner=True,
    )


_INPUTS: tuple[Operand, Operand] = ("A", "B")

_THIN = 2
"""The most rows or columns for which packing is not repaid, as an element is read once for each."""

_PANEL_BYTES = 8 << 20
"""The most bytes of the packed panel of B: more does not pay, as A is repacked for each."""

_FEW_ROWS = 32
"""The most rows of A for which packing B costs more than reading it for each strip of them."""


def _is_streamed(problem: Problem, machine: Machine) -> bool:
    """Return whether A has few rows, and C stays in L2 while it is added to again and again."""
    rows, columns = problem.rows.size, problem.columns.size
    if rows is None or columns is None or rows > _FEW_ROWS:
        return False
    return rows * columns * problem.element_bytes <= machine.l2_bytes // 2


def _fits_unpacked(problem: Problem, machine: Machine) -> bool:
    rows, columns, depth = (g.size for g in (problem.rows, problem.columns, problem.depth))
    if rows is None or columns is None or depth is None:
        return False
    # Each strip of A reads every line of B, and each strip of B reads a strip of A.
    a, b = rows * depth * problem.element_bytes, columns * depth * problem.element_bytes
    return a <= machine.l2_bytes * 2 // 5 and b <= machine.l2_bytes


def _strips_stay_near(problem: Problem, tile: Tile, machine: Machine) -> bool:
    """Return whether the lines of a strip of B, as it lies, are in L1 still when they are read
    again.

    Where few tiles read it, that is not worth a copy. Packed, a strip that is larger comes from L2
    line after line; as it lies its rows are far apart, and may all be in the same sets.
    """
    rows, depth = problem.rows.size or 0, problem.depth.size or 0
    width = tile.columns * problem.element_bytes
    is_small = depth * width < min(machine.l1_bytes, _room(problem, width, machine))
    return is_small or rows < _MANY_TILES * tile.rows


def _room(problem: Problem, width: int, machine: Machine) -> int:
    """Bytes of L1 in which the rows of a strip of B find a place: few where they are far apart.

    Rows apart by a multiple of a way's bytes, or by a large part of that, share their places.
    """
    segments = problem.depth.segments("B")
    stride = segments[-1].stride if segments else None
    if stride is None:
        return machine.l1_bytes
    way = machine.l1_bytes // machine.l1_ways
    apart = math.gcd(stride * problem.element_bytes, way)
    return machine.l1_bytes * min(width, apart) // apart


_MANY_TILES = 8
"""Tiles of rows for which B is worth packing."""


def _depth_block(
    rows: int | None, depth: int | None, size: int, lanes: int, machine: Machine
) -> int:
    """Return the extent of the depth that is packed at once.

    It is large, because C is read and written for each block. A block of A is then still `_ROWS`
    high, and takes half of L2: the panel of B is read from L3, or from memory, once for each such
    block.
    """
    half = machine.l2_bytes // 2
    most = max(half // _ROWS, _LEAST_DEPTH_BYTES)
    if rows and rows * _LEAST_DEPTH_BYTES <= half:
        # All rows in one block: neither operand is packed twice.
        most = min(most, max(half // (rows + _ROWS), _LEAST_DEPTH_BYTES))
    return _even_block(depth, most // size, lanes)


_ROWS = 128
"""The least rows of A that make reading a strip of B from L2 worth while."""

_LEAST_DEPTH_BYTES = 2048
"""The least depth of a block: writing C then costs a tenth."""


def _even_block(size: int | None, most: int, multiple: int) -> int:
    """Return a size of about equal blocks, none larger than `most`."""
    if size is None:
        return most
    count = max(1, -(-size // most))
    return max(multiple, round_up(-(-size // count), multiple))


def _block(size: int | None, most: int, multiple: int) -> int:
    if size is not None and size <= most:
        return max(multiple, round_up(size, multiple))  # no second block for less than a tile
    return max(multiple, most // multiple * multiple)


def _choose_tile(problem: Problem, lanes: int, registers: int, machine: Machine) -> Tile:
    """Return the tile with the least work, that beyond the edges of C included."""
    rows, columns, depth = problem.rows.size, problem.columns.size, problem.words
    strips = _vectors_of_strips(problem, lanes)
    is_ready = strips > 0 and (registers - 2 - strips) // strips >= _LEAST_ROWS

    def most_rows(vectors: int) -> int:
        most = (registers - 2) // vectors - 1
        is_streamed = _is_one(columns, vectors * lanes) and _is_along_depth(problem)
        return min(most, _STREAMS) if is_streamed else most

    def work(tile: Tile) -> float:
        cycles = cycles_of_a_step(tile, machine) / (tile.rows * tile.vectors)
        if depth:
            cycles += _storing(problem, tile) / (tile.rows * tile.vectors * depth)
        if rows:
            cycles += _copying(problem, tile) / rows
        return _padding(rows, tile.rows) * _padding(columns, tile.columns) * cycles

    tiles = (
        Tile(height, vectors, lanes)
        for vectors in ([strips] if is_ready else range(1, 9))
        for height in range(1, most_rows(vectors) + 1)
    )
    return min(tiles, key=work)


_LEAST_ROWS = 4
"""The least rows of tiles for B to be read in the strips in which it lies."""

_STREAMS = 10
"""Rows of A that are read side by side, where they lie: lines of more would evict each other, all
of one set of L1 where the rows are a power of two apart."""


def _is_along_depth(problem: Problem) -> bool:
    """Return whether A is read in place, each row from its first element to its last."""
    return (
        _is_readable_a(problem) and problem.depth.run("A") != 0 and bool(problem.depth.dimensions)
    )


def _storing(problem: Problem, tile: Tile) -> float:
    """Return the cycles of writing a tile of C that no products hide."""
    depth, pieces = problem.words or 1, few(problem.columns.pieces("C", tile.lanes))
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
    """Return the cycles of copying a vector of B; 0 if B is packed another way."""
    if _packing_of_b(problem, tile.lanes) != "rows":
        return 0.0
    run, pieces = problem.columns.run("B"), problem.columns.pieces("B", tile.lanes)
    if pieces == 1:
        return 1.0
    is_cut_evenly = run and max(run, tile.columns) % min(run, tile.columns) == 0
    if is_cut_evenly:
        return 1.0 if run and run % tile.columns == 0 else 1.5
    return 2.0 * pieces


_WINDOW = 512
"""The most instructions that a core has in flight."""


def _padding(size: int | None, tile: int) -> float:
    """Return the factor by which the edges enlarge the work."""
    size = size or 64 * tile
    return -(-size // tile) * tile / size


def _packing_of_a(problem: Problem, tile: Tile) -> Packing:
    if few(problem.depth.pieces("A", tile.lanes * problem.word)) and problem.depth.dimensions:
        return "rows"
    if problem.dot is not None or "A" in problem.computed:
        is_even = len(problem.rows.segments("A")) == 1 and problem.rows.run("A") != 0
        return "columns" if is_even else "scalar"
    if problem.rows.dimensions and few(pieces_of_rows(problem, tile, min(tile.rows, tile.lanes))):
        return "columns"
    return "scalar"


def _packing_of_b(problem: Problem, lanes: int) -> Packing:
    if problem.columns.dimensions and few(problem.columns.pieces("B", lanes)):
        return "rows"
    if problem.depth.dimensions and few(problem.depth.pieces("B", lanes * problem.word)):
        return "transpose"
    return "scalar"


def _is_one(size: int | None, tile: int) -> bool:
    """Return whether a tile has all of a group."""
    return size is not None and size <= tile


def _is_readable_a(problem: Problem) -> bool:
    """Return whether the micro-kernel may read A in place, at offsets that are cheap to compute."""
    if problem.dot is not None or "A" in problem.computed:
        return False
    return all(len(group.segments("A")) <= 1 for group in (problem.rows, problem.depth))


def _is_readable_b(problem: Problem, lanes: int) -> bool:
    """Return whether the micro-kernel may read B in place, in whole vectors."""
    if problem.dot is not None or "B" in problem.computed:
        return False
    is_in_vectors = problem.columns.pieces("B", lanes) == 1 and bool(problem.columns.dimensions)
    return is_in_vectors and len(problem.depth.segments("B")) <= 1


def _vectors_of_strips(problem: Problem, lanes: int) -> int:
    """Return the width, in vectors, of the strips in which B lies as packing would put it.

    The columns of a strip are contiguous, step after step of the depth. The width is 0 where B does
    not lie in such strips.
    """
    depth, width = problem.depth.segments("B"), problem.columns.run("B")
    if not width or width % lanes or len(depth) != 1 or depth[0].stride != width:
        return 0
    is_free = _is_readable_b(problem, lanes) and "B" not in problem.converted
    return width // lanes if is_free else 0
