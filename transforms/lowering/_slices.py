"""How the loops of an entry can be cut into slices that share no memory that is written.

Each op is cut along one of its parallel loops. A buffer that some op writes must be reached through
that loop alone along one of its axes, the same axis in every op: then a slice reads nothing that
another slice writes, and slices run side by side, or one after another, without waiting.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.target import Target, current

from ._steps import Access, Step, root_of, step_of

_VIEWS = frozenset(
    {"memref.cast", "memref.collapse_shape", "memref.expand_shape", "memref.subview"}
)

_SOURCES = frozenset({"memref.alloc", "memref.get_global"})

_IGNORED = frozenset({"memref.dealloc", "func.return"})

_UNEVEN = 16
"""A slice may be longer than another by one part in so many, to begin where a cache line does."""


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
        """Of the loops that are cut: the same for all of them."""
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


def find_work(entry: ir.Operation, slices: int = 2) -> Work | str:
    """How the work of an entry on buffers can be cut, or why it cannot.

    Args:
        slices: into how many.
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
        step = work.steps[largest]
        # Of equals an outer loop: its slices are whole in memory.
        return min(found, key=lambda cut: step.nanoseconds_of_slice(cut.loops[largest], slices))
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
            root = root_of(roots, op.operation.operands[0])
            if root is None:
                return f"{name} is of an unknown buffer"
            roots.append((op.operation.results[0], root))
            viewed.add(root)
        elif name in ("linalg.generic", "memref.copy"):
            step = step_of(op.operation, roots)
            if isinstance(step, str):
                return step
            work.steps.append(step)
        elif name not in _IGNORED and not name.startswith(("arith.", "math.")):
            return f"it holds {name}"
    for step in work.steps:
        if any(access.is_written and access.buffer in viewed for access in step.accesses):
            return "a buffer that is written is seen through a view"
    return work


def _candidates(step: Step) -> list[int]:
    return [at for at in range(len(step.extents)) if at in step.parallel and at not in step.fixed]


def _assign(work: Work, written: set[int], first: int, loop: int) -> Work | None:
    """Cut `first` along `loop`, and every other step as that demands; None where it cannot be."""
    loops: dict[int, int] = {}
    axes: dict[int, int] = {}
    extent = work.steps[first].extents[loop]
    if not _spread(work, written, first, loop, loops, axes):
        return None
    for at, step in enumerate(work.steps):
        if at in loops:
            continue
        # It shares nothing that is written with those before: any of its loops, if it is as long.
        for other in _candidates(step):
            more, further = dict(loops), dict(axes)
            if step.extents[other] == extent and _spread(work, written, at, other, more, further):
                loops, axes = more, further
                break
        else:
            return None
    return replace(work, loops=[loops[at] for at in range(len(work.steps))], axes=axes)


def _spread(
    work: Work,
    written: set[int],
    first: int,
    loop: int,
    loops: dict[int, int],
    axes: dict[int, int],
) -> bool:
    """Cut a step along a loop, and what shares with it what is written; whether that can be."""
    loops[first] = loop
    pending = [first]
    while pending:
        at = pending.pop()
        for access in work.steps[at].accesses:
            axis = _axis(access, loops[at])
            if axis is None:
                return False
            if access.buffer not in written:
                continue
            if axis < 0 or axes.setdefault(access.buffer, axis) != axis:
                return False
            for other, neighbour in enumerate(work.steps):
                for reached in neighbour.accesses:
                    if reached.buffer != access.buffer:
                        continue
                    index = reached.indices[axis]
                    if index is None or len(index) != 1 or 1 not in index.values():
                        return False
                    demanded = next(iter(index))
                    if demanded not in _candidates(neighbour):
                        return False
                    if other not in loops:
                        loops[other] = demanded
                        pending.append(other)
                    elif loops[other] != demanded:
                        return False
    return True


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
