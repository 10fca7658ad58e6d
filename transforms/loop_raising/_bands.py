"""Bands: perfect nests of `scf.for` that run a number of times that none of them changes.

Between two loops may stand computations, and reads of elements that the nest does not write. Here
are the index values as such loops see them, and the memory that their statements access.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.ir.sets import is_defined_inside
from linalg_ext.rewriting import MatchFailure
from linalg_ext.structured.indices import IndexReader
from linalg_ext.structured.operands import producer
from linalg_ext.symbolic.integers import Expression, Number, Symbol, ceildiv, maximum, symbols_of
from linalg_ext.transforms.analysis.buffers import (
    ALLOCATIONS,
    TOUCH_NOTHING,
    Aliases,
    Buffer,
    buffer_of,
    is_memory,
    may_write,
)
from linalg_ext.transforms.ir_utils.walking import select

FOR = "scf.for"


@dataclass(frozen=True)
class Level:
    """One loop of a band: `lower + step * k`, for k from 0 to below `count`."""

    loop: ir.Operation
    lower: Number
    step: int
    count: Number


@dataclass(frozen=True)
class Band:
    """A perfect nest.

    Attributes:
        levels: its loops, the outermost first.
        ops: the ops of one iteration, in order, those between the loops first.
    """

    levels: tuple[Level, ...]
    ops: tuple[ir.Operation, ...]

    @property
    def outermost(self) -> ir.Operation:
        return self.levels[0].loop


def band_of(loop: ir.Operation, read: IndexReader) -> Band | MatchFailure:
    """Return the band that begins with a loop, or why there is none."""
    loops: list[ir.Operation] = []
    ops: list[ir.Operation] = []
    inner: ir.Operation | None = loop
    while inner is not None:
        loops.append(inner)
        if len(inner.results):
            return MatchFailure(
                "the loop carries values: linalg-ext-accumulate-in-memory puts sums in memory"
            )
        *body, _ = [op.operation for op in inner.regions[0].blocks[0].operations]
        inner = next((op for op in body if op.name == FOR), None)
        between = [op for op in body if inner is None or op != inner]
        if inner is not None and not all(_may_repeat(op, inner) for op in between):
            return MatchFailure(
                "the nest is not perfect: linalg-ext-distribute-loops makes several nests"
            )
        ops += between
    levels: list[Level] = []
    for band_loop in loops:
        level = _level(band_loop, read)
        if isinstance(level, MatchFailure):
            return level
        if not (_is_fixed(level.lower, loops, read) and _is_fixed(level.count, loops, read)):
            return MatchFailure("a loop inside begins or ends where one around it says")
        levels.append(level)
    return Band(tuple(levels), tuple(ops))


def _may_repeat(op: ir.Operation, loop: ir.Operation) -> bool:
    """Return whether an op before or after a loop may be done in each of its iterations."""
    return is_pure(op) or (is_load(op) and not Memory().may_overwrite(loop, op))


@dataclass(frozen=True)
class Linear:
    """A number as a sum of multiples of induction variables, the outermost first, and a rest."""

    factors: tuple[int, ...]
    rest: Number


def linear(number: Number, loops: Sequence[ir.Operation], read: IndexReader) -> Linear | None:
    """Return a number's linear form; None if it has none, or the nest computes the rest."""
    factors: list[int] = []
    rest = number
    for loop in reversed(loops):
        form = along(rest, loop, read)
        if form is None:
            return None
        factors.insert(0, form.factor)
        rest = form.rest
    return Linear(tuple(factors), rest)


def _level(loop: ir.Operation, read: IndexReader) -> Level | MatchFailure:
    if not counts_in_indices(loop):
        return MatchFailure("the loop counts in integers, or without signs")
    lower, upper, step = (read(value) for value in list(loop.operands)[:3])
    if not isinstance(step, int) or step < 1:
        return MatchFailure("the step is not known")
    return Level(loop, lower, step, ceildiv(maximum(upper - lower, 0), step))


def _is_fixed(number: Number, loops: Sequence[ir.Operation], read: IndexReader) -> bool:
    """Return whether a number is the same in all iterations."""
    form = linear(number, loops, read)
    return form is not None and not any(form.factors)


_READS, _WRITES = "memref.load", "memref.store"
_PURE = ("arith", "math", "index", "complex", "vector", "scf", "ub")
_PURE_OPS = (TOUCH_NOTHING - ALLOCATIONS) | {
    *("affine.apply", "affine.min", "affine.max", "linalg.index", "linalg.yield")
}


@dataclass(frozen=True)
class Access:
    """An access of one op to one element, or to any part, of a buffer.

    Attributes:
        buffer: the buffer behind all views; None for unknown memory.
        indices: the indices of the one element; None for any part.
    """

    buffer: Buffer | None
    indices: tuple[Number, ...] | None
    is_written: bool

    def is_by_name_of(self, other: Access) -> bool:
        """Return whether both accesses are to the same buffer through the same SSA value."""
        mine, its = self.buffer, other.buffer
        return mine is not None and its is not None and mine.value == its.value


def is_pure(op: ir.Operation) -> bool:
    """Return whether an op only computes, so that it may be repeated, moved or left out."""
    return all(
        inner.name in _PURE_OPS
        or (inner.name.partition(".")[0] in _PURE and not any(map(is_memory, inner.operands)))
        for inner in nested(op)
    )


def is_load(op: ir.Operation) -> bool:
    return op.name == _READS


