"""Prologues: element-wise work on an operand, a dequantization say, done while it is packed.

    A, by rows       [strip][row of the tile][depth]
    A, otherwise     [strip][depth][row of the tile]
    B                [strip][depth][column of the tile]

The operand is read where it lies, in its own type; scales and zero points are read at the place of
its line, its depth or its batch. Nothing outside an operand is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from linalg_ext.transforms.codegen.base.epilogue import Finisher, seen_in_vectors
from linalg_ext.transforms.codegen.base.flat_memory import Memory, Strided
from linalg_ext.transforms.codegen.base.payload import Elementwise
from linalg_ext.transforms.codegen.base.problem import Operand
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from .contraction_plan import Plan
from .packing import divides, store_square, within


def with_readable_prologues(plan: Plan, prologues: dict[Operand, Elementwise]) -> Plan:
    """The plan, its operands packed one by one where what they are scaled by is not in vectors."""
    problem, lanes = plan.problem, plan.tile.lanes
    for operand, prologue in prologues.items():
        lines = problem.rows if operand == "A" else problem.columns
        kind = plan.pack_a if operand == "A" else plan.pack_b
        group = problem.depth if _runs_along_depth(operand, kind) else lines
        if all(seen_in_vectors(group, each, lanes) for each in prologue.arguments):
            continue
        plan = replace(plan, pack_a="scalar") if operand == "A" else replace(plan, pack_b="scalar")
    return plan


def _runs_along_depth(operand: Operand, kind: str) -> bool:
    return (operand, kind) in (("A", "rows"), ("B", "transpose"))


class Prologue:
    """Packs strips of one operand; called as `pack_a` and `pack_b` are."""

    def __init__(
        self, w: Writer, plan: Plan, operand: Operand, body: Elementwise, others: Sequence[Strided]
    ) -> None:
        """
        Args:
            w: where the code is written.
            plan: how.
            operand: A or B.
            body: what is computed of its elements.
            others: the other operands of that, in the place of C.
        """
        self._w = w
        self._plan = plan
        self._is_a = operand == "A"
        problem = plan.problem
        self._lines = problem.rows if self._is_a else problem.columns
        self._kind = plan.pack_a if self._is_a else plan.pack_b
        lanes, name = plan.tile.lanes, f"{operand}S"
        one = [other.with_lanes(1) for other in others]
        lines, depth = self._lines, problem.depth
        self._along = Finisher(w, (lines, depth), body, others, lanes, name)
        self._across = Finisher(w, (depth, lines), body, others, lanes, name)
        self._alone = Finisher(w, (lines, depth), body, one, 1, name)

    def moved(self, dimension: str, index: Index) -> Prologue:
        """The same at an index of a batch dimension."""
        moved = copy(self)
        moved._along = self._along.moved(dimension, index)
        moved._across = self._across.moved(dimension, index)
        moved._alone = self._alone.moved(dimension, index)
        return moved

    def __call__(
        self, w: Writer, plan: Plan, source: Strided, packed: Memory, first: Index, depth: Index,
        extent: Index, strips: Index, size: Index, whole_depth: Index,
    ) -> None:  # fmt: skip
        """Pack strips; the arguments are as those of `pack_b`."""
        height = plan.tile.rows if self._is_a else plan.tile.columns
        with w.loop(0, strips) as strip:
            line = w.add(first, w.mul(strip, height))
            target = w.mul(strip, plan.strip_a if self._is_a else plan.strip_b)
            block = depth, extent, whole_depth
            if self._kind == "scalar":
                self._pack_alone(source, packed, line, size, target, block)
            elif self._kind == "transpose":
                self._pack_transposed(source, packed, line, size, target, block)
            elif self._is_a and self._kind == "rows":
                self._pack_rows(source, packed, line, size, target, block)
            else:
                self._pack_across(source, packed, line, size, target, block)

    def _pack_rows(
        self, source: Strided, packed: Memory, first: Index, size: Index, target: Index,
        block: tuple[Index, Index, Index],
    ) -> None:  # fmt: skip
        w, plan = self._w, self._plan
        with w.loop(0, plan.tile.rows) as at:
            line = within(w, w.add(first, at), size, plan.tile.rows)
            start = w.add(target, w.mul(at, plan.stride_a))
            with w.loop(0, block[1], plan.tile.lanes) as k:
                (vector,) = self._read_along(source, [line], w.add(block[0], k), block[2])
                packed.store_vector(vector, w.add(start, k))

    def _pack_transposed(
        self, source: Strided, packed: Memory, first: Index, size: Index, target: Index,
        block: tuple[Index, Index, Index],
    ) -> None:  # fmt: skip
        w, tile = self._w, self._plan.tile
        with w.loop(0, tile.columns, tile.lanes) as at:
            lines = [
                within(w, w.add(first, at, lane), size, tile.columns) for lane in range(tile.lanes)
            ]
            with w.loop(0, block[1], tile.lanes) as k:
                square = self._read_along(source, lines, w.add(block[0], k), block[2])
                store_square(w, self._plan, packed, square, target, k, at)

    def _read_along(
        self, source: Strided, lines: Sequence[Index], depth: Index, whole_depth: Index
    ) -> list[str]:
        """Vectors along the depth, one for each line."""
        group, lanes = self._plan.problem.depth, self._plan.tile.lanes
        limit = None if divides(lanes, whole_depth) else whole_depth
        pieces = source.pieces(group, depth, group.pieces(source.operand, lanes), limit)
        return [
            self._along(
                source.load_pieces(pieces, source.offset(self._lines, line)), line, depth, limit
            )
            for line in lines
        ]

    def _pack_across(
        self, source: Strided, packed: Memory, first: Index, size: Index, target: Index,
        block: tuple[Index, Index, Index],
    ) -> None:  # fmt: skip
        w, tile, lines = self._w, self._plan.tile, self._lines
        height = tile.rows if self._is_a else tile.columns
        starts = range(0, height, tile.lanes)
        limit = None if divides(starts[-1] + tile.lanes, size) else size
        count = lines.pieces(source.operand, tile.lanes)
        vectors = [source.pieces(lines, w.add(first, at), count, limit) for at in starts]
        with w.loop(0, block[1]) as k:
            depth = w.add(block[0], k)
            offset = source.offset(self._plan.problem.depth, depth)
            row = w.add(target, w.mul(k, height))
            for at, pieces in zip(starts, vectors, strict=True):
                raw = source.load_pieces(pieces, offset)
                # Lanes beyond the tile are overwritten by the next round.
                vector = self._across(raw, depth, w.add(first, at), limit)
                packed.store_vector(vector, w.add(row, at))

    def _pack_alone(
        self, source: Strided, packed: Memory, first: Index, size: Index, target: Index,
        block: tuple[Index, Index, Index],
    ) -> None:  # fmt: skip
        w, plan = self._w, self._plan
        height = plan.tile.rows if self._is_a else plan.tile.columns
        one = source.with_lanes(1).memory
        with w.loop(0, height) as at:
            line = within(w, w.add(first, at), size, height)
            start = w.add(source.base, source.offset(self._lines, line))
            with w.loop(0, block[1]) as k:
                depth = w.add(block[0], k)
                index = w.add(start, source.offset(plan.problem.depth, depth))
                value = self._alone(one.load_vector(index), line, depth, None)
                number = w.op(f"vector.extract {value}[0] : {packed.element} from "
                              f"vector<1x{packed.element}>")  # fmt: skip
                packed.store(number, w.add(target, w.mul(k, height), at))
