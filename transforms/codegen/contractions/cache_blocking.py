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

import functools
import math
from collections.abc import Callable

from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.base.problem import Group, Operand, Problem

from ._operand_access import (
    few,
    is_one,
    is_readable_a,
    is_readable_b,
    packing_of_a,
    packing_of_b,
    vectors_of_strips,
)
from ._register_tile import choose_tile
from .contraction_plan import Panel, Plan, SumsTile, Tile


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
    tile = choose_tile(problem, lanes, registers, machine)
    in_strips = vectors_of_strips(problem, lanes) == tile.vectors
    depth_block = _depth_block(rows, depth, size, lanes, machine)
    if problem.is_undivided:
        depth_block = _up(max(depth or 0, 1), lanes)
    fits = _fits_unpacked(problem, machine)
    streams = (
        not problem.is_undivided
        and not fits
        and _is_streamed(problem, machine)
        and is_readable_b(problem, lanes)
        and not in_strips
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
    pack_a, pack_b = packing_of_a(problem, tile), packing_of_b(problem, lanes)
    # Packing pays by being read again and again.
    is_read_once = streams or is_one(rows, tile.rows)
    is_near = fits and _strips_stay_near(problem, tile, machine)
    if in_strips:
        pack_b = "none"
    elif (is_near or is_read_once) and is_readable_b(problem, lanes):
        # Converting pays by being done once, too.
        pack_b = pack_b if "B" in problem.converted and not is_read_once else "none"
    if (is_near or is_one(columns, tile.columns)) and is_readable_a(problem):
        pack_a = pack_a if "A" in problem.converted else "none"
    whole = rows is not None and rows <= row_block
    panel = _panel(problem, tile, machine) if whole else None
    if panel is not None:
        column_block = _up(panel.runs * panel.length, tile.columns)
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


def _panel(problem: Problem, tile: Tile, machine: Machine) -> Panel | None:
    """Return the panel that collects C, if C is contiguous along the last column but one."""
    columns, rows, lanes = problem.columns.dimensions, problem.rows.size, tile.lanes
    if few(problem.columns.pieces("C", lanes)) or len(columns) < 2 or rows is None:
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
    """Return whether no cache holds the operands, and all lines of C are whole vectors' alone."""
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
    """Return whether both operands stay in L2 while the tiles walk over them."""
    rows, columns, depth = (g.size for g in (problem.rows, problem.columns, problem.depth))
    if rows is None or columns is None or depth is None:
        return False
    # What is read is every line of B for each strip of A, and a strip of A for each of B.
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
    """Blocks of about the same size, none larger than `most`."""
    if size is None:
        return most
    count = max(1, -(-size // most))
    return max(multiple, _up(-(-size // count), multiple))


def _block(size: int | None, most: int, multiple: int) -> int:
    if size is not None and size <= most:
        return max(multiple, _up(size, multiple))  # no second block for less than a tile
    return max(multiple, most // multiple * multiple)


_up: Callable[[int, int], int] = lambda size, multiple: -(-size // multiple) * multiple  # noqa: E731
