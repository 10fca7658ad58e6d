"""What statements of a loop read and write, and whether the order of two of them matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linalg_ext.analysis.numbers import Number
from linalg_ext.bindings import ir
from linalg_ext.structured.subsets.index_values import IndexReader
from linalg_ext.structured.values import producer
from linalg_ext.transforms.lowering._walk import select

from ._indices import along

_READS, _WRITES = "memref.load", "memref.store"
_SHAPES = frozenset({"memref.dim", "memref.rank"})
_VIEWS = ("memref.subview", "memref.cast", "memref.transpose", "memref.reinterpret_cast")
_RESHAPES = ("memref.expand_shape", "memref.collapse_shape", "memref.view", "memref.reshape")
_NEW = ("memref.alloc", "memref.alloca")
_PURE = ("arith", "math", "index", "complex", "vector", "scf", "ub")
_PURE_OPS = frozenset(
    {
        *("affine.apply", "affine.min", "affine.max", "linalg.index", "linalg.yield"),
        *("memref.get_global", *_SHAPES, *_VIEWS, *_RESHAPES),
    }
)


@dataclass(frozen=True)
class Access:
    """An element, or any part, of some memory that one op touches.

    Attributes:
        root: the buffer, behind views of it; None for memory of which nothing is known.
        indices: of the one element that is touched; None for any part.
    """

    root: ir.Value | None
    indices: tuple[Number, ...] | None
    is_written: bool


def accesses(statement: ir.Operation, read: IndexReader) -> list[Access]:
    """What a statement touches, with all that is nested in it."""
    return [access for op in select(statement, lambda _: True) for access in _of_op(op, read)]


def is_pure(op: ir.Operation) -> bool:
    """Whether an op only computes: it may be repeated, moved and left out."""
    return all(
        each.name in _PURE_OPS
        or (each.name.partition(".")[0] in _PURE and not any(map(_is_memory, each.operands)))
        for each in select(op, lambda _: True)
    )


def is_load(op: ir.Operation) -> bool:
    """Whether an op does nothing but read one element."""
    return op.name == _READS


def _of_op(op: ir.Operation, read: IndexReader) -> Iterator[Access]:
    if op.name in (_READS, _WRITES):
        first = 1 if op.name == _WRITES else 0
        buffer, *indices = list(op.operands)[first:]
        root = root_of(buffer)
        # The indices of a view are not those of what it is a view of.
        known = tuple(map(read, indices)) if root == buffer else None
        yield Access(root, known, op.name == _WRITES)
    elif any(map(_is_memory, op.operands)) and op.name not in _PURE_OPS:
        for value in op.operands:
            if _is_memory(value):
                yield Access(root_of(value), None, True)
    elif op.name not in _PURE_OPS and op.name.partition(".")[0] not in _PURE:
        yield Access(None, None, True)


def root_of(buffer: ir.Value) -> ir.Value:
    """The buffer that a value is a view of."""
    op = producer(buffer)
    while op is not None and op.name in (*_VIEWS, *_RESHAPES):
        buffer = op.operands[0]
        op = producer(buffer)
    return buffer


def _is_memory(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType | ir.UnrankedMemRefType)


def may_meet(
    first: Access, second: Access, loop: ir.Operation, read: IndexReader, *, same: bool
) -> bool:
    """Whether a first access may touch in some iteration what a second touches in a later one.

    Args:
        first, second: of statements in the body of `loop`.
        loop: whose iterations are meant.
        read: reads the indices.
        same: whether a second access in the same iteration counts too.
    """
    if not (first.is_written or second.is_written) or not _may_alias(first.root, second.root):
        return False
    if first.root != second.root or first.indices is None or second.indices is None:
        return True
    for one, other in zip(first.indices, second.indices, strict=True):
        a, b = along(one, loop, read), along(other, loop, read)
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


def _may_alias(one: ir.Value | None, other: ir.Value | None) -> bool:
    if one is None or other is None or one == other:
        return True
    # Arguments of a function do not overlap: calls of kernels see to it. All else may.
    known = [_is_argument(each) or _is_new(each) for each in (one, other)]
    return not all(known)


def _is_argument(value: ir.Value) -> bool:
    if not isinstance(value.owner, ir.Block):
        return False
    around = value.owner.owner
    return around is not None and around.operation.name == "func.func"


def _is_new(value: ir.Value) -> bool:
    op = producer(value)
    return op is not None and op.name in _NEW
