"""Epilogues: element-wise work on the result of an op, done while it is in registers.

A bias, an activation, a residual, a quantization: one `linalg.generic` behind a contraction or an
op on windows. It reads each element of the result at its place, other operands at places of some of
its dimensions, and scalars. The result of a contraction may be of another type than its sums, which
are then nowhere in memory: the depth is one block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.structured.group import may_be_fused
from linalg_ext.transforms.analysis.buffers import PURE_VIEW_OPS, buffer_of
from linalg_ext.transforms.analysis.fills import comes_of, fills_fresh, leaves_alone
from linalg_ext.transforms.ir_utils.generics import maps_of
from linalg_ext.transforms.ir_utils.module_functions import Functions
from linalg_ext.transforms.ir_utils.walking import producer

from .flat_memory import Strided
from .payload import Elementwise, captured_scalars, read_elementwise
from .problem import Argument, Group, Problem, argument_of
from .writer import Index, Writer

_MOVABLE = ("arith.constant", "memref.alloc", "memref.get_global")

_MOST_PIECES = 3


@dataclass(frozen=True)
class FoundEpilogue:
    """An epilogue in IR.

    Attributes:
        epilogue: what it does.
        op: the op that does it.
        destination: where its result goes.
        values: the other operands, and the scalars.
    """

    epilogue: Elementwise
    op: Any
    destination: Any
    values: tuple[Any, ...]


def find_epilogue(op: Any, dims: Sequence[str], zeros: Any) -> FoundEpilogue | None:
    """The op after a contraction that may be done with it; None if absent.

    Args:
        op: the contraction; its result goes to a buffer that no other op needs, or is overwritten.
        dims: the dimension of each axis of its result.
        zeros: the op that fills the result before.
    """
    *inputs, output = op.operands
    after, between = _next(op, output)
    if after is None or after.name != "linalg.generic" or len(after.results):
        return None
    if not may_be_fused(op, after):
        return None
    destination = after.operands[len(after.operands) - 1]
    touched_by_after = [buffer_of(value) for value in after.operands]
    filled = [buffer_of(fill.operands[len(fill.operands) - 1]) for fill in between]
    if any(buffer in touched_by_after for buffer in filled):
        return None
    if destination != output and not _dies(output, {op, after, zeros}):
        return None
    maps = maps_of(after)
    names = _names(maps[-1], dims)
    if names is None or maps[0].n_dims != len(dims):
        return None
    elements: list[Any] = []
    others: list[tuple[Any, Any, Argument]] = []
    scalars = captured_scalars(after)
    inner = after.regions[0].blocks[0].arguments
    for operand, map_, inside in zip(after.operands, maps, inner, strict=True):
        if operand == output:
            if map_ != maps[-1]:
                return None
            elements.append(inside)
        elif operand in scalars:
            continue
        elif operand != destination:  # its old content is read: not an epilogue
            argument = _extra(operand, map_, names)
            if argument is None:
                return None
            others.append((operand, inside, argument))
    values = [operand for operand, *_ in others]
    if not all(_comes_before(value, op) for value in (destination, *values, *scalars)):
        return None
    touched = [value for value in inputs if isinstance(value.type, ir.ShapedType)] + values
    if any(buffer_of(value) == buffer_of(destination) for value in touched):
        return None
    epilogue = read_elementwise(after, elements, [other[1:] for other in others], scalars)
    if epilogue is None:
        return None
    return FoundEpilogue(epilogue, after, destination, (*values, *scalars))


def _next(op: Any, output: Any) -> tuple[Any, list[Any]]:
    """The next op that is not indifferent to the result, and the fills before it.

    Fills of other buffers than the next op touches do not mind what it writes early.
    """
    siblings = [other.operation for other in op.block.operations]
    fills: list[Any] = []
    for other in siblings[siblings.index(op) + 1 :]:
        if not leaves_alone(other, output):
            return other, fills
        if fills_fresh(other):
            fills.append(other)
        elif other.name not in _MOVABLE and other.name not in PURE_VIEW_OPS:
            break  # what the epilogue writes early, others might read
    return None, []


def _comes_before(value: Any, op: Any) -> bool:
    """Return whether a value dominates an op, or can be moved before it."""
    owner = producer(value)
    if owner is None or owner.block != op.block or owner.is_before_in_block(op):
        return True
    if owner.name in PURE_VIEW_OPS:
        return all(_comes_before(each, op) for each in owner.operands)
    return owner.name in _MOVABLE and not len(owner.operands)


def move_before(found: FoundEpilogue, op: Any) -> None:
    """Have the operands of an epilogue there when an op runs."""
    _move_all_before((found.destination, *found.values), op)


def _move_all_before(values: Iterable[Any], op: Any) -> None:
    for value in values:
        owner = producer(value)
        if owner is not None and owner.block == op.block and op.is_before_in_block(owner):
            _move_all_before(owner.operands, op)
            owner.move_before(op)


def call_in_place(
    functions: Functions, name: str, operands: Sequence[Any], op: Any, fill: Any,
    found: FoundEpilogue | None, pending: list[Any],
) -> None:  # fmt: skip
    """Call a function in the place of an op, of its fill and of its epilogue, if there are such.

    With them goes the buffer in between. The epilogue is taken from the pending ops.
    """
    output = op.operands[len(op.operands) - 1]
    if found is not None:
        move_before(found, op)
    functions.call(name, operands, [op] if found is None else [op, found.op])
    if fill is not None:
        fill.erase()
    op.erase()
    if found is None:
        return
    if found.op in pending:
        pending.remove(found.op)
    found.op.erase()
    if found.destination != output:
        for use in list(output.uses):
            use.owner.erase()
        output.owner.erase()


def _dies(output: Any, users: set[Any]) -> bool:
    """Return whether a buffer is an allocation that only some ops use, and its deallocation."""
    if not comes_of(output, "memref.alloc"):
        return False
    owners = [use.owner.operation for use in output.uses]
    return all(owner in users or owner.name == "memref.dealloc" for owner in owners)


def _names(map_: Any, dims: Sequence[str]) -> dict[int, str] | None:
    """The names of the dimensions of an element-wise op, by the map of its result."""
    if not map_.is_permutation or len(map_.results) != len(dims):
        return None
    positions = [ir.AffineDimExpr(result).position for result in map_.results]
    return dict(zip(positions, dims, strict=True))


def _extra(value: Any, map_: Any, names: Mapping[int, str]) -> Argument | None:
    if not isinstance(value.type, ir.MemRefType):
        return None
    dimensions = []
    for axis, result in enumerate(map_.results):
        if isinstance(result, ir.AffineDimExpr):
            dimensions.append(names[result.position])
        elif result == ir.AffineExpr.get_constant(0):
            dimensions.append(f"one {axis}")  # which none of the result's is
        else:
            return None
    found = argument_of(value, tuple(dimensions))
    return None if isinstance(found, str) else found


class Finisher:
    """Writes what is computed of an operand for its vectors."""

    def __init__(
        self,
        w: Writer,
        groups: tuple[Group, Group],
        body: Elementwise,
        operands: Sequence[Strided],
        lanes: int,
        scalars: str = "S",
    ) -> None:
        """
        Args:
            w: where the code is written.
            groups: the dimensions across the vectors of the operand, and those along them.
            body: what is computed.
            operands: the other operands, each in the place of C.
            lanes: of a vector.
            scalars: the names of the scalars, which are numbered.
        """
        self._w = w
        self._body = body
        self._operands = tuple(operands)
        self._lanes = lanes
        self._scalars = scalars
        self._spread = body.spread(w, [f"%{scalars}{at}" for at in range(len(body.scalars))], lanes)
        self._groups = groups
        self._rows = [groups[0].seen_by(each) for each in body.arguments]
        self._columns = [groups[1].seen_by(each) for each in body.arguments]

    @property
    def is_long(self) -> bool:
        """True where the epilogue is much code for each vector."""
        return self._body.payload.is_long

    def can_be_wide(self, lanes: int) -> bool:
        """Return whether the other operands can be read in vectors of `lanes` lanes."""
        return all(seen_in_vectors(self._groups[1], each, lanes) for each in self._body.arguments)

    def wide(self, lanes: int) -> Finisher:
        """The same for vectors of `lanes` lanes."""
        operands = [operand.with_lanes(lanes) for operand in self._operands]
        return Finisher(self._w, self._groups, self._body, operands, lanes, self._scalars)

    def moved(self, dimension: str, index: Index) -> Finisher:
        """The same at an index of a batch dimension."""
        moved = copy(self)
        moved._operands = tuple(operand.moved(dimension, index) for operand in self._operands)
        return moved

    def __call__(self, value: str, row: Index, column: Index, limit: Index | None) -> str:
        """Emit the epilogue of a vector of C, whose first lane is at a row and column."""
        w = self._w
        values = [value]
        for number, operand in enumerate(self._operands):
            offset = operand.offset(self._rows[number], row)
            values.append(self._loaded(operand, self._columns[number], offset, column, limit))
        return self._body.payload.write(w, [*values, *self._spread], self._lanes)

    def _loaded(
        self, operand: Strided, columns: Group, offset: Index, column: Index, limit: Index | None
    ) -> str:
        w, memory = self._w, operand.memory
        if all(segment.stride == 0 for segment in columns.segments("C")):
            scalar = memory.load(w.add(operand.base, offset))
            return w.op(f"vector.broadcast {scalar} : {memory.element} to {memory.vector}")
        count = columns.pieces("C", self._lanes)
        return operand.load_pieces(operand.pieces(columns, column, count, limit), offset)


def fits(problem: Problem, epilogue: Elementwise, lanes: int) -> bool:
    """Return whether vectors of the epilogue's other operands can be loaded or broadcast."""
    return all(seen_in_vectors(problem.columns, each, lanes) for each in epilogue.arguments)


def seen_in_vectors(group: Group, argument: Argument, lanes: int) -> bool:
    """Return whether an operand can be read in vectors along a group, or is constant along it."""
    seen = group.seen_by(argument)
    is_constant = all(segment.stride == 0 for segment in seen.segments("C"))
    return is_constant or 0 < seen.pieces("C", lanes) <= _MOST_PIECES
