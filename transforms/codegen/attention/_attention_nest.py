"""The nest of attention: packing, scores, their softmax, and sums of values."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from linalg_ext.transforms.codegen.base.blocked_sums import LONG, write_compensated
from linalg_ext.transforms.codegen.base.flat_memory import Strided, zero_vector
from linalg_ext.transforms.codegen.base.nest import Nest
from linalg_ext.transforms.codegen.base.problem import Argument, Dimension, Group, Operand
from linalg_ext.transforms.codegen.base.writer import Index, divides, edge
from linalg_ext.transforms.codegen.contractions.micro_kernel import multiply
from linalg_ext.transforms.codegen.contractions.packing import Packer, Strips, rows_of, vectors_of

from ._attention_plan import AttentionPlan
from ._expressions import Element, Expression, first_seen, last_seen
from ._softmax_rows import ScoreChanges, ScoreOperand, SoftmaxRows


@dataclass(frozen=True)
class AttentionCall:
    """The key of a function for attention; calls with equal keys share one function.

    Attributes:
        operands: queries, keys, values and the result.
        score_operands: the elements that change the scores, and their arguments.
        changed: the score after its changes, whose elements have numbers for values.
        score: the element by which `changed` refers to the score.
        masked_is_zero: True where a row of which every score is -inf gives zeros.
    """

    operands: tuple[Argument, ...]
    score_operands: tuple[tuple[Element, Argument], ...]
    changed: Expression
    score: Element
    masked_is_zero: bool

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return (*self.operands, *(argument for _, argument in self.score_operands))


class AttentionNest(Nest):
    def __init__(self, plan: AttentionPlan, call: AttentionCall) -> None:
        super().__init__(plan.scores.tile.lanes)
        self._plan = plan
        self._call = call
        self._element = plan.scores.problem.element
        loops = plan.loops
        self._sizes |= {f"d{loop}": size for loop, size in loops.sizes.items() if size is not None}
        roles: tuple[Operand, ...] = ("A", "B", "B", "C")
        operands = [
            self._operand(f"X{number}", argument) for number, argument in enumerate(call.arguments)
        ]
        self._query, self._key, self._value, self._result = (
            operand.grouped(role, self._sizes)
            for operand, role in zip(operands[: len(roles)], roles, strict=True)
        )
        score_operands = [
            self._score_operand(element, argument, operand.grouped("C", self._sizes))
            for (element, argument), operand in zip(
                call.score_operands, operands[len(roles) :], strict=True
            )
        ]
        self._depth, self._columns = loops.key_length, loops.value_length
        self._keys = self._sizes[f"d{loops.keys}"]
        rows = [(loop, self._sizes[f"d{loop}"]) for loop in loops.rows]
        self._rows = self._extent(plan.scores.problem.rows)
        self._changes = ScoreChanges(
            self._w, call.changed, call.score, score_operands, rows, loops.keys, self._lanes
        )

    def _score_operand(
        self, element: Element, argument: Argument, operand: Strided
    ) -> ScoreOperand:
        loops = self._plan.loops
        rows, keys = (
            Group(
                tuple(Dimension(f"d{loop}", loops.sizes[loop], {}) for loop in members)
            ).of_argument(argument)
            for members in (loops.rows, (loops.keys,))
        )
        return ScoreOperand(element, operand, rows, keys)

    def _write(self) -> None:
        w, plan = self._w, self._plan
        packing = {
            "query": plan.scores.scratch_a, "key": plan.scores.scratch_b,
            "value": plan.sums.scratch_b,
        }  # fmt: skip
        self._packed = {
            name: self._allocated(size, self._element) if size else None
            for name, size in packing.items()
        }
        self._scored = self._allocated(plan.row_block * plan.score_stride, self._element)
        self._sums = self._allocated(plan.span * plan.sum_stride, self._element)
        rows = [self._allocated(plan.span, self._element) for _ in range(3)]
        self._is_long: str | bool = plan.is_long is not False
        self._lost = None
        if self._is_long:
            self._lost = self._allocated(plan.span * plan.sum_stride, self._element)
            rows.append(self._allocated(plan.span, self._element))
        if plan.is_long is None:
            self._is_long = w.compare("sgt", self._keys, LONG)
        with ExitStack() as batches:
            for loop in plan.loops.batch:
                at = batches.enter_context(w.loop(0, self._sizes[f"d{loop}"]))
                self._move(loop, at)
            self._softmax = SoftmaxRows(w, plan, self._scored, rows, self._changes, self._is_long)
            with w.loop(0, self._rows, plan.span) as first:
                self._write_span(first, w.part(plan.span, self._rows, first))

    def _move(self, loop: int, at: Index) -> None:
        operands = (self._query, self._key, self._value, self._result)
        self._query, self._key, self._value, self._result = (
            operand.moved(f"d{loop}", at) for operand in operands
        )
        self._changes = self._changes.moved(loop, at)

    def _write_span(self, first: Index, count: Index) -> None:
        w, plan = self._w, self._plan
        self._softmax.begin(count)
        if not plan.is_one_block:
            zero = zero_vector(w, self._element, self._lanes)
            with w.loop(0, w.mul(count, plan.sum_stride), self._lanes) as at:
                self._sums.store_vector(zero, at)
                if self._lost is not None:
                    self._lost.store_vector(w.splat("-0.0", self._lost.vector), at)
        with w.loop(0, self._keys, plan.key_block) as key:
            extent = w.part(plan.key_block, self._keys, key)
            self._pack(key, extent)
            with w.loop(0, count, plan.row_block) as row:
                row_count = w.part(plan.row_block, count, row)
                self._write_block(first, row, row_count, key, extent)
        self._write_result(first, count)

    def _write_block(
        self, first: Index, row: Index, row_count: Index, key: Index, extent: Index
    ) -> None:
        """Write a block of rows and keys, from the first to the last key that a row of it sees."""
        w, plan, width = self._w, self._plan, self._plan.scores.tile.columns
        loops, changed = plan.loops, self._call.changed
        is_even, lowest, highest = divides(width, extent), None, None
        if len(loops.rows) == 1:
            lowest = first_seen(changed, loops.rows[0], loops.keys)
            highest = last_seen(changed, loops.rows[0], loops.keys)
        if lowest is None and highest is None:
            self._write_keys(first, row, row_count, key, extent, 0, is_even)
            return
        begin: Index = 0
        end = w.ceil_div(extent, width)
        top = w.sub(w.add(first, row), key)
        if lowest is not None:
            begin = w.div(w.max(w.add(top, lowest), 0), width)
        if highest is not None:
            last = w.max(w.add(top, row_count, highest), 0)
            end = w.min(end, w.ceil_div(last, width))
        if plan.is_one_block:
            # The sums of a row without keys are written, too.
            begin = w.min(begin, w.sub(w.ceil_div(extent, width), 1))
            end = w.max(end, w.add(begin, 1))
        skipped = w.mul(begin, width)
        some = w.sub(w.min(w.mul(end, width), extent), skipped)
        with w.when(w.compare("sgt", some, 0)):
            self._write_keys(first, row, row_count, w.add(key, skipped), some, skipped, is_even)

    def _write_keys(
        self, first: Index, row: Index, row_count: Index, key: Index, extent: Index, skipped: Index,
        is_even: bool,
    ) -> None:  # fmt: skip
        """Write a block of rows with some keys, `skipped` behind the first packed key."""
        self._write_scores(self._w.add(first, row), row_count, key, extent, skipped)
        self._softmax.write(first, row, row_count, key, extent, is_even=is_even)
        self._write_sums(row, row_count, key, extent, skipped)

    def _pack(self, key: Index, extent: Index) -> None:
        w, plan, depth = self._w, self._plan, self._depth
        if (packed := self._packed["key"]) is not None:
            count = w.ceil_div(extent, plan.scores.tile.columns)
            Packer().pack(
                Strips(w, plan.scores, self._key, packed, key, count, self._keys, 0, depth, depth)
            )
        if (packed := self._packed["value"]) is not None:
            columns, keys = self._columns, self._keys
            count = w.ceil_div(columns, plan.sums.tile.columns)
            Packer().pack(
                Strips(w, plan.sums, self._value, packed, 0, count, columns, key, extent, keys)
            )

    def _write_scores(
        self, row: Index, row_count: Index, key: Index, extent: Index, skipped: Index
    ) -> None:
        w, plan, depth = self._w, self._plan.scores, self._depth
        tile, stride = plan.tile, self._plan.score_stride
        strips_a, strips_b = w.ceil_div(row_count, tile.rows), w.ceil_div(extent, tile.columns)
        packed = self._packed["query"]
        if packed is not None:
            Packer().pack(
                Strips(w, plan, self._query, packed, row, strips_a, self._rows, 0, depth, depth)
            )
        with w.loop(0, strips_b) as strip_b, w.loop(0, strips_a) as strip_a:
            at = w.mul(strip_a, tile.rows)
            values = multiply(
                w,
                plan,
                self._depth,
                rows_of(
                    w, plan, self._query, packed, w.mul(strip_a, plan.strip_a),
                    w.add(row, at), self._rows, 0,
                ),
                vectors_of(
                    w, plan, self._key, self._packed["key"],
                    w.mul(w.add(strip_b, w.div(skipped, tile.columns)), plan.strip_b),
                    w.add(key, w.mul(strip_b, tile.columns)), self._keys, 0,
                ),
            )  # fmt: skip
            start = w.add(w.mul(at, stride), w.mul(strip_b, tile.columns))
            for number, value in enumerate(values):
                line, vector = divmod(number, tile.vectors)
                self._scored.store_vector(value, w.add(start, line * stride + vector * tile.lanes))

    def _write_sums(
        self, row: Index, row_count: Index, key: Index, extent: Index, skipped: Index
    ) -> None:
        """Add the products of a block of exponentials and their values to the sums."""
        w, plan = self._w, self._plan.sums
        tile = plan.tile
        strips_a = w.ceil_div(row_count, tile.rows)
        strips_b = w.ceil_div(self._columns, tile.columns)
        with w.loop(0, strips_b) as strip_b, w.loop(0, strips_a) as strip_a:
            at = w.mul(strip_a, tile.rows)
            lines = [
                w.mul(w.within(w.add(at, number), row_count, tile.rows), self._plan.score_stride)
                for number in range(tile.rows)
            ]
            values = multiply(
                w,
                plan,
                extent,
                lambda k, lines=lines: [  # type: ignore[misc]
                    self._scored.load(w.add(line, k)) for line in lines
                ],
                vectors_of(
                    w, plan, self._value, self._packed["value"],
                    w.add(w.mul(strip_b, plan.strip_b), w.mul(skipped, tile.columns)),
                    w.mul(strip_b, tile.columns), self._columns, key,
                ),
            )  # fmt: skip
            column = w.mul(strip_b, tile.columns)
            for number in range(tile.rows):
                line = w.add(at, number)
                part = values[number * tile.vectors : (number + 1) * tile.vectors]
                with w.when_below(line, edge(tile.rows, row_count)):
                    self._add_row(part, w.add(row, line), column)

    def _add_row(self, values: Sequence[str], row: Index, column: Index) -> None:
        w, plan, sums, lost = self._w, self._plan, self._sums, self._lost
        start = w.add(w.mul(row, plan.sum_stride), column)
        growth = None if plan.is_one_block else self._softmax.growth_of(row)

        def write(compensates: bool) -> None:
            for number, value in enumerate(values):
                at = w.add(start, number * self._lanes)
                if growth is not None:
                    old = sums.load_vector(at)
                    if compensates and lost is not None:
                        error = lost.load_vector(at)
                        old, error = (
                            w.op(f"arith.mulf {term}, {growth} : {sums.vector}")
                            for term in (old, error)
                        )
                        value, error = write_compensated(w, sums.vector, old, error, value)
                        lost.store_vector(error, at)
                    else:
                        value = w.op(f"vector.fma {old}, {growth}, {value} : {sums.vector}")
                sums.store_vector(value, at)

        w.either(self._is_long, write)

    def _write_result(self, first: Index, count: Index) -> None:
        w, plan, result = self._w, self._plan, self._result
        problem = plan.sums.problem
        in_vectors = problem.columns.pieces("C", self._lanes) == 1
        with w.loop(0, count) as row:
            total = self._softmax.total_of(
                row, self._keys, masked_is_zero=self._call.masked_is_zero
            )
            start = w.mul(row, plan.sum_stride)
            offset = result.offset(problem.rows, w.add(first, row))
            with w.loop(0, self._columns, self._lanes) as column:
                at = w.add(start, column)
                value = self._sums.load_vector(at)
                value = w.op(f"arith.divf {value}, {total} : {self._sums.vector}")
                if in_vectors:
                    limit = edge(self._lanes, self._columns)
                    pieces = result.pieces(problem.columns, column, 1, limit)
                    result.store_pieces(value, pieces, offset)
                else:
                    self._sums.store_vector(value, at)
            if not in_vectors:
                with w.loop(0, self._columns) as column:
                    index = w.add(result.base, offset, result.offset(problem.columns, column))
                    result.memory.store(self._sums.load(w.add(start, column)), index)
