"""The plan of a contraction: what tile, blocks and packing it has. It prints as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from linalg_ext.target.text import table
from linalg_ext.transforms.codegen.base.problem import Problem

Packing = Literal["none", "rows", "columns", "transpose", "scalar"]
"""The ways to pack an operand.

`none` does not pack. `rows` and `columns` pack by vectors: along the depth (`rows` of A), or along
the other dimensions (`columns` of A, `rows` of B). `transpose` transposes in registers. `scalar`
copies one element at a time.
"""


_LINES = 1024
"""A row distance in bytes whose multiples soon meet in one set of L1."""


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
    """The plan of a contraction. Its `repr` is a table.

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
        # Of whole lines one after the other, the machine itself does that better.
        depth = self.problem.words
        return self.pieces_c > 0 and (depth is None or depth > self.depth_block)

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

    def _by_strips_said(self) -> str:
        is_packed = self.pack_b != "none" and (self.by_strips or self.panel is not None)
        return " strip by strip" if is_packed else ""

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
                        f"{self._by_strips_said()}, "
                        f"{scratch:.0f} KiB"),
            ("result", ("overwritten" if problem.overwrites else "added to") + self._collected()),
        ]  # fmt: skip
        return table(rows)
