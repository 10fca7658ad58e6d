"""Packing for dot products: strips of A and B in words, each of neighbours along the depth.

    A, by rows       [strip][row of the tile][word]
    A, otherwise     [strip][word][row of the tile]
    B                [strip][word][column of the tile]

A word that reaches beyond the depth is filled up with zeros. After a strip of B come what its
columns add to every sum, and after one of A what its rows add, where they add anything: see
`_zero_points`. Nothing outside an operand is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from linalg_ext.transforms.codegen.base.dot_products import Dot
from linalg_ext.transforms.codegen.base.flat_memory import Memory, Piece, Strided
from linalg_ext.transforms.codegen.base.problem import Group
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._zero_points import Corrections
from .contraction_plan import Plan
from .packing import divides, store_square, within


def pack_words_of_b(
    corrections: Corrections, w: Writer, plan: Plan, b: Strided, packed: Memory, first: Index,
    depth: Index, extent: Index, strips: Index, columns: Index, whole_depth: Index,
) -> None:  # fmt: skip
    """Pack strips of B.

    Args:
        corrections: what its columns add, and the instruction.
        w: where the code is written.
        plan: how.
        b: the operand, its elements those of the instruction.
        packed: where the strips go.
        first: the first column.
        depth: the first word of the block along the depth.
        extent: how many words deep the block is.
        strips: how many strips.
        columns: the columns of the whole operand.
        whole_depth: the depth of the whole operand, in elements.
    """
    tile, dot = plan.tile, corrections.dot
    words = _Words(w, dot, b, plan.problem.columns, plan.problem.depth, whole_depth, flips=False)
    with w.loop(0, strips) as strip:
        column = w.add(first, w.mul(strip, tile.columns))
        target = w.mul(strip, plan.strip_b)
        if plan.pack_b == "rows":
            words.across(packed, column, columns, tile.vectors, target, tile.columns, depth, extent)
        elif plan.pack_b == "transpose":
            with w.loop(0, tile.columns, tile.lanes) as at:
                lines = [
                    b.offset(
                        plan.problem.columns,
                        within(w, w.add(column, at, lane), columns, tile.columns),
                    )
                    for lane in range(tile.lanes)
                ]

                def store(k: Index, square: Sequence[str], at: Index = at) -> None:
                    store_square(w, plan, packed, square, target, k, at)

                words.along(lines, depth, extent, store)
        else:
            words.one_by_one(packed, column, columns, tile.columns, target, depth, extent)
        corrections.of_columns(packed, target, extent)


def pack_words_of_a(
    corrections: Corrections, w: Writer, plan: Plan, a: Strided, packed: Memory, first: Index,
    depth: Index, extent: Index, strips: Index, rows: Index, whole_depth: Index,
) -> None:  # fmt: skip
    """Pack strips of A; the arguments are as those of `pack_words_of_b`, with rows for columns."""
    tile, dot = plan.tile, corrections.dot
    words = _Words(w, dot, a, plan.problem.rows, plan.problem.depth, whole_depth, flips=True)
    with w.loop(0, strips) as strip:
        row = w.add(first, w.mul(strip, tile.rows))
        target = w.mul(strip, plan.strip_a)
        if plan.pack_a == "rows":
            with w.loop(0, tile.rows) as at:
                line = a.offset(plan.problem.rows, within(w, w.add(row, at), rows, tile.rows))
                start = w.add(target, w.mul(at, plan.stride_a))

                def store(k: Index, vectors: Sequence[str], start: Index = start) -> None:
                    packed.store_vector(vectors[0], w.add(start, k))

                words.along([line], depth, extent, store)
        elif plan.pack_a == "columns":
            count = -(-tile.rows // tile.lanes)
            # Lanes beyond the tile are overwritten by the next round.
            words.across(packed, row, rows, count, target, tile.rows, depth, extent)
        else:
            words.one_by_one(packed, row, rows, tile.rows, target, depth, extent)
        corrections.of_rows(packed, target, extent, depth)


class _Words:
    """Writes how the words of one operand are read, and where they go."""

    def __init__(
        self, w: Writer, dot: Dot, operand: Strided, lines: Group, depth: Group,
        whole_depth: Index, *, flips: bool,
    ) -> None:  # fmt: skip
        """
        Args:
            w: where the code is written.
            dot: the instruction.
            operand: what is read.
            lines: its rows, or its columns.
            depth: the depth.
            whole_depth: how deep it is, in elements.
            flips: whether it is the operand that the instruction wants shifted.
        """
        self._w = w
        self._dot = dot
        self._operand = operand
        self._lines = lines
        self._depth = depth
        self._whole = whole_depth
        self._flips = flips and dot.shift != 0

    def along(
        self, lines: Sequence[Index], depth: Index, extent: Index,
        store: Callable[[Index, Sequence[str]], None],
    ) -> None:  # fmt: skip
        """Vectors of words along the depth, one for each line, whose offsets are given."""
        w, dot = self._w, self._dot
        elements = dot.lanes * dot.count
        wide = self._operand.with_lanes(elements)
        count = self._depth.pieces(wide.operand, elements)

        def step(k: Index, limit: Index | None) -> None:
            at = w.mul(w.add(depth, k), dot.count)
            pieces = wide.pieces(self._depth, at, count, limit)
            loaded = [wide.load_pieces(pieces, line) for line in lines]
            words = [
                w.op(f"vector.bitcast {each} : {wide.memory.vector} to {dot.words}")
                for each in loaded
            ]
            store(k, [self._flipped(word) for word in words])

        if divides(elements, self._whole):
            with w.loop(0, extent, dot.lanes) as k:
                step(k, None)
            return
        # Masks cost much on machines that have none for narrow elements: at the end alone.
        left = w.sub(self._whole, w.mul(depth, dot.count))
        whole = w.mul(w.div(w.min(w.mul(extent, dot.count), left), elements), dot.lanes)
        with w.loop(0, whole, dot.lanes) as k:
            step(k, None)
        with w.loop(whole, extent, dot.lanes) as k:
            step(k, self._whole)

    def across(
        self, packed: Memory, first: Index, size: Index, vectors: int, target: Index, row: int,
        depth: Index, extent: Index,
    ) -> None:  # fmt: skip
        """Vectors of words of neighbouring lines.

        Args:
            packed: where they go.
            first: the first line.
            size: how many lines there are.
            vectors: how many vectors.
            target: where the strip begins.
            row: the words from one step of the depth to the next.
            depth: the first word.
            extent: how many words.
        """
        w, dot, operand = self._w, self._dot, self._operand
        count = self._lines.pieces(operand.operand, dot.lanes)

        def write(limit: Index | None) -> None:
            pieces = [
                operand.pieces(self._lines, w.add(first, number * dot.lanes), count, limit)
                for number in range(vectors)
            ]
            with self._steps(depth, extent) as (k, is_there):
                start = w.add(target, w.mul(k, row))
                offsets = self._offsets(w.add(depth, k))
                for number, each in enumerate(pieces):
                    parts = [
                        self._masked(each, offset, there)
                        for offset, there in zip(offsets, is_there, strict=True)
                    ]
                    packed.store_vector(
                        self._flipped(self._joined(parts, packed.vector, operand.memory.vector)),
                        w.add(start, number * dot.lanes),
                    )

        if divides(vectors * dot.lanes, size):
            write(None)
            return
        with w.when(w.compare("sle", w.add(first, vectors * dot.lanes), size)):
            write(None)
        with w.otherwise():
            write(size)

    def one_by_one(
        self, packed: Memory, first: Index, size: Index, lines: int, target: Index, depth: Index,
        extent: Index,
    ) -> None:  # fmt: skip
        """Words of elements that do not lie side by side."""
        w, dot, operand = self._w, self._dot, self._operand
        memory = operand.memory
        with w.loop(0, lines) as at:
            line = within(w, w.add(first, at), size, lines)
            start = w.add(operand.base, operand.offset(self._lines, line))
            with w.loop(0, extent) as k:
                parts = []
                for number in range(dot.count):
                    index = w.add(w.mul(w.add(depth, k), dot.count), number)
                    inside = index if divides(dot.count, self._whole) else w.min(
                        index, w.sub(self._whole, 1)
                    )  # fmt: skip
                    part = memory.load(w.add(start, operand.offset(self._depth, inside)))
                    if inside != index:
                        is_there = w.compare("slt", index, self._whole)
                        zero = w.constant(_zero(memory.element), memory.element)
                        part = w.op(f"arith.select {is_there}, {part}, {zero} : {memory.element}")
                    parts.append(part)
                word = self._joined(parts, "i32", memory.element)
                packed.store(
                    self._flipped(word, "i32"), w.add(target, w.mul(k, lines), at)
                )  # fmt: skip

    @contextmanager
    def _steps(self, depth: Index, extent: Index) -> Iterator[tuple[Index, list[str | None]]]:
        """A loop over words, and for each of a word's elements the mask of whether it is there."""
        w, dot = self._w, self._dot
        masks: list[str | None] = [None] * dot.count
        with w.loop(0, extent) as k:
            if not divides(dot.count, self._whole):
                at = w.mul(w.add(depth, k), dot.count)
                left = w.mul(w.sub(self._whole, at), dot.lanes)
                for number in range(1, dot.count):
                    is_there = w.max(w.sub(left, number * dot.lanes), 0)
                    masks[number] = self._operand.memory.below(is_there)
            yield k, masks

    def _offsets(self, word: Index) -> list[Index]:
        w, dot = self._w, self._dot
        first = w.mul(word, dot.count)
        return [
            self._operand.offset(self._depth, w.add(first, number)) for number in range(dot.count)
        ]

    def _masked(self, pieces: Sequence[Piece], offset: Index, mask: str | None) -> str:
        operand = self._operand
        if mask is not None:
            pieces = operand.pieces_if(mask, pieces)
        return operand.load_pieces(pieces, offset)

    def _joined(self, parts: Sequence[str], words: str, elements: str) -> str:
        """Words of the elements that they hold, the first in the lowest bits."""
        w, dot = self._w, self._dot
        total = ""
        for number, part in enumerate(parts):
            bits = elements.replace("bf16", "i16")
            if bits != elements:
                op = "vector.bitcast" if bits.startswith("vector") else "arith.bitcast"
                part = w.op(f"{op} {part} : {elements} to {bits}")
            part = w.op(f"arith.extui {part} : {bits} to {words}")
            if not number:
                total = part
                continue
            shift = _splat(w, number * dot.bits, words)
            part = w.op(f"arith.shli {part}, {shift} : {words}")
            total = w.op(f"arith.ori {total}, {part} : {words}")
        return total

    def _flipped(self, words: str, type_: str | None = None) -> str:
        if not self._flips:
            return words
        type_ = type_ or self._dot.words
        signs = _splat(self._w, -0x7F7F7F80, type_)
        return self._w.op(f"arith.xori {words}, {signs} : {type_}")


def _splat(w: Writer, number: int, type_: str) -> str:
    return w.constant(f"dense<{number}>" if type_.startswith("vector") else str(number), type_)


def _zero(element: str) -> str:
    return "0.0" if element == "bf16" else "0"
