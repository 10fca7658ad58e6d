"""Packing for dot products: strips of A and B in words, each of neighbours along the depth.

    A, by rows       [strip][row of the tile][word]
    A, otherwise     [strip][word][row of the tile]
    B                [strip][word][column of the tile]

A word that reaches beyond the depth is filled up with zeros. Nothing outside an operand is read.

Shifted elements and zero points are corrected in the sums. With a' = a + shift the packed elements
of A, and p, q the zero points,

    sum((a - p) * (b - q)) = sum(a' * b) - (p + shift) * sum(b) - q * (sum(a) - depth * p)

The second term is one number for each column, the third one for each row. Both are computed by a
dot product with ones when a strip has been packed, and are stored after it. They are the initial
values of a tile's sums. All arithmetic is modulo 2^32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from linalg_ext.transforms.codegen.base.flat_memory import Memory, zero_vector
from linalg_ext.transforms.codegen.base.machine import Dot
from linalg_ext.transforms.codegen.base.writer import Index, Writer, divides

from .contraction_plan import Plan
from .packing import Packer, Strips


class WordPacker(Packer):
    """Packs words for a dot product, and writes the corrections of its sums."""

    def __init__(self, w: Writer, plan: Plan, dot: Dot) -> None:
        self._w = w
        self._plan = plan
        self._dot = dot
        points = plan.problem.zero_points
        self._p = "%zero_point_A" if "A" in points else None
        self._q = "%zero_point_B" if "B" in points else None

    def _along(self, s: Strips, first: Index, target: Index) -> None:
        w, packed = self._w, s.packed
        with w.loop(0, s.height) as at:
            offset = s.source.offset(s.lines, s.line(first, at))
            start = w.add(target, w.mul(at, s.plan.stride_a))
            self._write_along(
                s, [offset], lambda k, words: packed.store_vector(words[0], w.add(start, k))
            )

    def _transposed(self, s: Strips, first: Index, target: Index) -> None:
        with self._w.loop(0, s.height, s.plan.tile.lanes) as at:
            offsets = [s.source.offset(s.lines, line) for line in s.lines_of_square(first, at)]
            self._write_along(s, offsets, lambda k, square: s.store_square(square, target, k, at))

    def _write_along(
        self, s: Strips, offsets: Sequence[Index], store: Callable[[Index, list[str]], None]
    ) -> None:
        """Write vectors of words along the depth, one for each line at an offset."""
        w, dot, depth = self._w, self._dot, s.plan.problem.depth
        elements = dot.lanes * dot.count
        wide = s.source.with_lanes(elements)
        count = depth.pieces(wide.operand, elements)

        def step(k: Index, limit: Index | None) -> None:
            pieces = wide.pieces(depth, w.mul(w.add(s.depth, k), dot.count), count, limit)
            loaded = [wide.load_pieces(pieces, offset) for offset in offsets]
            cast = f"{wide.memory.vector} to {dot.words}"
            words = [w.op(f"vector.bitcast {vector} : {cast}") for vector in loaded]
            store(k, [self._flipped(s, word) for word in words])

        if divides(elements, s.whole_depth):
            with w.loop(0, s.extent, dot.lanes) as k:
                step(k, None)
            return
        # Masks cost much on machines that have none for narrow elements: at the end alone.
        left = w.sub(s.whole_depth, w.mul(s.depth, dot.count))
        whole = w.mul(w.div(w.min(w.mul(s.extent, dot.count), left), elements), dot.lanes)
        with w.loop(0, whole, dot.lanes) as k:
            step(k, None)
        with w.loop(whole, s.extent, dot.lanes) as k:
            step(k, s.whole_depth)

    def _across(self, s: Strips, first: Index, target: Index) -> None:
        w, dot, operand, packed = self._w, self._dot, s.source, s.packed
        count, vectors = s.lines.pieces(operand.operand, dot.lanes), -(-s.height // dot.lanes)

        def write(limit: Index | None) -> None:
            pieces = [
                operand.pieces(s.lines, w.add(first, number * dot.lanes), count, limit)
                for number in range(vectors)
            ]
            with self._steps(s) as (k, masks):
                start = w.add(target, w.mul(k, s.height))
                depth = w.mul(w.add(s.depth, k), dot.count)
                offsets = [
                    operand.offset(s.plan.problem.depth, w.add(depth, number))
                    for number in range(dot.count)
                ]
                for number, vector_pieces in enumerate(pieces):
                    parts = [
                        operand.load_pieces(
                            vector_pieces
                            if mask is None
                            else operand.pieces_if(mask, vector_pieces),
                            offset,
                        )
                        for offset, mask in zip(offsets, masks, strict=True)
                    ]
                    words = self._joined(parts, packed.vector, operand.memory.vector)
                    # Lanes beyond the tile are overwritten by the next round.
                    packed.store_vector(self._flipped(s, words), w.add(start, number * dot.lanes))

        if divides(vectors * dot.lanes, s.size):
            write(None)
            return
        with w.when(w.compare("sle", w.add(first, vectors * dot.lanes), s.size)):
            write(None)
        with w.otherwise():
            write(s.size)

    def _one_by_one(self, s: Strips, first: Index, target: Index) -> None:
        w, dot, operand, memory = self._w, self._dot, s.source, s.source.memory
        with w.loop(0, s.height) as at:
            start = w.add(operand.base, operand.offset(s.lines, s.line(first, at)))
            with w.loop(0, s.extent) as k:
                parts = []
                for number in range(dot.count):
                    index = w.add(w.mul(w.add(s.depth, k), dot.count), number)
                    inside = w.within(index, s.whole_depth, dot.count)
                    part = memory.load(w.add(start, operand.offset(s.plan.problem.depth, inside)))
                    if inside != index:
                        is_inside = w.compare("slt", index, s.whole_depth)
                        zero = "0.0" if memory.element == "bf16" else "0"
                        part = w.op(
                            f"arith.select {is_inside}, {part}, "
                            f"{w.constant(zero, memory.element)} : {memory.element}"
                        )
                    parts.append(part)
                word = self._flipped(s, self._joined(parts, "i32", memory.element), "i32")
                s.packed.store(word, w.add(target, w.mul(k, s.height), at))

    @contextmanager
    def _steps(self, s: Strips) -> Iterator[tuple[Index, list[str | None]]]:
        """Yield a word in a loop over words, and the lanes that have each of its elements."""
        w, dot = self._w, self._dot
        masks: list[str | None] = [None] * dot.count
        with w.loop(0, s.extent) as k:
            if not divides(dot.count, s.whole_depth):
                at = w.mul(w.add(s.depth, k), dot.count)
                left = w.mul(w.sub(s.whole_depth, at), dot.lanes)
                for number in range(1, dot.count):
                    lanes = w.max(w.sub(left, number * dot.lanes), 0)
                    masks[number] = s.source.memory.below(lanes)
            yield k, masks

    def _joined(self, parts: Sequence[str], words: str, elements: str) -> str:
        """Return words of their elements, the first in the lowest bits."""
        w, total = self._w, ""
        for number, part in enumerate(parts):
            bits = elements.replace("bf16", "i16")
            if bits != elements:
                op = "vector.bitcast" if bits.startswith("vector") else "arith.bitcast"
                part = w.op(f"{op} {part} : {elements} to {bits}")
            part = w.op(f"arith.extui {part} : {bits} to {words}")
            if not number:
                total = part
                continue
            shift = w.splat(str(number * self._dot.bits), words)
            part = w.op(f"arith.shli {part}, {shift} : {words}")
            total = w.op(f"arith.ori {total}, {part} : {words}")
        return total

    def _flipped(self, s: Strips, words: str, type_: str | None = None) -> str:
        """Return words with the shift of the instruction."""
        if not s.is_a or not self._dot.shift:
            return words
        type_ = type_ or self._dot.words
        signs = self._w.splat(str(-0x7F7F7F80), type_)
        return self._w.op(f"arith.xori {words}, {signs} : {type_}")

    def _correct(self, s: Strips, target: Index) -> None:
        if s.is_a and self._q is not None:
            self._correct_rows(s, target, self._q)
        elif not s.is_a and s.plan.problem.corrects_columns:
            self._correct_columns(s, target)

    def _correct_columns(self, s: Strips, target: Index) -> None:
        """Write, after a strip of B, the term of each column in every sum."""
        w, tile, dot = self._w, s.plan.tile, self._dot
        zero = zero_vector(w, dot.accumulator, dot.lanes)
        all_ones = dot.all_ones(w)
        with w.carrying_loop(s.extent, 1, [zero] * tile.vectors, dot.sums) as loop:
            k, sums, next_sums, results = loop
            row = w.add(target, w.mul(k, tile.columns))
            for number, old in enumerate(sums):
                words = s.packed.load_vector(w.add(row, number * tile.lanes))
                next_sums.append(dot.multiply_add(w, all_ones, dot.as_elements(w, words), old))
        factor = w.constant(str(-dot.shift), "i32")
        if self._p is not None:
            factor = w.op(f"arith.subi {factor}, {self._p} : i32")
        factors = w.broadcast(factor, "i32", dot.sums)
        end = w.add(target, s.plan.end_b)
        for number, total in enumerate(results):
            product = w.op(f"arith.muli {total}, {factors} : {dot.sums}")
            s.packed.store_vector(product, w.add(end, number * tile.lanes))

    def _correct_rows(self, s: Strips, target: Index, q: str) -> None:
        """Write, after a strip of A, the term of each row in every sum."""
        w, dot = self._w, self._dot
        with w.loop(0, s.height) as row:
            total = self._sum_of_row(s, target, row)
            packed_depth = w.mul(s.extent, dot.count)
            real = w.min(packed_depth, w.sub(s.whole_depth, w.mul(s.depth, dot.count)))
            # The elements that fill up a word were shifted too.
            shifted = self._i32(w.mul(packed_depth, abs(dot.shift)))
            op = "addi" if dot.shift < 0 else "subi"
            total = w.op(f"arith.{op} {total}, {shifted} : i32")
            if self._p is not None:
                points = w.op(f"arith.muli {self._i32(real)}, {self._p} : i32")
                total = w.op(f"arith.subi {total}, {points} : i32")
            product = w.op(f"arith.muli {total}, {q} : i32")
            zero = w.constant("0", "i32")
            negative = w.op(f"arith.subi {zero}, {product} : i32")
            s.packed.store(negative, w.add(target, s.plan.end_a, row))

    def _sum_of_row(self, s: Strips, target: Index, row: Index) -> str:
        w, dot, packed = self._w, self._dot, s.packed
        all_ones = dot.all_ones(w)
        zero = zero_vector(w, dot.accumulator, dot.lanes)
        is_by_rows = s.kind == "rows"
        step = dot.lanes if is_by_rows else 1
        with w.carrying_loop(s.extent, step, [zero], dot.sums) as (k, sums, next_sums, results):
            if is_by_rows:
                at = w.add(target, w.mul(row, s.plan.stride_a), k)
                words = packed.load_vector(at, packed.below(w.sub(s.extent, k)))
            else:
                # One word in the first lane.
                word = packed.load(w.add(target, w.mul(k, s.height), row))
                empty = w.constant("dense<0>", packed.vector)
                words = w.op(f"vector.insert {word}, {empty}[0] : i32 into {packed.vector}")
            next_sums.append(dot.multiply_add(w, dot.as_elements(w, words), all_ones, sums[0]))
        return w.op(f"vector.reduction <add>, {results[0]} : {dot.sums} into i32")

    def _i32(self, index: Index) -> str:
        if isinstance(index, int):
            return self._w.constant(str((index + 2**31) % 2**32 - 2**31), "i32")
        return self._w.op(f"arith.index_cast {index} : index to i32")

    def first_sums(
        self, packed_a: Memory, packed_b: Memory, strip_a: Index, strip_b: Index
    ) -> list[str]:
        """Return the initial sums of a tile, row by row, by where its strips of A and B begin."""
        w, plan, dot = self._w, self._plan, self._dot
        tile = plan.tile
        columns = [zero_vector(w, dot.accumulator, dot.lanes)] * tile.vectors
        if plan.problem.corrects_columns:
            end = w.add(strip_b, plan.end_b)
            columns = [
                packed_b.load_vector(w.add(end, at)) for at in range(0, tile.columns, tile.lanes)
            ]
        if self._q is None:
            return columns * tile.rows
        sums = []
        for row in range(tile.rows):
            scalar = packed_a.load(w.add(strip_a, plan.end_a, row))
            spread = w.broadcast(scalar, "i32", dot.sums)
            sums += [w.op(f"arith.addi {spread}, {column} : {dot.sums}") for column in columns]
        return sums
