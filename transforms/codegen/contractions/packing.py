"""Packing: strips of A and B laid out in the order in which the micro-kernel reads them.

    A, by rows       [strip][row of the tile][depth]
    A, otherwise     [strip][depth][row of the tile]
    B                [strip][depth][column of the tile]

Rows and columns beyond the edge of an operand are packed as repetitions of the last one, or as
zeros: their results are never stored. Nothing outside an operand is read. A prologue is
element-wise work on an operand while it is packed, such as a dequantization.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeAlias

from linalg_ext.transforms.codegen.base.epilogue import ElementwiseEmitter, reads_in_vectors
from linalg_ext.transforms.codegen.base.flat_memory import Memory, Piece, Strided
from linalg_ext.transforms.codegen.base.payload import Elementwise
from linalg_ext.transforms.codegen.base.problem import Group, Operand
from linalg_ext.transforms.codegen.base.transposition import transpose
from linalg_ext.transforms.codegen.base.writer import Index, Writer, divides, edge

from .contraction_plan import Packing, Plan, pieces_of_rows


@dataclass(frozen=True)
class Strips:
    """Strips of one operand, to be packed from a block of the depth.

    Attributes:
        writer: the writer of the code.
        plan: the plan.
        source: the operand, A or B.
        packed: the memory of the strips.
        first: the first row or column.
        count: how many strips.
        size: the end of the valid rows or columns: of the operand, or of a panel.
        depth: the first step of the depth in the block.
        extent: the steps of the depth in the block.
        whole_depth: the depth of the whole operand, in elements.
        on_tiles: whether strips begin at multiples of their height.
    """

    writer: Writer
    plan: Plan
    source: Strided
    packed: Memory
    first: Index
    count: Index
    size: Index
    depth: Index
    extent: Index
    whole_depth: Index
    on_tiles: bool = True

    @property
    def is_a(self) -> bool:
        """True for strips of A."""
        return self.source.operand == "A"

    @property
    def kind(self) -> Packing:
        """The way in which the operand is packed."""
        return self.plan.pack_a if self.is_a else self.plan.pack_b

    @property
    def lines(self) -> Group:
        """The rows, or the columns."""
        problem = self.plan.problem
        return problem.rows if self.is_a else problem.columns

    @property
    def height(self) -> int:
        """The rows or columns of a strip."""
        return self.plan.tile.rows if self.is_a else self.plan.tile.columns

    def line(self, *terms: Index) -> Index:
        """Return a row or column, or the last one if that is beyond the edge."""
        return self.writer.within(self.writer.add(*terms), self.size, self.height)

    def lines_of_square(self, first: Index, at: Index) -> Iterator[Index]:
        """Yield the columns of a square of vectors that is transposed."""
        return (self.line(first, at, lane) for lane in range(self.plan.tile.lanes))

    def store_square(self, square: Sequence[str], target: Index, k: Index, at: Index) -> None:
        """Write vectors along the depth to a strip of B, whose vectors run across it.

        Args:
            square: the vectors, one for each column, as many as each has lanes.
            target: where the strip begins.
            k: the first step of the depth.
            at: the first of the columns, within the tile.
        """
        w, packed, width = self.writer, self.packed, self.plan.tile.columns
        for lane, vector in enumerate(transpose(w, square, packed.vector)):
            packed.store_vector(vector, w.add(target, w.mul(w.add(k, lane), width), at))


class Packer:
    """The packer of strips of an operand; the base class of packers that compute, too."""

    def pack(self, s: Strips) -> None:
        """Write the loop over strips."""
        w, length = s.writer, s.plan.strip_a if s.is_a else s.plan.strip_b
        with w.loop(0, s.count) as strip:
            line = w.add(s.first, w.mul(strip, s.height))
            target = w.mul(strip, length)
            if s.kind == "scalar":
                self._one_by_one(s, line, target)
            elif s.kind == "transpose":
                self._transposed(s, line, target)
            elif s.is_a and s.kind == "rows":
                self._along(s, line, target)
            else:
                self._across(s, line, target)
            self._correct(s, target)

    def moved(self, dimension: str, index: Index) -> Packer:
        """The same at an index of a batch dimension."""
        del dimension, index
        return self

    def _along(self, s: Strips, first: Index, target: Index) -> None:
        """Pack rows of A in vectors along the depth."""
        w, a, lanes = s.writer, s.source, s.plan.tile.lanes
        with w.loop(0, s.height) as at:
            base = w.add(a.base, a.offset(s.lines, s.line(first, at)))
            begin = w.add(target, w.mul(at, s.plan.stride_a))
            with _runs(s) as (before, offset, length):
                source, start = w.add(base, offset), w.add(begin, before)
                whole = w.mul(w.div(length, lanes), lanes)
                with w.loop(0, whole, lanes) as k:
                    vector = a.memory.load_vector(w.add(source, k))
                    s.packed.store_vector(vector, w.add(start, k))
                if not divides(lanes, length):
                    # Lanes beyond the run are overwritten by the next run, or the next row.
                    mask = a.memory.below(w.sub(length, whole))
                    last = a.memory.load_vector(w.add(source, whole), mask)
                    s.packed.store_vector(last, w.add(start, whole))

    def _across(self, s: Strips, first: Index, target: Index) -> None:
        """Pack rows or columns side by side, step by step of the depth."""
        w = s.writer
        vectors = self._pieces_across(s, first)
        with w.loop(0, s.extent) as k:
            depth = w.add(s.depth, k)
            offset = s.source.offset(s.plan.problem.depth, depth)
            row = w.add(target, w.mul(k, s.height))
            for number, pieces in enumerate(vectors):
                vector = s.source.load_pieces(pieces, offset)
                at = number * s.plan.tile.lanes
                # Lanes beyond the tile are overwritten by the next round.
                s.packed.store_vector(self._computed(s, vector, depth, first, at), w.add(row, at))

    def _pieces_across(self, s: Strips, first: Index) -> list[list[Piece]]:
        w, tile, lines = s.writer, s.plan.tile, s.lines
        if not s.is_a:
            limit = edge(tile.columns, s.size)
            count = lines.pieces("B", tile.lanes)
            if not s.on_tiles:
                starts = (w.add(first, at) for at in range(0, tile.columns, tile.lanes))
                return [s.source.pieces(lines, start, count, limit) for start in starts]
            return s.source.tile_pieces(lines, first, tile.columns, count, limit)
        vectors = []
        # The rows of the next tile may be far away if rows are not evenly spaced.
        is_even = len(lines.segments("A")) <= 1
        for at in range(0, tile.rows, tile.lanes):
            width = min(tile.lanes, tile.rows - at)
            count = pieces_of_rows(s.plan.problem, tile, width)
            limit = s.size if is_even else w.min(s.size, w.add(first, at + width))
            vectors.append(s.source.pieces(lines, w.add(first, at), count, limit))
        return vectors

    def _computed(self, s: Strips, vector: str, depth: Index, first: Index, at: int) -> str:
        """Return the result for a vector across the depth, `at` lines behind that of a strip."""
        del s, depth, first, at
        return vector

    def _transposed(self, s: Strips, first: Index, target: Index) -> None:
        w, b, lanes = s.writer, s.source, s.plan.tile.lanes
        with w.loop(0, s.height, lanes) as at:
            offsets = [b.offset(s.lines, line) for line in s.lines_of_square(first, at)]
            with w.loop(0, s.extent, lanes) as k:
                pieces, _ = _pieces_along(s, w.add(s.depth, k))
                square = [b.load_pieces(pieces, offset) for offset in offsets]
                s.store_square(square, target, k, at)

    def _one_by_one(self, s: Strips, first: Index, target: Index) -> None:
        w, source = s.writer, s.source
        segments = s.plan.problem.depth.segments(source.operand)
        step = source.stride(segments[-1]) if segments else 0
        with w.loop(0, s.height) as at:
            start = w.add(source.base, source.offset(s.lines, s.line(first, at)))
            with _runs(s) as (before, offset, length), w.loop(0, length) as number:
                k, place = w.add(before, number), w.add(offset, w.mul(number, step))
                element = source.memory.load(w.add(start, place))
                s.packed.store(element, w.add(target, w.mul(k, s.height), at))

    def _correct(self, s: Strips, target: Index) -> None:
        """Write the corrections that follow the elements of a strip."""


@contextmanager
def _runs(s: Strips) -> Iterator[tuple[Index, Index, Index]]:
    """A loop over evenly spaced stretches of the depth: divisions are done once for each.

    Yields:
        The number of the first step of it, its offset, and how many there are.
    """
    w, source, group = s.writer, s.source, s.plan.problem.depth
    segments = group.segments(source.operand)
    if len(segments) <= 1:
        yield 0, source.offset(group, s.depth), s.extent
        return
    size, end = source.size(segments[-1]), w.add(s.depth, s.extent)
    with w.loop(w.div(s.depth, size), w.div(w.sub(w.add(end, size), 1), size)) as run:
        start = w.max(s.depth, w.mul(run, size))
        length = w.sub(w.min(end, w.add(w.mul(run, size), size)), start)
        yield w.sub(start, s.depth), source.offset(group, start), length


def _pieces_along(s: Strips, depth: Index) -> tuple[list[Piece], Index | None]:
    """Return the pieces of a vector along the depth, and the end of its valid elements."""
    group, lanes = s.plan.problem.depth, s.plan.tile.lanes
    limit = edge(lanes, s.whole_depth)
    count = group.pieces(s.source.operand, lanes)
    return s.source.pieces(group, depth, count, limit), limit


def with_readable_prologues(plan: Plan, prologues: dict[Operand, Elementwise]) -> Plan:
    """Return the plan with operands packed one by one if vectors of their scales cannot be read."""
    problem, lanes = plan.problem, plan.tile.lanes
    for operand, prologue in prologues.items():
        lines = problem.rows if operand == "A" else problem.columns
        kind = plan.pack_a if operand == "A" else plan.pack_b
        runs_along_depth = (operand, kind) in (("A", "rows"), ("B", "transpose"))
        if reads_in_vectors(problem.depth if runs_along_depth else lines, prologue, lanes):
            continue
        plan = replace(plan, pack_a="scalar") if operand == "A" else replace(plan, pack_b="scalar")
    return plan


class Prologue(Packer):
    """The packer of an operand after a prologue.

    The operand is read where it lies, in its own type; scales and zero points are read at the place
    of its line, its depth or its batch.
    """

    def __init__(
        self,
        w: Writer,
        plan: Plan,
        operand: Operand,
        body: Elementwise,
        operands: Sequence[Strided],
    ) -> None:
        problem, lanes, name = plan.problem, plan.tile.lanes, f"{operand}S"
        scalar_operands = [other.with_lanes(1) for other in operands]
        lines, depth = problem.rows if operand == "A" else problem.columns, problem.depth
        self._along_depth = ElementwiseEmitter(w, (lines, depth), body, operands, lanes, name)
        self._across_depth = ElementwiseEmitter(w, (depth, lines), body, operands, lanes, name)
        self._alone = ElementwiseEmitter(w, (lines, depth), body, scalar_operands, 1, name)

    def moved(self, dimension: str, index: Index) -> Prologue:
        """The same at an index of a batch dimension."""
        moved = copy(self)
        moved._along_depth = self._along_depth.moved(dimension, index)
        moved._across_depth = self._across_depth.moved(dimension, index)
        moved._alone = self._alone.moved(dimension, index)
        return moved

    def _along(self, s: Strips, first: Index, target: Index) -> None:
        w = s.writer
        with w.loop(0, s.height) as at:
            line = s.line(first, at)
            start = w.add(target, w.mul(at, s.plan.stride_a))
            with w.loop(0, s.extent, s.plan.tile.lanes) as k:
                (vector,) = self._read_along(s, [line], w.add(s.depth, k))
                s.packed.store_vector(vector, w.add(start, k))

    def _transposed(self, s: Strips, first: Index, target: Index) -> None:
        w, lanes = s.writer, s.plan.tile.lanes
        with w.loop(0, s.height, lanes) as at:
            lines = list(s.lines_of_square(first, at))
            with w.loop(0, s.extent, lanes) as k:
                square = self._read_along(s, lines, w.add(s.depth, k))
                s.store_square(square, target, k, at)

    def _read_along(self, s: Strips, lines: Sequence[Index], depth: Index) -> list[str]:
        pieces, limit = _pieces_along(s, depth)
        return [
            self._along_depth(
                s.source.load_pieces(pieces, s.source.offset(s.lines, line)), line, depth, limit
            )
            for line in lines
        ]

    def _pieces_across(self, s: Strips, first: Index) -> list[list[Piece]]:
        lanes, limit = s.plan.tile.lanes, _limit_across(s)
        count = s.lines.pieces(s.source.operand, lanes)
        return [
            s.source.pieces(s.lines, s.writer.add(first, at), count, limit)
            for at in range(0, s.height, lanes)
        ]

    def _computed(self, s: Strips, vector: str, depth: Index, first: Index, at: int) -> str:
        return self._across_depth(vector, depth, s.writer.add(first, at), _limit_across(s))

    def _one_by_one(self, s: Strips, first: Index, target: Index) -> None:
        w, source, packed = s.writer, s.source, s.packed
        element_memory = source.with_lanes(1).memory
        with w.loop(0, s.height) as at:
            line = s.line(first, at)
            start = w.add(source.base, source.offset(s.lines, line))
            with w.loop(0, s.extent) as k:
                depth = w.add(s.depth, k)
                index = w.add(start, source.offset(s.plan.problem.depth, depth))
                value = self._alone(element_memory.load_vector(index), line, depth, None)
                number = w.op(f"vector.extract {value}[0] : {packed.element} from "
                              f"vector<1x{packed.element}>")  # fmt: skip
                packed.store(number, w.add(target, w.mul(k, s.height), at))


def _limit_across(s: Strips) -> Index | None:
    """Return the end of the valid lines; None where a strip of whole vectors is within them."""
    lanes = s.plan.tile.lanes
    return edge(-(-s.height // lanes) * lanes, s.size)


Reader: TypeAlias = "Callable[[str], list[str]]"
"""A function that loads the operands of the micro-kernel at a step of the depth."""


def rows_of(
    w: Writer, plan: Plan, a: Strided, packed: Memory | None, start: Index, row: Index,
    rows: Index, depth: Index,
) -> Reader:  # fmt: skip
    """Load an element of A for each row of a tile, from a strip or in place.

    Args:
        packed: the memory of its strips; None if it is read in place.
        start: the first index of the tile's strip there.
        row: the tile's first row.
        rows: how many rows the operand has.
        depth: where the block begins along the depth.
    """
    tile = plan.tile
    numbers = range(tile.rows)
    if packed is not None:
        if plan.pack_a == "rows":
            starts = [w.add(start, number * plan.stride_a) for number in numbers]
            return lambda k: [packed.load(w.add(at, k)) for at in starts]
        return lambda k: [
            packed.load(w.add(start, w.mul(k, tile.rows), number)) for number in numbers
        ]
    lines = [
        w.add(a.base, a.offset(plan.problem.rows, w.within(w.add(row, number), rows, tile.rows)))
        for number in numbers
    ]

    def read(k: str) -> list[str]:
        offset = a.offset(plan.problem.depth, w.add(depth, k))
        return [a.memory.load(w.add(line, offset)) for line in lines]

    return read


def vectors_of(
    w: Writer, plan: Plan, b: Strided, packed: Memory | None, start: Index, column: Index,
    limit: Index | None, depth: Index,
) -> Reader:  # fmt: skip
    """Load the vectors of B of a tile; the arguments are as those of `rows_of`.

    `limit` is the number of columns where the tile may reach beyond them, else None.
    """
    tile = plan.tile
    starts = range(0, tile.columns, tile.lanes)
    if packed is not None:
        return lambda k: [
            packed.load_vector(w.add(start, w.mul(k, tile.columns), at)) for at in starts
        ]
    vectors = [b.pieces(plan.problem.columns, w.add(column, at), 1, limit) for at in starts]

    def read(k: str) -> list[str]:
        offset = b.offset(plan.problem.depth, w.add(depth, k))
        return [b.load_pieces(pieces, offset) for pieces in vectors]

    return read
