"""The structured ops of an entry on buffers: their loops, accesses and costs.

Arguments of an entry and allocations do not alias. A buffer that a loop carries is the one that the
loop began with, or one that the iteration before allocated. It does not alias either, as long as no
op in the loop reaches the first buffer by another name.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.notations.affine_text import affine_map
from linalg_ext.structured.maps import indexing_maps
from linalg_ext.symbolic.affine import AffineExpr, AffineMap, linear_terms
from linalg_ext.target import Figures, Target, current
from linalg_ext.target.analytic import NEST, busy_core
from linalg_ext.transforms.analysis.buffers import (
    Buffer,
    buffer_of,
    element_bytes,
    is_one_to_one,
    uses_of,
)
from linalg_ext.transforms.analysis.operation_kinds import operation_kind
from linalg_ext.transforms.ir_utils.arithmetic import strides_of
from linalg_ext.transforms.ir_utils.generics import input_count, loop_of, parallel_loops
from linalg_ext.transforms.ir_utils.walking import ancestor_in, producer

_USUAL_SIZE = 1024
"""The size assumed for a dynamic dimension when costs are compared."""

Linear = Mapping[int, int]
"""The coefficient of each loop in an index."""


@dataclass(frozen=True, eq=False)
class Access:
    """An operand of an op.

    Attributes:
        value: the operand.
        buffer: the buffer that the operand is, or is a view of.
        indices: for each axis a sum of loops; None for any other index.
        element_bytes: the bytes of an element of the buffer.
    """

    value: Any
    buffer: Any
    indices: tuple[Linear | None, ...]
    is_written: bool
    element_bytes: int

    @property
    def bytes(self) -> int:
        """The bytes of the operand, with `_USUAL_SIZE` for each dynamic size."""
        type_ = self.value.type
        sizes = (
            _USUAL_SIZE if type_.is_dynamic_dim(at) else type_.get_dim_size(at)
            for at in range(type_.rank)
        )
        return self.element_bytes * math.prod(sizes)

    @property
    def unit_stride_loop(self) -> int | None:
        """The loop that moves by one element along the last axis; None if absent."""
        last = self.indices[-1] if self.indices else None
        return next((loop for loop, factor in (last or {}).items() if factor == 1), None)

    def has(self, loop: int) -> bool:
        """Return whether an index depends on a loop, or may depend on it."""
        return any(index is None or loop in index for index in self.indices)


@dataclass(frozen=True, eq=False)
class Step:
    """A structured op: its loops and its accesses.

    Attributes:
        sizes: the extent of each loop; None where it is dynamic.
        measures: for each loop an operand and an axis of it that has the same extent.
        parallel: the parallel loops.
        fixed: loops whose position the body reads.
        operations: the number of operations of each kind in the body.
    """

    op: Any
    sizes: tuple[int | None, ...]
    measures: tuple[tuple[Any, int], ...]
    parallel: frozenset[int]
    fixed: frozenset[int]
    accesses: tuple[Access, ...]
    operations: Mapping[str, int]

    @property
    def extents(self) -> tuple[int, ...]:
        """The extent of each loop, with `_USUAL_SIZE` for each that is dynamic."""
        return tuple(_USUAL_SIZE if size is None else size for size in self.sizes)

    @property
    def is_open(self) -> bool:
        """True where the extent of a loop is dynamic."""
        return None in self.sizes

    @property
    def fills(self) -> bool:
        """True where the op reads no buffer as an input."""
        return all(access.is_written for access in self.accesses)

    @property
    def candidates(self) -> list[int]:
        """The loops along which the op may be cut."""
        return [at for at in range(len(self.sizes)) if at in self.parallel - self.fixed]

    @property
    def is_contraction(self) -> bool:
        """True for a reduction of two inputs or more, none of which has all parallel loops."""
        inputs = [access for access in self.accesses if not access.is_written]
        return (
            len(self.parallel) < len(self.sizes)
            and len(inputs) > 1
            and not any(all(map(access.has, self.parallel)) for access in inputs)
        )

    @cached_property
    def _moved(self) -> int:
        """The bytes that the op reaches; cached, since each way to share the op needs them."""
        return sum(
            access.element_bytes * _reached(access, self.extents) for access in self.accesses
        )

    def nanoseconds(self, target: Target) -> float:
        """Estimate the time of the op on one core."""
        rates = figures(target)
        moving = self._moved / rates.level_of(self._moved).read
        # A vector has twice as many elements that are half as wide as f32.
        width = min(access.element_bytes for access in self.accesses) / 4
        point = sum(
            count / rates.function_rate(kind, "f32") for kind, count in self.operations.items()
        )
        return 1e9 * max(moving, math.prod(self.extents) * width * point)

    def nanoseconds_of_slice(self, loop: int, slices: int) -> float:
        """Estimate the time of one core for the longest of `slices` slices along a loop."""
        extent = max(1, self.extents[loop])
        alone = self.nanoseconds(current()) * -(-extent // slices) / extent
        if self.is_contraction:
            memory = figures(current()).levels[-1]
            return alone + 1e9 * self._repeated(loop) * (1 / memory.read + 1 / memory.write)
        is_whole = len(self.extents) == 1 or all(
            access.unit_stride_loop != loop for access in self.accesses
        )
        return alone if is_whole else alone * NEST.pieces_price

    def _repeated(self, loop: int) -> float:
        """Return the price, in bytes, of the operands that all slices along a loop reach."""
        (columns,) = [a.unit_stride_loop for a in self.accesses if a.is_written][:1] or [None]
        price = 0.0
        for access in self.accesses:
            if not access.is_written and not access.has(loop):
                is_panel = columns is not None and access.has(columns)
                weight = NEST.panel_price if is_panel else 1.0
                price += weight * access.element_bytes * _reached(access, self.extents)
        return price

    def reaches(self, buffer: Any) -> bool:
        """Return whether an access is to a buffer, or to a view of it."""
        return any(access.buffer == buffer for access in self.accesses)

    def granule(self, loop: int) -> int:
        """Return the steps of a loop that fill a cache line, where a line lies along it; else 1."""
        return max(
            (
                max(1, current().cache(1).line // access.element_bytes)
                for access in self.accesses
                if access.unit_stride_loop == loop
            ),
            default=1,
        )


def step_of(op: ir.Operation) -> Step | str:
    """Return a structured op as a step, or the reason for which it cannot be cut."""
    operands = list(op.operands)
    if op.name == "memref.copy":
        if not all(isinstance(operand.type, ir.MemRefType) for operand in operands):
            return "the copied buffers are of unknown rank"
        count, rank = 1, ir.ShapedType(operands[0].type).rank
        maps = [affine_map(ir.AffineMap.get_identity(rank, op.context))] * 2
        parallel = frozenset(range(rank))
    else:
        count, maps = input_count(op), indexing_maps(op)
        parallel = frozenset(at for at, is_one in enumerate(parallel_loops(op)) if is_one)
    positions, operations, reaches_memory = _body(op)
    if len(op.results) or reaches_memory:
        return f"{op.name} reaches buffers that are not its operands"
    accesses: list[Access] = []
    sizes: dict[int, int | None] = {}
    measures: dict[int, tuple[Any, int]] = {}
    for position, (operand, map_) in enumerate(zip(operands, maps, strict=True)):
        type_ = operand.type
        indices = tuple(_sum_of_loops(map_, index) for index in map_.results)
        if not isinstance(type_, ir.MemRefType):
            continue  # a scalar: every slice reads it
        buffer = buffer_of(operand)
        if not may_be_read(buffer) or not _is_strided(type_):
            return f"{op.name} reaches a buffer of unknown origin or layout"
        if position >= count and not (may_be_written(buffer) and is_one_to_one(operand)):
            return f"{op.name} writes a buffer that is global, or that a loop carries"
        width = element_bytes(type_.element_type)
        accesses.append(Access(operand, buffer.value, indices, position >= count, width))
        for axis, index in enumerate(indices):
            if index is not None and len(index) == 1 and 1 in index.values():
                (loop,) = index
                size = None if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
                if sizes.get(loop) is None and (size is not None or loop not in sizes):
                    sizes[loop], measures[loop] = size, (operand, axis)
    loops = len(maps[0].dims)
    if set(sizes) != set(range(loops)):
        return f"{op.name} has a loop of unknown extent"
    return Step(
        op,
        tuple(sizes[loop] for loop in range(loops)),
        tuple(measures[loop] for loop in range(loops)),
        parallel,
        positions,
        tuple(accesses),
        operations,
    )


@functools.lru_cache(maxsize=16)
def figures(target: Target) -> Figures:
    """Return the measured figures of a target, or those of a busy core where none are measured.

    The bounds in `_partition` from which on threads are used were tuned with the latter.
    """
    return target.figures or busy_core(target)


def _reached(access: Access, extents: Sequence[int]) -> int:
    """Return the number of elements that an operand reaches, where the loops have `extents`."""
    return math.prod(
        1 + sum(abs(factor) * (extents[loop] - 1) for loop, factor in (index or {}).items())
        for index in access.indices
    )


def _sum_of_loops(map_: AffineMap, index: AffineExpr) -> Linear | None:
    """Return an index as a sum of loops; None if it is not one, or has a constant part."""
    linear = linear_terms(index)
    if linear is None or linear[1]:
        return None
    return {map_.dims.index(dim): factor for dim, factor in linear[0].items()}


def _is_strided(type_: Any) -> bool:
    return type_.memory_space is None and strides_of(type_) is not None


def _body(op: ir.Operation) -> tuple[frozenset[int], Counter[str], bool]:
    """Read the body of a structured op.

    Returns:
        The loops whose position it reads, the number of its operations of each kind, and True where
        an op in it has a memref operand.
    """
    positions: set[int] = set()
    operations: Counter[str] = Counter()
    reaches_memory = False

    def visit(inner: Any) -> Any:
        nonlocal reaches_memory
        if inner.name == "linalg.index":
            positions.add(loop_of(inner))
        kind = operation_kind(inner.name)
        if kind is not None and inner.name.startswith(("arith.", "math.")):
            operations[kind] += 1
        if inner != op and any(isinstance(v.type, ir.MemRefType) for v in inner.operands):
            reaches_memory = True
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return frozenset(positions), operations, reaches_memory


def may_be_read(buffer: Buffer) -> bool:
    """Return whether only views of a buffer may write its memory."""
    return buffer.kind != "unknown" or _is_carried_apart(buffer.value)


def may_be_written(buffer: Buffer) -> bool:
    """Return whether a buffer is an allocation or an argument.

    An allocation has no alias, and the call checks the aliases of an argument.
    """
    return buffer.kind in ("allocation", "argument")


def _is_carried_apart(argument: Any) -> bool:
    """Return whether an `scf.for` carries a block argument that nothing in the loop aliases."""
    body = argument.owner
    if not isinstance(body, ir.Block):
        return False
    loop = body.owner.operation
    if loop.name != "scf.for":
        return False
    pending, visited = [argument], {argument}
    while pending:
        for origin in _handed_on(loop, pending.pop()):
            if origin.value.owner == body:
                if origin.value not in visited:
                    pending.append(origin.value)
                    visited.add(origin.value)
            elif not (_is_fresh(origin, body) or _is_left_alone(origin, loop)):
                return False
    return True


def _handed_on(loop: Any, argument: Any) -> list[Buffer]:
    """Return the buffers that a carried one is in the first iteration, and in the others."""
    carried = argument.arg_number - 1
    operands = list(loop.operands)
    ended = list(argument.owner.operations)[-1].operation
    return [buffer_of(operands[3 + carried]), buffer_of(list(ended.operands)[carried])]


def _is_fresh(buffer: Buffer, body: Any) -> bool:
    """Return whether each iteration of a loop allocates the buffer."""
    op = producer(buffer.value)
    return op is not None and op.name == "memref.alloc" and bool(op.block == body)


def _is_left_alone(buffer: Buffer, loop: Any) -> bool:
    """Return whether an allocation or argument is used by no op inside a loop."""
    users = [use.owner.operation for use in uses_of(buffer.value)]
    return may_be_written(buffer) and all(
        user == loop or ancestor_in(loop.regions[0].blocks[0], user) is None for user in users
    )
