"""How the loops of an entry can be cut into slices that share no memory that is written.

Each op is cut along one of its parallel loops. A buffer that some op writes must be reached through
that loop alone along one of its axes, the same axis in every op: then a slice reads nothing that
another slice writes, and slices run side by side, or one after another, without waiting.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import TargetError
from linalg_ext.target import Target, current
from linalg_ext.target.model import element_bits

_VIEWS = frozenset(
    {"memref.cast", "memref.collapse_shape", "memref.expand_shape", "memref.subview"}
)
_SOURCES = frozenset({"memref.alloc", "memref.get_global"})
_IGNORED = frozenset({"memref.dealloc", "func.return"})

_LONG = 32
"""Steps of a loop from which on it is cut in preference to a longer one."""

_CYCLES = 3.0
"""Cycles of a core in a nanosecond, about."""

_FUNCTION_CYCLES = 20.0
"""Cycles that a vector of values of exp, tanh and the like takes."""

_LINE = 64
"""Bytes of a line of a cache."""

_UNEVEN = 16
"""A slice may be longer than another by one part in so many, to begin where a cache line does."""

_FAR, _NEAR = 20.0, 100.0
"""Bytes that a core moves in a nanosecond, from memory and from its second cache."""

Linear = Mapping[int, int]
"""The coefficient of each loop in an index."""


@dataclass
class Access:
    """An operand of an op.

    Attributes:
        buffer: what it belongs to, by its number.
        indices: along each axis a sum of loops; None where it is something else.
        element_bytes: of its buffer.
    """

    buffer: int
    indices: tuple[Linear | None, ...]
    is_written: bool
    element_bytes: int


@dataclass
class Step:
    """A structured op: its loops and what it reaches.

    Attributes:
        extents: of each loop.
        parallel: which loops are.
        fixed: loops that the body asks the position of.
        functions: how often the body calls a function such as exp.
        operations: how many other operations it has.
    """

    op: Any
    extents: tuple[int, ...]
    parallel: frozenset[int]
    fixed: frozenset[int]
    accesses: tuple[Access, ...]
    functions: int
    operations: int

    @property
    def is_contraction(self) -> bool:
        """Whether it sums products of two operands."""
        return len(self.parallel) < len(self.extents) and len(self.accesses) > 2

    def nanoseconds(self, target: Target) -> float:
        """About what it takes one core."""
        moved = sum(
            access.element_bytes * _reached(access, self.extents) for access in self.accesses
        )
        rate = _NEAR if moved <= target.cache(2).size else _FAR
        lanes = target.vector_bits // 8 // min(a.element_bytes for a in self.accesses)
        cycles = _FUNCTION_CYCLES * self.functions + self.operations / target.fma_units / 2
        return max(moved / rate, math.prod(self.extents) / lanes * cycles / _CYCLES)

    def bytes_of_slice(self, loop: int, slices: int) -> int:
        """What one of so many slices along a loop reaches."""
        extents = list(self.extents)
        extents[loop] = -(-extents[loop] // slices)
        return sum(access.element_bytes * _reached(access, extents) for access in self.accesses)

    def granule(self, loop: int) -> int:
        """Steps of a loop that fill a line of a cache, where a line lies along the loop; else 1."""
        return max(
            (
                max(1, _LINE // access.element_bytes)
                for access in self.accesses
                if access.indices and (access.indices[-1] or {}).get(loop) == 1
            ),
            default=1,
        )


@dataclass
class Work:
    """The steps of an entry, and the loop that each is cut along.

    Attributes:
        buffers: what is reached: arguments, constants and allocations.
        loops: for each step the loop that is cut.
        axes: for each buffer that is written, by its number, the axis that is cut.
    """

    steps: list[Step] = field(default_factory=list)
    buffers: list[Any] = field(default_factory=list)
    loops: list[int] = field(default_factory=list)
    axes: dict[int, int] = field(default_factory=dict)

    def nanoseconds(self, target: Target) -> float:
        """About what all steps take one core."""
        return sum(step.nanoseconds(target) for step in self.steps)

    @property
    def packs(self) -> bool:
        """Whether a slice does over again what others did: it packs what it shares with them."""
        return any(step.is_contraction for step in self.steps)

    @property
    def extent(self) -> int:
        """Of the loops that are cut.

        They are all along an axis of one buffer, or of buffers that one step writes side by side.
        """
        return self.steps[0].extents[self.loops[0]]

    @property
    def cuts(self) -> Cuts:
        """How the loops can be cut."""
        steps = zip(self.steps, self.loops, strict=True)
        return Cuts(self.extent, max(step.granule(loop) for step, loop in steps))


@dataclass(frozen=True)
class Cut:
    """A loop in slices of `size` steps, but for the last one of `last`."""

    slices: int
    size: int
    last: int


@dataclass(frozen=True)
class Cuts:
    """How a loop can be cut.

    Attributes:
        extent: its steps.
        granule: steps of which a slice should be a multiple.
    """

    extent: int
    granule: int

    def into(self, slices: int) -> Cut:
        """As nearly as can be into so many slices, never more."""
        size = -(-self.extent // slices)
        if size >= _UNEVEN * self.granule:
            size = -(-size // self.granule) * self.granule
        # Of 9 steps for 4 slices: 3, 3 and 3. No slice of a fourth would be shorter.
        count = -(-self.extent // size)
        return Cut(count, size, self.extent - size * (count - 1))


def find_work(entry: ir.Operation) -> Work | str:
    """How the work of an entry on buffers can be cut, or why it cannot.

    Args:
        entry: a func.func of one block: structured ops on memrefs of static shapes, allocations,
            and scalars.
    """
    if len(entry.regions[0].blocks) != 1:
        return "it branches"
    work = _read(entry.regions[0].blocks[0])
    if isinstance(work, str):
        return work
    if not work.steps:
        return "it has no structured op"
    written = {a.buffer for step in work.steps for a in step.accesses if a.is_written}
    for number, buffer in enumerate(work.buffers):
        is_allocated = (
            not isinstance(buffer.owner, ir.Block) and buffer.owner.name == "memref.alloc"
        )
        if is_allocated and number not in written:
            return "a buffer is read that nothing writes"
    target = current()
    largest = max(range(len(work.steps)), key=lambda at: work.steps[at].nanoseconds(target))
    found = [
        cut
        for loop in _candidates(work.steps[largest])
        if (cut := _assign(work, written, largest, loop)) is not None
    ]
    if found:
        # What every slice reaches again is reached in vain; of equals an outer loop, for its slices
        # are whole in memory.
        long = [cut for cut in found if cut.extent >= _LONG]
        step = work.steps[largest]
        return (
            min(long, key=lambda cut: step.bytes_of_slice(cut.loops[largest], 2))
            if long
            else max(found, key=lambda cut: cut.extent)
        )
    return "no loop of its largest op reaches what is written along one axis alone"


def _read(block: Any) -> Work | str:
    work = Work(buffers=[a for a in block.arguments if isinstance(a.type, ir.MemRefType)])
    roots: list[tuple[Any, int]] = [(value, at) for at, value in enumerate(work.buffers)]
    viewed: set[int] = set()
    for op in block.operations:
        name = op.operation.name
        if name in _SOURCES:
            roots.append((op.operation.results[0], len(work.buffers)))
            work.buffers.append(op.operation.results[0])
        elif name in _VIEWS:
            root = _root(roots, op.operation.operands[0])
            if root is None:
                return f"{name} is of an unknown buffer"
            roots.append((op.operation.results[0], root))
            viewed.add(root)
        elif name in ("linalg.generic", "memref.copy"):
            step = _step(op.operation, roots)
            if isinstance(step, str):
                return step
            work.steps.append(step)
        elif name not in _IGNORED and not name.startswith(("arith.", "math.")):
            return f"it holds {name}"
    for step in work.steps:
        if any(access.is_written and access.buffer in viewed for access in step.accesses):
            return "a buffer that is written is seen through a view"
    return work


def _step(op: ir.Operation, roots: Sequence[tuple[Any, int]]) -> Step | str:
    operands = list(op.operands)
    if op.name == "memref.copy":
        if not all(isinstance(operand.type, ir.MemRefType) for operand in operands):
            return "it copies buffers of unknown rank"
        count, rank = 1, ir.ShapedType(operands[0].type).rank
        maps: list[Any] = [ir.AffineMap.get_identity(rank, op.context)] * 2
        parallel = frozenset(range(rank))
    else:
        segments = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
        count = segments[0]
        maps = [
            ir.AffineMapAttr(item).value for item in ir.ArrayAttr(op.attributes["indexing_maps"])
        ]
        kinds = [str(item) for item in ir.ArrayAttr(op.attributes["iterator_types"])]
        parallel = frozenset(at for at, kind in enumerate(kinds) if "parallel" in kind)
    body = _body(op)
    if len(op.results) or body.reaches_memory:
        return f"{op.name} reaches buffers that are not its operands"
    accesses: list[Access] = []
    extents: dict[int, int] = {}
    for position, (operand, map_) in enumerate(zip(operands, maps, strict=True)):
        type_ = operand.type
        indices = tuple(map(_linear, map_.results))
        if not isinstance(type_, ir.MemRefType):
            continue  # a scalar: every slice reads it
        root = _root(roots, operand)
        if root is None or not type_.has_static_shape or not _is_strided(type_):
            return f"{op.name} reaches a buffer of unknown shape or layout"
        element_bytes = _bytes_of(type_.element_type)
        accesses.append(Access(root, indices, position >= count, element_bytes))
        for axis, index in enumerate(indices):
            if index is not None and len(index) == 1 and 1 in index.values():
                extents[next(iter(index))] = type_.get_dim_size(axis)
    loops = maps[0].n_dims
    if set(extents) != set(range(loops)):
        return f"{op.name} has a loop of unknown extent"
    return Step(
        op,
        tuple(extents[loop] for loop in range(loops)),
        parallel,
        frozenset(body.positions),
        tuple(accesses),
        body.functions,
        body.operations,
    )


def _bytes_of(element: Any) -> int:
    if isinstance(element, ir.ComplexType):
        return 2 * _bytes_of(element.element_type)
    try:
        return max(1, element_bits(str(element)) // 8)
    except TargetError:  # a vector, or a type of somebody's own: only a cost hangs on it
        return _LINE


def _reached(access: Access, extents: Sequence[int]) -> int:
    """How many elements of its buffer an operand reaches, where the loops have these extents."""
    return math.prod(
        1 + sum(abs(factor) * (extents[loop] - 1) for loop, factor in (index or {}).items())
        for index in access.indices
    )


def _candidates(step: Step) -> list[int]:
    return [at for at in range(len(step.extents)) if at in step.parallel and at not in step.fixed]


def _assign(work: Work, written: set[int], first: int, loop: int) -> Work | None:
    """Cut `first` along `loop`, and every other step as that demands; None where it cannot be."""
    loops: dict[int, int] = {first: loop}
    axes: dict[int, int] = {}
    pending = [first]
    while pending:
        at = pending.pop()
        step = work.steps[at]
        for access in step.accesses:
            axis = _axis(access, loops[at])
            if axis is None:
                return None
            if access.buffer not in written:
                continue
            if axis < 0 or axes.setdefault(access.buffer, axis) != axis:
                return None
            for other, neighbour in enumerate(work.steps):
                for reached in neighbour.accesses:
                    if reached.buffer != access.buffer:
                        continue
                    index = reached.indices[axis]
                    if index is None or len(index) != 1 or 1 not in index.values():
                        return None
                    demanded = next(iter(index))
                    if demanded not in _candidates(neighbour):
                        return None
                    if other not in loops:
                        loops[other] = demanded
                        pending.append(other)
                    elif loops[other] != demanded:
                        return None
    if len(loops) != len(work.steps):
        return None
    return replace(work, loops=[loops[at] for at in range(len(work.steps))], axes=axes)


def _axis(access: Access, loop: int) -> int | None:
    """The axis that the loop runs along; -1 for none, None where that cannot be cut."""
    found = -1
    for axis, index in enumerate(access.indices):
        if index is None:
            return None
        if loop in index:
            if found >= 0 or index[loop] < 1:
                return None
            found = axis
    if found >= 0 and access.is_written and len(access.indices[found] or {}) != 1:
        return None
    return found


def _linear(expression: Any) -> Linear | None:
    """An index as a sum of loops; None where it is none, or has a constant part."""
    if isinstance(expression, ir.AffineDimExpr):
        return {expression.position: 1}
    if isinstance(expression, ir.AffineConstantExpr):
        return {} if expression.value == 0 else None
    if isinstance(expression, ir.AffineAddExpr):
        one, other = _linear(expression.lhs), _linear(expression.rhs)
        if one is None or other is None:
            return None
        return {at: one.get(at, 0) + other.get(at, 0) for at in {**one, **other}}
    if isinstance(expression, ir.AffineMulExpr) and isinstance(
        expression.rhs, ir.AffineConstantExpr
    ):
        scaled, factor = _linear(expression.lhs), expression.rhs.value
        return None if scaled is None else {at: c * factor for at, c in scaled.items()}
    return None


def _root(roots: Sequence[tuple[Any, int]], value: Any) -> int | None:
    return next((number for known, number in roots if known == value), None)


def _is_strided(type_: Any) -> bool:
    try:
        type_.get_strides_and_offset()
    except RuntimeError:
        return False
    return type_.memory_space is None


@dataclass
class _Body:
    """What the body of a structured op does.

    Attributes:
        positions: the loops whose position it asks.
        functions: how many operations of `math` it has.
        operations: how many of `arith`.
        reaches_memory: whether it reads memory of its own accord.
    """

    positions: set[int] = field(default_factory=set)
    functions: int = 0
    operations: int = 0
    reaches_memory: bool = False


def _body(op: ir.Operation) -> _Body:
    body = _Body()

    def visit(inner: Any) -> Any:
        if inner.name == "linalg.index":
            body.positions.add(ir.IntegerAttr(inner.attributes["dim"]).value)
        body.functions += inner.name.startswith("math.")
        body.operations += inner.name.startswith("arith.")
        if inner != op and any(isinstance(v.type, ir.MemRefType) for v in inner.operands):
            body.reaches_memory = True
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return body
