"""The partition of a row of structured ops into slices that share no memory that is written.

Each op is cut along one of its parallel loops. A buffer that some op writes must be reached through
that loop alone along one of its axes, the same axis in every op. Then a slice reads nothing that
another slice writes, and slices run in parallel, or one after another, without waiting.

No op between two ops of a row accesses memory. A row is divided into regions. The ops of a region
are cut into slices together. A region begins when the one before is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.structured.group import may_be_fused
from linalg_ext.target import Target, current
from linalg_ext.transforms.analysis.buffers import TOUCH_NOTHING

from ._work_steps import Access, Step, figures, step_of

WORTH_SHARING = 30_000.0
"""Work, in nanoseconds of one core, from which on more than one thread is used.

To share a loop takes 3 us. A thread that still waits for the next loop begins at once. One that
sleeps begins after 10 us or more, while the caller goes on with the slices. Data in the caches take
half the estimated time.
"""

LEAST_SLICE = 8_000.0
"""Nanoseconds of a slice: fewer threads are used rather than do less each."""

SLICES_EACH = 4
"""Slices for each thread, if they repeat no work: a disturbed thread does fewer of them."""

UNEVEN = 16
"""A slice may be longer than another by one part in `UNEVEN`, to begin where a cache line does."""


@dataclass(frozen=True)
class Work:
    """Steps, and the loop that each is cut along.

    Attributes:
        loops: for each step the loop that is cut.
        axes: for each buffer that is written the axis that is cut.
    """

    steps: tuple[Step, ...]
    loops: tuple[int, ...]
    axes: dict[Any, int]

    def nanoseconds(self, target: Target) -> float:
        """Return the estimated time of all steps on one core."""
        return sum(step.nanoseconds(target) for step in self.steps)

    def nanoseconds_of_slice(self, slices: int) -> float:
        """Return the estimated time of the longest of `slices` slices on one core."""
        pairs = zip(self.steps, self.loops, strict=True)
        return sum(step.nanoseconds_of_slice(loop, slices) for step, loop in pairs)

    @property
    def is_open(self) -> bool:
        """True where a loop of a step is of dynamic extent."""
        return any(step.is_open for step in self.steps)

    @property
    def packs(self) -> bool:
        """True where slices repeat work: each packs the operands that it shares with others."""
        return any(step.is_contraction for step in self.steps)

    @property
    def extent(self) -> int | None:
        """The common extent of the loops that are cut; None if it is known only at run time."""
        sizes = [step.sizes[loop] for step, loop in zip(self.steps, self.loops, strict=True)]
        return next((size for size in sizes if size is not None), None)

    @property
    def granule(self) -> int:
        """The number of steps that should divide the size of a slice."""
        steps = zip(self.steps, self.loops, strict=True)
        return max(step.granule(loop) for step, loop in steps)

    def slices(self, threads: int, target: Target) -> Cut | None:
        """Return the slices for `threads` threads; None for open sizes, or too little work."""
        took = self.nanoseconds(target)
        if self.is_open or self.extent is None or took < WORTH_SHARING or self.extent < 2:
            return None
        most = max(2, int(took / LEAST_SLICE))
        busy = min(threads, most)
        count = busy if self.packs else busy * max(1, min(SLICES_EACH, most // busy))
        cut = cut_into(self.extent, self.granule, count)
        return cut if cut.slices > 1 else None


@dataclass(frozen=True)
class Cut:
    """A loop in slices of `size` steps, but for the last one of `last`."""

    slices: int
    size: int
    last: int


def cut_into(extent: int, granule: int, slices: int) -> Cut:
    """Cut a loop into nearly `slices` slices, and never more.

    Args:
        extent: the steps of the loop.
        granule: the number of steps that should divide the size of a slice.
        slices: the most slices.
    """
    size = -(-extent // slices)
    if size >= UNEVEN * granule:
        size = -(-size // granule) * granule
    # 9 steps for 4 slices are 3, 3 and 3: with a fourth slice none would be shorter.
    count = -(-extent // size)
    return Cut(count, size, extent - size * (count - 1))


def find_work(steps: Sequence[Step], slices: int) -> Work | None:
    """Return the best way to cut steps into about `slices` slices; None if absent."""
    target = current()
    written = {a.buffer for step in steps for a in step.accesses if a.is_written}
    largest = max(range(len(steps)), key=lambda at: steps[at].nanoseconds(target))
    ways = [_assign(steps, written, largest, loop) for loop in steps[largest].candidates]
    # The outermost of equal loops: its slices are whole in memory.
    return min(filter(None, ways), key=lambda work: work.nanoseconds_of_slice(slices), default=None)


def _assign(steps: Sequence[Step], written: set[Any], first: int, loop: int) -> Work | None:
    """Cut `first` along `loop`, and every other step as that demands; None if one cannot be cut."""
    loops: dict[int, int] = {}
    axes: dict[Any, int] = {}
    size = steps[first].sizes[loop]
    if not _spread(steps, written, first, loop, loops, axes):
        return None
    for at, step in enumerate(steps):
        if at in loops:
            continue
        # The step shares no written memory with those before: any loop of the same extent will do.
        for candidate in step.candidates:
            more, further = dict(loops), dict(axes)
            is_as_long = size is not None and step.sizes[candidate] == size
            if is_as_long and _spread(steps, written, at, candidate, more, further):
                loops, axes = more, further
                break
        else:
            return None
    return Work(tuple(steps), tuple(loops[at] for at in range(len(steps))), axes)


def _spread(
    steps: Sequence[Step],
    written: set[Any],
    first: int,
    loop: int,
    loops: dict[int, int],
    axes: dict[Any, int],
) -> bool:
    """Cut a step along a loop, and the steps that share written memory with it.

    Returns:
        False where one of them cannot be cut.
    """
    loops[first] = loop
    pending = [first]
    while pending:
        at = pending.pop()
        for access in steps[at].accesses:
            axis = _axis(access, loops[at])
            if axis is None:
                return False
            if access.buffer not in written:
                continue
            if axis < 0 or axes.setdefault(access.buffer, axis) != axis:
                return False
            for other, neighbour in enumerate(steps):
                for reached in neighbour.accesses:
                    if reached.buffer != access.buffer:
                        continue
                    # An index of one view may mean another element in another.
                    index = reached.indices[axis] if reached.value == access.value else None
                    if index is None or len(index) != 1 or 1 not in index.values():
                        return False
                    demanded = next(iter(index))
                    if demanded not in neighbour.candidates:
                        return False
                    if other not in loops:
                        loops[other] = demanded
                        pending.append(other)
                    elif loops[other] != demanded:
                        return False
    return True


def _axis(access: Access, loop: int) -> int | None:
    """Return the axis that the loop runs along: -1 without one, None if it cannot be cut."""
    if None in access.indices:
        return None
    axes = {axis: index for axis, index in enumerate(access.indices) if loop in (index or {})}
    if not axes:
        return -1
    axis, index = next(iter(axes.items()))
    can_be_cut = len(axes) == 1 and index is not None and index[loop] > 0
    is_shared = access.is_written and len(index or {}) != 1
    return axis if can_be_cut and not is_shared else None


_MOST_STEPS = 24
"""The most steps of a region: the time to find its best cut grows with their square."""

STRUCTURED = frozenset({"linalg.generic", "memref.copy"})

_PARALLEL = frozenset({"scf.forall", "scf.parallel"})

_DEALLOC = "memref.dealloc"

_HARMLESS = TOUCH_NOTHING | {_DEALLOC}
"""Operations on buffers that neither read nor write one."""

_SCALAR = ("affine.", "arith.", "cf.assert", "complex.", "index.", "math.", "scf.", "vector.")
"""Name prefixes of operations that access memory only through operands that are buffers."""


@dataclass(eq=False)
class Row:
    """Structured ops of one block with nothing that reaches memory between them.

    Attributes:
        steps: the ops, in order.
        after: the operation that comes after the last one.
        frees: deallocations between them.
    """

    steps: list[Step] = field(default_factory=list)
    after: Any = None
    frees: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Region:
    """Steps that run together: cut by `work`, or on one thread if it is None."""

    steps: list[Step]
    work: Work | None


def rows(entry: ir.Operation, reasons: set[str]) -> list[Row]:
    """Return all rows of an entry on buffers, also those in bodies of its loops and branches.

    Args:
        entry: a function.
        reasons: the set that receives the reasons for which ops cannot be in a row.
    """
    return [row for block in _blocks(entry) for row in _rows_of(block, reasons)]


def cuttable_steps(entry: ir.Operation) -> Iterator[Step | None]:
    """Yield the steps of all rows that can be cut by themselves, and None behind each row."""
    reasons: set[str] = set()
    for block in _blocks(entry):
        for view in block.operations:
            met = _met(view.operation, reasons)
            if met is None:
                yield None
            elif isinstance(met, Step) and _can_be_cut(met):
                yield met
        yield None


def _can_be_cut(step: Step) -> bool:
    written = {access.buffer for access in step.accesses if access.is_written}
    return any(_assign([step], written, 0, loop) is not None for loop in step.candidates)


def parallel_loops(entry: ir.Operation) -> list[Any]:
    """Return the outermost parallel loops of an entry."""
    ops = (view.operation for block in _blocks(entry) for view in block.operations)
    return [op for op in ops if op.name in _PARALLEL]


def _blocks(op: Any) -> Iterator[Any]:
    """Yield the blocks of an operation and of nested `scf` ops, except parallel loops."""
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in (view.operation for view in block.operations):
                if inner.name.startswith("scf.") and inner.name not in _PARALLEL:
                    yield from _blocks(inner)


def _rows_of(block: Any, reasons: set[str]) -> list[Row]:
    finished, row = [], Row()
    frees: list[Any] = []
    for op in (view.operation for view in block.operations):
        if row.steps and row.after is None:
            row.after = op
        met = _met(op, reasons)
        if isinstance(met, Step):
            row.steps.append(met)
            row.after = None
            row.frees += frees
            frees = []
        elif op.name == _DEALLOC:
            frees.append(op)
        elif met is None:
            if row.steps:
                finished.append(row)
            row, frees = Row(), []
    return [*finished, row] if row.steps else finished


def _met(op: ir.Operation, reasons: set[str]) -> Step | ir.Operation | None:
    """Return a step for an op, the op itself if a row goes on behind it, None if it ends there."""
    if op.name in STRUCTURED:
        step = step_of(op)
        if not isinstance(step, str):
            return step
        reasons.add(step)
        return None
    if op.name in (_DEALLOC, "func.return") or _reaches_no_memory(op):
        return op
    reasons.add(f"the region holds {op.name}")
    return None


def _reaches_no_memory(op: Any) -> bool:
    """Return whether an operation and all nested in it access no memory of buffers."""
    if op.name in _HARMLESS:
        return True
    is_harmless = True

    def visit(inner: Any) -> Any:
        nonlocal is_harmless
        values = (*inner.operands, *inner.results)
        if not inner.name.startswith(_SCALAR) or any(
            isinstance(value.type, ir.MemRefType) for value in values
        ):
            is_harmless = False
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return is_harmless


def regions(steps: Sequence[Step], threads: int) -> list[Region]:
    """Divide the steps of a row into the regions that `threads` threads run fastest.

    A step joins the region before it where that costs less than waiting for all of its slices.
    """
    divided: list[Region] = []
    for items in _items(steps):
        region = _region(items, threads)
        is_apart = region.work is None and len(items) > 1
        for part in [_region([step], threads) for step in items] if is_apart else [region]:
            joint = _joint(divided[-1], part, threads) if divided else None
            divided[-1:] = [*divided[-1:], part] if joint is None else [joint]
    return divided


def _region(steps: list[Step], threads: int) -> Region:
    return Region(steps, find_work(steps, threads))


def _joint(first: Region, second: Region, threads: int) -> Region | None:
    """Return both regions as one; None where two regions are faster."""
    steps = [*first.steps, *second.steps]
    if first.work is None and second.work is None:
        return Region(steps, None)
    if not may_be_fused(*(step.op for step in steps)):
        return None
    if len(steps) > _MOST_STEPS:
        return None
    joint = _region(steps, threads)
    if joint.work is None:
        return None
    apart = _nanoseconds(first, threads) + wait() + _nanoseconds(second, threads)
    apart += _nanoseconds_between(first, second) / threads
    return joint if _nanoseconds(joint, threads) <= apart else None


def wait() -> float:
    """Return the nanoseconds from the end of a region to the beginning of the next."""
    return 1e9 * figures(current()).fork


def _nanoseconds_between(first: Region, second: Region) -> float:
    """Estimate the time of one core to write and read the values that `second` takes from `first`.

    In a joint region, a slice has these buffers in its caches or even in registers.
    """
    written = {a.buffer: a for step in first.steps for a in step.accesses if a.is_written}
    reached = {a.buffer for step in second.steps for a in step.accesses}
    memory = figures(current()).levels[-1]
    moved = (written[buffer].bytes for buffer in reached if buffer in written)
    return sum(1e9 * bytes_ / memory.read for bytes_ in moved) * 2


def _nanoseconds(region: Region, threads: int) -> float:
    """Estimate the time of a region on `threads` threads."""
    if region.work is not None:
        return region.work.nanoseconds_of_slice(threads)
    target = current()
    return sum(step.nanoseconds(target) for step in region.steps)


def _items(steps: Sequence[Step]) -> list[list[Step]]:
    """Reorder steps without a change of meaning: each fill joins the step that first needs it.

    A fill whose buffer is first reached through another view comes first of all: in its own place
    it might separate steps that belong together.
    """
    first: list[list[Step]] = []
    in_order: list[list[Step]] = []
    waiting: list[Step] = []
    for at, step in enumerate(steps):
        mine = [fill for fill in waiting if step.reaches(fill.accesses[0].buffer)]
        waiting = [fill for fill in waiting if fill not in mine]
        if _may_move(steps, at):
            user = _first_user(steps, at)
            if user is not None and not _reaches_so(user, step):
                first.append([step])
            elif user is not None:
                waiting.append(step)
            else:
                in_order.append([step])
            continue
        in_order.append([*mine, step])
    return [*first, *in_order]


def _may_move(steps: Sequence[Step], at: int) -> bool:
    """Return whether a step only fills one buffer, which no step before it reaches."""
    step = steps[at]
    if not step.fills or len(step.accesses) != 1:
        return False
    return not any(before.reaches(step.accesses[0].buffer) for before in steps[:at])


def _first_user(steps: Sequence[Step], at: int) -> Step | None:
    (access,) = steps[at].accesses
    return next((step for step in steps[at + 1 :] if step.reaches(access.buffer)), None)


def _reaches_so(user: Step, fill: Step) -> bool:
    (filled,) = fill.accesses
    return all(a.value == filled.value for a in user.accesses if a.buffer == filled.buffer)
