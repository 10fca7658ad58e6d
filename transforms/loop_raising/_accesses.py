"""What statements of a loop read and write, and whether the order of two of them matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.structured.indices.values import IndexReader
from linalg_ext.structured.utils.values import producer
from linalg_ext.structured.views.view_ops import VIEW_OPS
from linalg_ext.symbolic.integers import Number
from linalg_ext.transforms.ir_utils.walking import select

from ._indices import along

_READS, _WRITES = "memref.load", "memref.store"
_SHAPES = frozenset({"memref.dim", "memref.rank"})
_OTHER_NAMES = frozenset(
    {
        *("memref.subview", "memref.cast", "memref.transpose", "memref.reinterpret_cast"),
        *("memref.expand_shape", "memref.collapse_shape", "memref.view", "memref.reshape"),
        *VIEW_OPS,
    }
)
"""Ops whose results are other names for memory of their first operand."""

_NEW = ("memref.alloc", "memref.alloca")
_PURE = ("arith", "math", "index", "complex", "vector", "scf", "ub")
_PURE_OPS = frozenset(
    {
        *("affine.apply", "affine.min", "affine.max", "linalg.index", "linalg.yield"),
        *("memref.get_global", *_SHAPES, *_OTHER_NAMES),
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


def root_of(buffer: ir.Value) -> ir.Value:
    """The buffer that a value is a view of."""
    op = producer(buffer)
    while op is not None and op.name in _OTHER_NAMES:
        buffer = op.operands[0]
        op = producer(buffer)
    return buffer


class Memory:
    """What the statements of one function touch."""

    def __init__(self) -> None:
        self.read = IndexReader()
        self._called: dict[ir.Operation, bool] = {}

    def accesses(self, statement: ir.Operation) -> list[Access]:
        """What a statement touches, with all that is nested in it."""
        return [access for op in select(statement, lambda _: True) for access in self._of_op(op)]

    def may_meet(self, first: Access, second: Access, loop: ir.Operation, *, same: bool) -> bool:
        """Whether an access may touch in some iteration what another touches in a later one.

        Args:
            first, second: of statements in the body of `loop`.
            loop: whose iterations are meant.
            same: whether a second access in the same iteration counts too.
        """
        if not (first.is_written or second.is_written):
            return False
        if not self._may_alias(first.root, second.root):
            return False
        if first.root != second.root or first.indices is None or second.indices is None:
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
        """Whether two statements may touch the same buffer, if at different places of it."""
        return any(
            self._may_alias(one.root, other.root)
            for one in self.accesses(first)
            for other in self.accesses(second)
        )

    def may_overwrite(self, first: ir.Operation, second: ir.Operation) -> bool:
        """Whether a statement may write to a buffer that another touches."""
        return any(
            one.is_written and self._may_alias(one.root, other.root)
            for one in self.accesses(first)
            for other in self.accesses(second)
        )

    def is_read_only(self, load: ir.Operation, loop: ir.Operation) -> bool:
        """Whether nothing in a loop writes what a load in it reads."""
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
            root = root_of(buffer)
            # The indices of a view are not those of what it is a view of.
            known = tuple(map(self.read, indices)) if root == buffer else None
            yield Access(root, known, op.name == _WRITES)
        elif op.name in _PURE_OPS:
            return
        elif any(map(_is_memory, op.operands)):
            for value in op.operands:
                if _is_memory(value):
                    yield Access(root_of(value), None, True)
        elif op.name.partition(".")[0] not in _PURE:
            yield Access(None, None, True)

    def _may_alias(self, one: ir.Value | None, other: ir.Value | None) -> bool:
        if one is None or other is None or one == other:
            return True
        variables = [each for each in map(_variable, (one, other)) if each is not None]
        if any(map(_is_constant, variables)):
            return False  # nobody writes there
        if len(variables) == 2:
            return variables[0] == variables[1]
        # Arguments of an entry do not overlap: calls of kernels see to it. All else may.
        return not all(_is_new(each) or self._is_of_entry(each) for each in (one, other))

    def _is_of_entry(self, value: ir.Value) -> bool:
        """Whether a value is an argument of a function that no other calls."""
        if not isinstance(value.owner, ir.Block) or value.owner.owner is None:
            return False
        function = value.owner.owner.operation
        if function.name != "func.func":
            return False
        if function not in self._called:
            self._called[function] = _is_called(function)
        return not self._called[function]


def _is_called(function: ir.Operation) -> bool:
    """Whether anything around a function names it: it may then get one buffer twice."""
    name = str(ir.StringAttr(function.attributes["sym_name"]).value)
    around = function.parent
    if around is None:
        return True
    calls = select(around.operation, lambda op: op.name in ("func.call", "func.constant"))
    callees = (op.attributes["callee" if op.name == "func.call" else "value"] for op in calls)
    return any(ir.FlatSymbolRefAttr(callee).value == name for callee in callees)


def _variable(value: ir.Value) -> ir.Operation | None:
    """The `memref.global` that a value is the memory of; None of any other memory."""
    op = producer(value)
    if op is None or op.name != "memref.get_global":
        return None
    name = ir.FlatSymbolRefAttr(op.attributes["name"]).value
    around = op.parent
    while around is not None:
        for each in around.operation.regions[0].blocks[0].operations:
            if each.operation.name == "memref.global" and _is_called_so(each.operation, name):
                return each.operation
        around = around.operation.parent
    return None


def _is_called_so(variable: ir.Operation, name: str) -> bool:
    return ir.StringAttr(variable.attributes["sym_name"]).value == name


def _is_constant(variable: ir.Operation) -> bool:
    return "constant" in variable.attributes


def _is_new(value: ir.Value) -> bool:
    op = producer(value)
    return op is not None and op.name in _NEW


def _is_memory(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType | ir.UnrankedMemRefType)