class Memory:
    """The memory that the statements of one function access."""

    def __init__(self) -> None:
        self.read = IndexReader()
        self._aliases = Aliases()

    def accesses(self, statement: ir.Operation) -> list[Access]:
        return [access for op in nested(statement) for access in self._of_op(op)]

    def may_meet(self, first: Access, second: Access, loop: ir.Operation, *, same: bool) -> bool:
        """Return whether `first` may conflict in some iteration with `second` in a later one.

        Two accesses conflict where they touch the same memory and one of them writes it.

        Args:
            first, second: accesses of statements in the body of `loop`.
            loop: the loop of the iterations.
            same: whether a second access in the same iteration counts too.
        """
        if not (first.is_written or second.is_written):
            return False
        if not self._may_alias(first.buffer, second.buffer):
            return False
        if not first.is_by_name_of(second) or first.indices is None or second.indices is None:
            return True
        for index, other in zip(first.indices, second.indices, strict=True):
            a, b = along(index, loop, self.read), along(other, loop, self.read)
            if a is None or b is None or a.factor != b.factor:
                continue
            distance = a.rest - b.rest
            if not isinstance(distance, int):
                continue
            if a.factor == 0:
                if distance != 0:
                    return False  # never one element
                continue
            # The second comes `distance / factor` iterations behind the first.
            behind = distance / a.factor
            if behind < 0 or (behind == 0 and not same):
                return False
        return True

    def may_share(self, first: ir.Operation, second: ir.Operation) -> bool:
        """Return whether two statements may touch the same buffer, even at different elements."""
        return any(
            self._may_alias(a.buffer, b.buffer)
            for a in self.accesses(first)
            for b in self.accesses(second)
        )

    def may_overwrite(self, first: ir.Operation, second: ir.Operation) -> bool:
        """Return whether the first statement may write to a buffer that the second touches."""
        return any(
            a.is_written and self._may_alias(a.buffer, b.buffer)
            for a in self.accesses(first)
            for b in self.accesses(second)
        )

    def is_read_only(self, load: ir.Operation, loop: ir.Operation) -> bool:
        """Return whether no statement of a loop writes the elements that a load in it reads."""
        (read,) = self.accesses(load)
        body = loop.regions[0].blocks[0].operations
        written = [
            a for statement in body for a in self.accesses(statement.operation) if a.is_written
        ]
        return not any(
            self.may_meet(a, read, loop, same=True) or self.may_meet(read, a, loop, same=True)
            for a in written
        )

    def _of_op(self, op: ir.Operation) -> Iterator[Access]:
        if op.name in (_READS, _WRITES):
            buffer, *indices = list(op.operands)[1 if op.name == _WRITES else 0 :]
            behind = buffer_of(buffer)
            # The indices of a view are not those of its source.
            positions = tuple(map(self.read, indices)) if behind.value == buffer else None
            yield Access(behind, positions, op.name == _WRITES)
        elif op.name in _PURE_OPS:
            return
        elif any(map(is_memory, op.operands)):
            for number, value in enumerate(op.operands):
                if is_memory(value):
                    yield Access(buffer_of(value), None, may_write(op, number))
        elif op.name.partition(".")[0] not in _PURE:
            yield Access(None, None, True)

    def _may_alias(self, first: Buffer | None, second: Buffer | None) -> bool:
        return first is None or second is None or self._aliases.may_alias(first, second)


class Along(NamedTuple):
    """`factor * iv + rest`, of which the rest is the same in every iteration."""

    factor: int
    rest: Number


def induction_variable(loop: ir.Operation) -> ir.Value:
    return loop.regions[0].blocks[0].arguments[0]


def counts_in_indices(loop: ir.Operation) -> bool:
    """Return whether a loop counts in values of type index, compared with signs."""
    return (
        isinstance(induction_variable(loop).type, ir.IndexType)
        and "unsignedCmp" not in loop.attributes
    )


def along(number: Number, loop: ir.Operation, read: IndexReader) -> Along | None:
    """Return the linear form of a number in a loop; None if absent, or the rest changes too."""
    if isinstance(number, int):
        return Along(0, number)
    body = loop.regions[0].blocks[0]
    iv = induction_variable(loop)
    factor = 0
    for atom, times in number.terms:
        if isinstance(atom, Symbol) and atom.key == iv:
            factor += times
            continue
        keys = [symbol.key for symbol in symbols_of(Expression(0, ((atom, 1),)))]
        if any(isinstance(key, ir.Value) and is_defined_inside(key, body) for key in keys):
            return None
    return Along(factor, number - read(iv) * factor)


def nested(op: ir.Operation) -> list[ir.Operation]:
    return select(op, lambda _: True)


def read_values(ops: Iterable[ir.Operation]) -> list[ir.Value]:
    """Return the operands of ops and of all ops in their regions."""
    return [value for op in ops for inner in nested(op) for value in inner.operands]


def computed_from(
    values: Iterable[ir.Value],
    among: Collection[ir.Operation],
    *,
    is_end: Callable[[ir.Operation], bool] = lambda _: False,
) -> set[ir.Operation]:
    """Return the ops among some that values are computed from; none behind an `is_end`."""
    ops: set[ir.Operation] = set()
    waiting = list(values)
    while waiting:
        op = producer(waiting.pop())
        if op is not None and op in among and op not in ops:
            ops.add(op)
            waiting += [] if is_end(op) else read_values([op])
    return ops
