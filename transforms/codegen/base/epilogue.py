"""Epilogues: element-wise work on the result of an op, done while it is in registers.

A bias, an activation, a residual, a quantization: one `linalg.generic` behind a contraction or an
op on windows. It reads each element of the result at its own indices, other operands along some of
its dimensions, and scalars. The result of a contraction may have another type than its sums, which
are then never in memory: the depth is one block.
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
from linalg_ext.transforms.ir_utils.generics import maps_of, output_of
from linalg_ext.transforms.ir_utils.module_functions import Functions
from linalg_ext.transforms.ir_utils.walking import ops_of, producer

from .flat_memory import Strided
from .payload import Elementwise, captured_scalars, read_elementwise
from .problem import Argument, Group, argument_of
from .writer import Index, Writer

_MOVABLE = ("arith.constant", "memref.alloc", "memref.get_global")

_MOST_PIECES = 3


@dataclass(frozen=True)
class EpilogueMatch:
    """An epilogue in IR: its op, the buffer of its result, its other operands and the scalars."""

    epilogue: Elementwise
    op: Any
    destination: Any
    values: tuple[Any, ...]


def find_epilogue(op: Any, dims: Sequence[str], zeros: Any) -> EpilogueMatch | None:
    """Return the element-wise op that reads the result of an op and can be fused; None if absent.

    Args:
        op: an op that overwrites its result, in a buffer that no other op reads.
        dims: the dimension of each axis of its result.
        zeros: the op that fills the result before.
    """
    *inputs, output = op.operands
    reader, fills = _next_user(op, output)
    if reader is None or reader.name != "linalg.generic" or len(reader.results):
        return None
    if not may_be_fused(op, reader):
        return None
    destination = output_of(reader)
    touched = [buffer_of(value) for value in reader.operands]
    if any(buffer_of(output_of(fill)) in touched for fill in fills):
        return None
    if destination != output and not _dies(output, {op, reader, zeros}):
        return None
    maps = maps_of(reader)
    names = _names(maps[-1], dims)
    if names is None or maps[0].n_dims != len(dims):
        return None
    elements: list[Any] = []
    values: list[Any] = []
    arguments: list[tuple[Any, Argument]] = []
    scalars = captured_scalars(reader)
    inner = reader.regions[0].blocks[0].arguments
    for operand, map_, element in zip(reader.operands, maps, inner, strict=True):
        if operand == output:
            if map_ != maps[-1]:
                return None
            elements.append(element)
        elif operand in scalars:
            continue
        elif operand != destination:  # its old content is read: not an epilogue
            argument = _argument(operand, map_, names)
            if argument is None:
                return None
            values.append(operand)
            arguments.append((element, argument))
    if not all(_comes_before(value, op) for value in (destination, *values, *scalars)):
        return None
    read = [value for value in inputs if isinstance(value.type, ir.ShapedType)] + values
    if any(buffer_of(value) == buffer_of(destination) for value in read):
        return None
    epilogue = read_elementwise(reader, elements, arguments, scalars)
    if epilogue is None:
        return None
    return EpilogueMatch(epilogue, reader, destination, (*values, *scalars))


def _next_user(op: Any, output: Any) -> tuple[Any, list[Any]]:
    """Return the next op that reads or writes the result, and the fills before it.

    Only fills may stand between: another op might read the destination, which is written earlier.
    """
    siblings = ops_of(op.block)
    fills: list[Any] = []
    for sibling in siblings[siblings.index(op) + 1 :]:
        if not leaves_alone(sibling, output):
            return sibling, fills
        if fills_fresh(sibling):
            fills.append(sibling)
        elif sibling.name not in _MOVABLE and sibling.name not in PURE_VIEW_OPS:
            break
    return None, []


def _comes_before(value: Any, op: Any) -> bool:
    """Return whether a value dominates an op, or can be moved before it."""
    owner = producer(value)
    if owner is None or owner.block != op.block or owner.is_before_in_block(op):
        return True
    if owner.name in PURE_VIEW_OPS:
        return all(_comes_before(operand, op) for operand in owner.operands)
    return owner.name in _MOVABLE and not len(owner.operands)


def move_before(values: Iterable[Any], op: Any) -> None:
    """Move the ops of values, and of their operands, before an op."""
    for value in values:
        owner = producer(value)
        if owner is not None and owner.block == op.block and op.is_before_in_block(owner):
            move_before(owner.operands, op)
            owner.move_before(op)


def call_in_place(
    functions: Functions, name: str, operands: Sequence[Any], op: Any, fill: Any,
    match: EpilogueMatch | None, pending: list[Any],
) -> None:  # fmt: skip
    """Replace an op, with its fill and its epilogue if it has them, by the call of a function.

    The buffer between op and epilogue goes, too. The epilogue leaves the pending ops.
    """
    output = output_of(op)
    if match is not None:
        move_before((match.destination, *match.values), op)
    functions.call(name, operands, [op] if match is None else [op, match.op])
    if fill is not None:
        fill.erase()
    op.erase()
    if match is None:
        return
    if match.op in pending:
        pending.remove(match.op)
    match.op.erase()
    if match.destination != output:
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
    """Return the dimension of each loop of an element-wise op, by the map of its result."""
    if not map_.is_permutation or len(map_.results) != len(dims):
        return None
    positions = [ir.AffineDimExpr(result).position for result in map_.results]
    return dict(zip(positions, dims, strict=True))


def _argument(value: Any, map_: Any, names: Mapping[int, str]) -> Argument | None:
    if not isinstance(value.type, ir.MemRefType):
        return None
    dimensions = []
    for axis, result in enumerate(map_.results):
        if isinstance(result, ir.AffineDimExpr):
            dimensions.append(names[result.position])
        elif result == ir.AffineExpr.get_constant(0):
            dimensions.append(f"one {axis}")  # no dimension of the result has this name
        else:
            return None
    argument = argument_of(value, tuple(dimensions))
    return None if isinstance(argument, str) else argument


class ElementwiseEmitter:
    """The writer of an element-wise computation on the vectors of an operand."""

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
            w: the writer of the code.
            groups: the dimensions across the vectors of the operand, and those along them.
            body: the computation.
            operands: the other operands, each in the place of C.
            lanes: the lanes of a vector.
            scalars: the prefix of the names of the scalars, which are numbered.
        """
        self._w = w
        self._body = body
        self._operands = tuple(operands)
        self._lanes = lanes
        self._scalars = scalars
        names = [f"%{scalars}{number}" for number in range(len(body.scalars))]
        self._scalar_vectors = body.broadcast_scalars(w, names, lanes)
        self._groups = groups
        self._rows = [groups[0].of_argument(argument) for argument in body.arguments]
        self._columns = [groups[1].of_argument(argument) for argument in body.arguments]

    @property
    def is_long(self) -> bool:
        """True where the computation is much code for each vector."""
        return self._body.payload.is_long

    def can_be_wide(self, lanes: int) -> bool:
        """Return whether the other operands can be read in vectors of `lanes` lanes."""
        return reads_in_vectors(self._groups[1], self._body, lanes)

    def wide(self, lanes: int) -> ElementwiseEmitter:
        """Return the emitter for vectors of `lanes` lanes."""
        operands = [operand.with_lanes(lanes) for operand in self._operands]
        return ElementwiseEmitter(self._w, self._groups, self._body, operands, lanes, self._scalars)

    def moved(self, dimension: str, index: Index) -> ElementwiseEmitter:
        """Return the emitter at an index of a batch dimension."""
        moved = copy(self)
        moved._operands = tuple(operand.moved(dimension, index) for operand in self._operands)
        return moved

    def __call__(self, value: str, row: Index, column: Index, limit: Index | None) -> str:
        """Write the computation on a vector, whose first lane is at a row and column."""
        values = [value]
        for number, operand in enumerate(self._operands):
            offset = operand.offset(self._rows[number], row)
            values.append(self._loaded(operand, self._columns[number], offset, column, limit))
        return self._body.payload.write(self._w, [*values, *self._scalar_vectors], self._lanes)

    def _loaded(
        self, operand: Strided, columns: Group, offset: Index, column: Index, limit: Index | None
    ) -> str:
        w, memory = self._w, operand.memory
        if all(segment.stride == 0 for segment in columns.segments("C")):
            scalar = memory.load(w.add(operand.base, offset))
            return w.broadcast(scalar, memory.element, memory.vector)
        count = columns.pieces("C", self._lanes)
        return operand.load_pieces(operand.pieces(columns, column, count, limit), offset)


def reads_in_vectors(group: Group, body: Elementwise, lanes: int) -> bool:
    """Return whether vectors of the other operands along a group can be loaded or broadcast."""
    return all(
        all(segment.stride == 0 for segment in operand_group.segments("C"))
        or 0 < operand_group.pieces("C", lanes) <= _MOST_PIECES
        for operand_group in map(group.of_argument, body.arguments)
    )
