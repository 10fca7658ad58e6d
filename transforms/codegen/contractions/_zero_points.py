"""Corrections to sums of dot products, for shifted elements and for zero points.

With a' = a + shift what is packed of A, and p, q the zero points,

    sum((a - p) * (b - q)) = sum(a' * b) - (p + shift) * sum(b) - q * (sum(a) - depth * p)

The second term is one number for each column, the third one for each row. Both are computed by a
dot product with ones when a strip has been packed, and are stored after it. They are the initial
values of a tile's sums. All arithmetic is modulo 2^32.
"""

from __future__ import annotations

from linalg_ext.transforms.codegen.base.dot_products import Dot
from linalg_ext.transforms.codegen.base.flat_memory import Memory
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from .contraction_plan import Plan


class Corrections:
    """Writes the corrections of one plan.

    Attributes:
        dot: the instruction.
    """

    def __init__(self, w: Writer, plan: Plan, dot: Dot, whole_depth: Index) -> None:
        """
        Args:
            w: where the code is written.
            plan: where strips end.
            dot: the instruction.
            whole_depth: in elements.
        """
        self._w = w
        self._plan = plan
        self.dot = dot
        self._whole = whole_depth
        points = plan.problem.zero_points
        self._p = "%zero_point_A" if "A" in points else None
        self._q = "%zero_point_B" if "B" in points else None

    def of_columns(self, packed: Memory, strip: Index, extent: Index) -> None:
        """Write, after a strip of B that was packed, what its columns add to every sum."""
        w, plan, dot = self._w, self._plan, self.dot
        if not plan.problem.corrects_columns:
            return
        tile = plan.tile
        zero = w.constant("dense<0>", dot.sums)
        ones = dot.ones(w)
        with w.carrying_loop(extent, 1, [zero] * tile.vectors, dot.sums) as loop:
            k, sums, next_sums, results = loop
            row = w.add(strip, w.mul(k, tile.columns))
            for number, old in enumerate(sums):
                words = packed.load_vector(w.add(row, number * tile.lanes))
                next_sums.append(dot.multiply_add(w, ones, dot.seen_as_elements(w, words), old))
        factor = w.constant(str(-dot.shift), "i32")
        if self._p is not None:
            factor = w.op(f"arith.subi {factor}, {self._p} : i32")
        factors = w.op(f"vector.broadcast {factor} : i32 to {dot.sums}")
        end = w.add(strip, plan.end_b)
        for number, total in enumerate(results):
            product = w.op(f"arith.muli {total}, {factors} : {dot.sums}")
            packed.store_vector(product, w.add(end, number * tile.lanes))

    def of_rows(self, packed: Memory, strip: Index, extent: Index, depth: Index) -> None:
        """Write, after a strip of A that was packed, what its rows add to every sum.

        Args:
            packed: the strips.
            strip: where the strip begins.
            extent: how many words deep the block is.
            depth: its first word.
        """
        w, plan, dot = self._w, self._plan, self.dot
        if self._q is None:
            return
        with w.loop(0, plan.tile.rows) as row:
            total = self._sum_of_row(packed, strip, row, extent)
            packed_depth = w.mul(extent, dot.count)
            real = w.min(packed_depth, w.sub(self._whole, w.mul(depth, dot.count)))
            # What fills a word up was shifted too.
            shifted = self._i32(w.mul(packed_depth, abs(dot.shift)))
            op = "addi" if dot.shift < 0 else "subi"
            total = w.op(f"arith.{op} {total}, {shifted} : i32")
            if self._p is not None:
                points = w.op(f"arith.muli {self._i32(real)}, {self._p} : i32")
                total = w.op(f"arith.subi {total}, {points} : i32")
            product = w.op(f"arith.muli {total}, {self._q} : i32")
            zero = w.constant("0", "i32")
            negative = w.op(f"arith.subi {zero}, {product} : i32")
            packed.store(negative, w.add(strip, plan.end_a, row))

    def first_sums(
        self, packed_a: Memory, packed_b: Memory, strip_a: Index, strip_b: Index
    ) -> list[str]:
        """Return the initial sums of a tile, row by row.

        Args:
            packed_a: the strips of A.
            packed_b: those of B.
            strip_a: the offset of the tile's strip of A.
            strip_b: that of its strip of B.
        """
        w, plan, dot = self._w, self._plan, self.dot
        tile = plan.tile
        columns = [w.constant(_zero(dot), dot.sums)] * tile.vectors
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
            spread = w.op(f"vector.broadcast {scalar} : i32 to {dot.sums}")
            sums += [w.op(f"arith.addi {spread}, {column} : {dot.sums}") for column in columns]
        return sums

    def _sum_of_row(self, packed: Memory, strip: Index, row: Index, extent: Index) -> str:
        w, plan, dot = self._w, self._plan, self.dot
        ones = dot.ones(w)
        zero = w.constant("dense<0>", dot.sums)
        is_by_rows = plan.pack_a == "rows"
        step = dot.lanes if is_by_rows else 1
        with w.carrying_loop(extent, step, [zero], dot.sums) as (k, sums, next_sums, results):
            if is_by_rows:
                at = w.add(strip, w.mul(row, plan.stride_a), k)
                words = packed.load_vector(at, packed.below(w.sub(extent, k)))
            else:
                # One word in the first lane.
                word = packed.load(w.add(strip, w.mul(k, plan.tile.rows), row))
                empty = w.constant("dense<0>", packed.vector)
                words = w.op(f"vector.insert {word}, {empty}[0] : i32 into {packed.vector}")
            next_sums.append(dot.multiply_add(w, dot.seen_as_elements(w, words), ones, sums[0]))
        return w.op(f"vector.reduction <add>, {results[0]} : {dot.sums} into i32")

    def _i32(self, index: Index) -> str:
        if isinstance(index, int):
            return self._w.constant(str((index + 2**31) % 2**32 - 2**31), "i32")
        return self._w.op(f"arith.index_cast {index} : index to i32")


def _zero(dot: Dot) -> str:
    return "dense<0.0>" if dot.accumulator == "f32" else "dense<0>"
