"""The softmax of rows of scores that come block by block: running maxima, exponentials, totals.

    m' = max(m, scores)     growth = exp(m - m')     scores = exp(scores - m')
    total' = total * growth + sum of scores

A maximum passes over NaN: the exponential of one is one, and so is the total of its row. Where a
row has nothing but -inf so far, 0 is subtracted in the place of its maximum: its exponentials and
its total are zeros, and its softmax is 0 / 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from linalg_ext.transforms.codegen.base.blocked_sums import write_compensated
from linalg_ext.transforms.codegen.base.flat_memory import Memory, Strided, zero_vector
from linalg_ext.transforms.codegen.base.payload import write_constant, write_on_vectors
from linalg_ext.transforms.codegen.base.problem import Group
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._attention_plan import AttentionPlan
from ._expressions import (
    LOWEST,
    Applied,
    Comparison,
    Element,
    Expression,
    Number,
    Position,
    comparison_of,
)

Combine: TypeAlias = "Callable[[str, str, str], str]"
"""A function that writes the combination of two values of a type."""

_NEAR_BYTES = 1 << 13
"""Scores that stay in the nearest cache from their maximum to their exponentials."""


class SoftmaxRows:
    """Writes the softmax of a block of scores, in place."""

    def __init__(
        self,
        w: Writer,
        plan: AttentionPlan,
        scores: Memory,
        rows: Sequence[Memory],
        changes: ScoreChanges,
        is_long: str | bool,
    ) -> None:
        """Write with the memory of rows of a span, and changes of the scores of a block.

        `rows` are the maxima, the totals, their growth and, if the keys may be long, the rounding
        errors of the totals; `is_long` says whether totals are added with compensation, or is a
        condition for it.
        """
        self._w = w
        self._plan = plan
        self._scores = scores
        self._maxima, self._totals, self._growth, *lost = rows
        self._lost = lost[0] if lost else None
        self._is_long = is_long
        self._changes = changes
        self._element = scores.element
        self._width = plan.scores.tile.columns
        bytes_ = plan.score_stride * plan.scores.problem.element_bytes
        self._together = max(1, min(plan.row_block, _NEAR_BYTES // bytes_))

    def begin(self, count: Index) -> None:
        w = self._w
        with w.loop(0, count) as row:
            self._maxima.store(self._lowest(self._element), row)
            self._totals.store(w.constant("0.0", self._element), row)
            if self._lost is not None:
                self._lost.store(w.splat("-0.0", self._element), row)

    def write(
        self,
        first: Index,
        row: Index,
        row_count: Index,
        key: Index,
        extent: Index,
        *,
        is_even: bool,
    ) -> None:
        """Write the softmax of a block.

        Args:
            first: the first row of the span.
            row: the first row of the block, from there.
            row_count: the number of rows of the block.
            key: the first key of the block.
            extent: the number of keys.
            is_even: whether `extent` is known to be a multiple of the tile's columns.
        """
        w = self._w
        # Rows overlap: the maximum of one need not wait for the exponentials of another.
        with w.loop(0, row_count, self._together) as start:
            count = w.part(self._together, row_count, start)
            with w.loop(0, count) as number:
                line = w.add(start, number)
                at = w.add(row, line)
                changes = RowChanges(self._changes, w.add(first, at))
                self._update_maximum(line, at, key, extent, changes, is_even)
            with w.loop(0, count) as number:
                line = w.add(start, number)
                self._update_total(line, w.add(row, line), extent)

    def _update_maximum(
        self, line: Index, at: Index, key: Index, extent: Index, changes: RowChanges, is_even: bool
    ) -> None:
        """Change the scores of a line and store their maximum; `at` is its row in the span."""
        old = self._maxima.load(at)
        if not self._plan.is_one_block:
            self._growth.store(old, at)
        start = self._w.mul(line, self._plan.score_stride)
        new = self._write_maximum(start, key, extent, changes, is_even)
        self._maxima.store(self._larger(old, new, self._element), at)

    def _update_total(self, line: Index, at: Index, extent: Index) -> None:
        w, element = self._w, self._element
        new = self._maxima.load(at)
        lowest, zero = self._lowest(element), w.constant("0.0", element)
        is_lowest = w.op(f"arith.cmpf oeq, {new}, {lowest} : {element}")
        base = w.op(f"arith.select {is_lowest}, {zero}, {new} : {element}")
        total = self._write_exponentials(w.mul(line, self._plan.score_stride), extent, base)
        if not self._plan.is_one_block:
            growth = self._write_growth(self._growth.load(at), base, at)
            before = w.op(f"arith.mulf {self._totals.load(at)}, {growth} : {element}")
            w.either(self._is_long, partial(self._add_total, at, before, growth, total))
            return
        self._totals.store(total, at)

    def _add_total(self, at: Index, before: str, growth: str, part: str, compensates: bool) -> None:
        w, element, lost = self._w, self._element, self._lost
        if compensates and lost is not None:
            error = w.op(f"arith.mulf {lost.load(at)}, {growth} : {element}")
            total, error = write_compensated(w, element, before, error, part)
            lost.store(error, at)
        else:
            total = w.op(f"arith.addf {before}, {part} : {element}")
        self._totals.store(total, at)

    def growth_of(self, row: Index) -> str:
        """Return the factor that scales the earlier sums of a row of the span, as a vector."""
        growth = self._growth.load(row)
        return self._w.broadcast(growth, self._element, self._growth.vector)

    def total_of(self, row: Index, keys: Index, *, masked_is_zero: bool) -> str:
        """Return the divisor of the sums of a row of the span, as a vector.

        Without any keys the sum is zero; it may be, too, where all keys are masked.
        """
        w, element = self._w, self._element
        total = self._totals.load(row)
        if masked_is_zero:
            lowest, unit = self._lowest(element), w.constant("1.0", element)
            is_masked = w.op(f"arith.cmpf oeq, {self._maxima.load(row)}, {lowest} : {element}")
            is_zero = w.op(f"arith.cmpf oeq, {total}, {w.constant('0.0', element)} : {element}")
            is_empty = w.op(f"arith.andi {is_masked}, {is_zero} : i1")
            total = w.op(f"arith.select {is_empty}, {unit}, {total} : {element}")
        if not isinstance(keys, int):
            is_none = w.compare("eq", keys, 0)
            unit = w.constant("1.0", element)
            total = w.op(f"arith.select {is_none}, {unit}, {total} : {element}")
        return w.broadcast(total, element, self._totals.vector)

    def _lowest(self, type_: str) -> str:
        return self._w.splat(LOWEST[self._element], type_)

    def _larger(self, old: str, new: str, type_: str) -> str:
        """Return the larger of two, or the old one if the new one is NaN: one instruction."""
        w = self._w
        is_larger = w.op(f"arith.cmpf ogt, {new}, {old} : {type_}")
        types = type_ if type_ == self._element else f"{self._scores.mask}, {type_}"
        return w.op(f"arith.select {is_larger}, {new}, {old} : {types}")

    def _write_maximum(
        self, start: Index, key: Index, extent: Index, changes: RowChanges, is_even: bool
    ) -> str:
        """Change the scores of a row and return their maximum; those past the keys are -inf."""
        w, vector = self._w, self._scores.vector
        lanes = self._scores.lanes
        count = self._width // lanes
        whole = extent if is_even else w.mul(w.div(extent, self._width), self._width)
        lowest = self._lowest(vector)

        def step(at: Index, maxima: Sequence[str], *, is_whole: bool) -> list[str]:
            new_maxima = []
            for number, old in enumerate(maxima):
                column = w.add(at, number * lanes)
                value = self._scores.load_vector(w.add(start, column))
                limit = None if is_whole else w.add(key, extent)
                if self._changes.is_needed:
                    value = changes(value, self._element, w.add(key, column), limit)
                if not is_whole:
                    mask = self._scores.below(w.sub(extent, column))
                    value = w.op(
                        f"arith.select {mask}, {value}, {lowest} : {self._scores.mask}, {vector}"
                    )
                if self._changes.is_needed or not is_whole:
                    self._scores.store_vector(value, w.add(start, column))
                new_maxima.append(self._larger(old, value, vector))
            return new_maxima

        with w.carrying_loop(whole, self._width, [lowest] * count, vector) as loop:
            at, maxima, handed_on, results = loop
            handed_on += step(at, maxima, is_whole=True)
        if not is_even:
            if isinstance(extent, int):
                results = step(whole, results, is_whole=False)
            else:
                rest = w.sub(extent, whole)
                with w.carrying_loop(rest, self._width, results, vector) as loop:
                    at, maxima, handed_on, results = loop
                    handed_on += step(w.add(whole, at), maxima, is_whole=False)
        return self._reduced("maxnumf", self._paired(results, self._larger, vector))

    def _write_exponentials(self, start: Index, extent: Index, base: str) -> str:
        """Replace the scores of a row by their exponentials; return their sum."""
        w, lanes = self._w, self._scores.lanes
        # As one wide vector: its registers do not wait for each other.
        scores = replace(self._scores, lanes=self._width)
        vector = scores.vector
        spread = w.broadcast(base, self._element, vector)
        zero = zero_vector(w, self._element, self._width)
        padded = w.mul(w.ceil_div(extent, self._width), self._width)
        with w.carrying_loop(padded, self._width, [zero], vector) as loop:
            at, (sums,), handed_on, (total,) = loop
            place = w.add(start, at)
            value = w.op(f"arith.subf {scores.load_vector(place)}, {spread} : {vector}")
            value = w.op(f"math.exp {value} : {vector}")
            scores.store_vector(value, place)
            handed_on.append(w.op(f"arith.addf {sums}, {value} : {vector}"))
        parts = [
            w.op(
                f"vector.extract_strided_slice {total} "
                f"{{offsets = [{at}], sizes = [{lanes}], strides = [1]}} : "
                f"{vector} to {self._scores.vector}"
            )
            for at in range(0, self._width, lanes)
        ]
        add = lambda old, new, type_: w.op(f"arith.addf {old}, {new} : {type_}")  # noqa: E731
        return self._reduced("add", self._paired(parts, add, self._scores.vector))

    def _paired(self, values: Sequence[str], combine: Combine, type_: str) -> str:
        while len(values) > 1:
            pairs = [values[at : at + 2] for at in range(0, len(values), 2)]
            values = [combine(p[0], p[1], type_) if len(p) == 2 else p[0] for p in pairs]
        return values[0]

    def _reduced(self, kind: str, value: str) -> str:
        vector = self._scores.vector
        return self._w.op(f"vector.reduction <{kind}>, {value} : {vector} into {self._element}")

    def _write_growth(self, old: str, base: str, row: Index) -> str:
        """Store the factor that scales the earlier sums of a row; return it as a scalar."""
        w, element, vector = self._w, self._element, self._scores.vector
        difference = w.op(f"arith.subf {old}, {base} : {element}")
        # On a vector: of a scalar it would be a call.
        difference = w.broadcast(difference, element, vector)
        growth = w.op(f"math.exp {difference} : {vector}")
        scalar = w.op(f"vector.extract {growth}[0] : {element} from {vector}")
        self._growth.store(scalar, row)
        return scalar


@dataclass(frozen=True)
class ScoreOperand:
    """An operand of the changes of scores, and the rows and keys of the scores with its strides."""

    element: Element
    operand: Strided
    rows: Group
    keys: Group


@dataclass(frozen=True)
class _Vector:
    """An SSA value, and the element type of the vector that it is."""

    name: str
    element: str


@dataclass(frozen=True)
class ScoreChanges:
    """The writer of an expression of the score and of other operands.

    The loops over rows come with their sizes, outermost first; `positions` are those of loops over
    batches.
    """

    writer: Writer
    changed: Expression
    score: Element
    operands: Sequence[ScoreOperand]
    rows: Sequence[tuple[int, Index]]
    keys: int
    lanes: int
    positions: Mapping[int, Index] = field(default_factory=dict)

    @property
    def is_needed(self) -> bool:
        return self.changed != self.score

    def moved(self, loop: int, index: Index) -> ScoreChanges:
        operands = [
            replace(score_operand, operand=score_operand.operand.moved(f"d{loop}", index))
            for score_operand in self.operands
        ]
        return replace(self, operands=operands, positions={**self.positions, loop: index})


class RowChanges:
    """The changes of scores in a row; values that are constant along it are read first."""

    def __init__(self, changes: ScoreChanges, row: Index) -> None:
        self._changes, self._row = changes, row
        self._w = changes.writer
        self._known: list[tuple[Expression, _Vector]] = []
        self._read_along_keys: list[tuple[ScoreOperand, Index]] = []
        for score_operand in changes.operands:
            element, operand = score_operand.element, score_operand.operand
            offset = operand.offset(score_operand.rows, row)
            if changes.keys in element.at:
                self._read_along_keys.append((score_operand, offset))
                continue
            scalar = operand.memory.load(self._w.add(operand.base, offset))
            self._known.append((element, self._spread(scalar, operand.memory.element)))

    def __call__(self, score: str, element: str, key: Index, limit: Index | None) -> str:
        """Emit the changes to a vector of scores, whose first lane is at a key; name the result.

        The limit is the end of the keys, for masks; None where all lanes have keys.
        """
        known = [*self._known, (self._changes.score, _Vector(score, element))]
        return self._write(self._changes.changed, known, key, limit).name

    def _write(
        self,
        expression: Expression,
        known: list[tuple[Expression, _Vector]],
        key: Index,
        limit: Index | None,
    ) -> _Vector:
        for before, vector in known:
            if before == expression:
                return vector
        match expression:
            case Number(text=text):
                text = text if " : " in text else f"{text} : i1"
                name = write_constant(self._w, text, self._changes.lanes)
                return _Vector(name, text.rpartition(" : ")[2])
            case Position(loop=loop):
                vector = self._position(loop, key)
            case Element():
                vector = self._loaded(expression, key, limit)
            case Applied() if (compared := self._comparison(expression)) is not None:
                vector = self._compared(compared, key)
            case Applied():
                operands = [
                    self._write(operand, known, key, limit) for operand in expression.operands
                ]
                result = write_on_vectors(
                    self._w,
                    expression.name,
                    expression.attributes,
                    [(operand.name, operand.element) for operand in operands],
                    expression.type,
                    self._changes.lanes,
                )
                vector = _Vector(result, expression.type)
        known.append((expression, vector))
        return vector

    def _vector(self, element: str) -> str:
        return f"vector<{self._changes.lanes}x{element}>"

    def _spread(self, scalar: str, element: str) -> _Vector:
        return _Vector(self._w.broadcast(scalar, element, self._vector(element)), element)

    def _position(self, loop: int | None, key: Index) -> _Vector:
        w, changes = self._w, self._changes
        if loop is None:
            return _Vector(w.constant("dense<0>", self._vector("index")), "index")
        if loop != changes.keys:
            return self._spread(w.value(self._position_of(loop)), "index")
        start = self._spread(w.value(key), "index")
        steps = ", ".join(map(str, range(changes.lanes)))
        lanes = w.constant(f"dense<[{steps}]>", self._vector("index"))
        return _Vector(w.op(f"arith.addi {start.name}, {lanes} : {self._vector('index')}"), "index")

    def _comparison(self, expression: Expression) -> Comparison | None:
        """Return a comparison of positions, the key's on its right; None if it is not one."""
        comparison = comparison_of(expression)
        factor = 0 if comparison is None else comparison.factors.get(self._changes.keys, 0)
        if comparison is None or factor not in (-1, 0, 1):
            return None
        return comparison.mirrored if factor == 1 else comparison

    def _compared(self, comparison: Comparison, key: Index) -> _Vector:
        """Write a comparison of positions in 32 bits: only limits near the vector matter."""
        w, keys = self._w, self._changes.keys
        terms: list[Index] = [comparison.constant]
        for loop, factor in comparison.factors.items():
            terms.append(w.mul(factor, key if loop == keys else self._position_of(loop)))
        limit = w.max(w.min(w.add(*terms), 1 << 30), -(1 << 30))
        narrow = w.op(f"arith.index_cast {w.value(limit)} : index to i32")
        vector = self._vector("i32")
        spread = w.broadcast(narrow, "i32", vector)
        lanes = range(self._changes.lanes) if keys in comparison.factors else [0]
        text = ", ".join(map(str, lanes))
        steps = w.constant(f"dense<[{text}]>" if len(lanes) > 1 else "dense<0>", vector)
        return _Vector(
            w.op(f"arith.cmpi {comparison.predicate}, {spread}, {steps} : {vector}"), "i1"
        )

    def _position_of(self, loop: int) -> Index:
        """Return the position of a loop over batches or rows, of which `row` numbers all."""
        w, rest = self._w, self._row
        if loop in self._changes.positions:
            return self._changes.positions[loop]
        for row_loop, size in reversed(self._changes.rows[1:]):
            if row_loop == loop:
                return w.rem(rest, size)
            rest = w.div(rest, size)
        return rest

    def _loaded(self, element: Element, key: Index, limit: Index | None) -> _Vector:
        score_operand, offset = next(
            pair for pair in self._read_along_keys if pair[0].element == element
        )
        operand = score_operand.operand
        pieces = operand.pieces(score_operand.keys, key, 1, limit)
        return _Vector(operand.load_pieces(pieces, offset), operand.memory.element)
