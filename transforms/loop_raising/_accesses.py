"""Memory accesses of the statements of a loop, and the dependences between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.structured.indices import IndexReader
from linalg_ext.symbolic.integers import Number
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

from ._indices import along

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
        each.name in _PURE_OPS
        or (each.name.partition(".")[0] in _PURE and not any(map(is_memory, each.operands)))
        for each in select(op, lambda _: True)
    )


def is_load(op: ir.Operation) -> bool:
    """Return whether an op only reads one element: a `memref.load`."""
    return op.name == _READS


class Memory:
    """The memory that the statements of one function access."""

    def __init__(self) -> None:
        self.read = IndexReader()
        self._aliases = Aliases()

    def accesses(self, statement: ir.Operation) -> list[Access]:
        """Return the accesses of a statement and of all ops nested in it."""
        return [access for op in select(statement, lambda _: True) for access in self._of_op(op)]

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
        for one, other in zip(first.indices, second.indices, strict=True):
            a, b = along(one, loop, self.read), along(other, loop, self.read)
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
            self._may_alias(one.buffer, other.buffer)
            for one in self.accesses(first)
            for other in self.accesses(second)
        )

    def may_overwrite(self, first: ir.Operation, second: ir.Operation) -> bool:
        """Return whether the first statement may write to a buffer that the second touches."""
        return any(
            one.is_written and self._may_alias(one.buffer, other.buffer)
            for one in self.accesses(first)
            for other in self.accesses(second)
        )

    def is_read_only(self, load: ir.Operation, loop: ir.Operation) -> bool:
        """Return whether no statement of a loop writes the elements that a load in it reads."""
        (read,) = self.accesses(load)
        body = loop.regions[0].blocks[0].operations
        written = [a for each in body for a in self.accesses(each.operation) if a.is_written]
        return not any(
            self.may_meet(a, read, loop, same=True) or self.may_meet(read, a, loop, same=True)
            for a in written
        )

    def _of_op(self, op: ir.Operation) -> Iterator[Access]:
        if op.name in (_READS, _WRITES):
            buffer, *indices = list(op.operands)[1 if op.name == _WRITES else 0 :]
            behind = buffer_of(buffer)
            # The indices of a view are not those of what it is a view of.
            known = tuple(map(self.read, indices)) if behind.value == buffer else None
            yield Access(behind, known, op.name == _WRITES)
        elif op.name in _PURE_OPS:
            return
        elif any(map(is_memory, op.operands)):
            for number, value in enumerate(op.operands):
                if is_memory(value):
                    yield Access(buffer_of(value), None, may_write(op, number))
        elif op.name.partition(".")[0] not in _PURE:
            yield Access(None, None, True)

    def _may_alias(self, one: Buffer | None, other: Buffer | None) -> bool:
        return one is None or other is None or self._aliases.may_alias(one, other)
