"""The partition of a row of structured ops into slices that share no memory that is written.

Each op is cut along one of its parallel loops. A buffer that some op writes must be reached through
that loop alone along one of its axes, the same axis in every op. Then a slice reads nothing that
another slice writes, and slices run in parallel, or one after another, without waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.target import Target, current

from ._work_steps import Access, Step

WORTH_SHARING = 30_000.0
"""Work, in nanoseconds of one core, from which on more than one thread is used.

To share a loop takes 3 us. A thread that still waits for the next loop begins at once. One that
sleeps begins after 10 us or more, while the caller goes on with the slices. Data in the caches take
half the estimated time.
"""

LEAST_SLICE = 8_000.0
"""Nanoseconds of a slice: fewer threads are used rather than do less each."""

SLICES_EACH = 4
"""Slices for each thread, where they repeat nothing: a disturbed thread does fewer of them."""

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
    # Of 9 steps for 4 slices: 3, 3 and 3. No slice of a fourth would be shorter.
    count = -(-extent // size)
    return Cut(count, size, extent - size * (count - 1))


def find_work(steps: Sequence[Step], slices: int) -> Work | None:
    """Return the best way to cut steps into about `slices` slices; None if absent."""
    target = current()
    written = {a.buffer for step in steps for a in step.accesses if a.is_written}
    largest = max(range(len(steps)), key=lambda at: steps[at].nanoseconds(target))
    found = [
        work
        for loop in steps[largest].candidates
        if (work := _assign(steps, written, largest, loop)) is not None
    ]
    # Of equals an outer loop: its slices are whole in memory.
    return min(found, key=lambda work: work.nanoseconds_of_slice(slices), default=None)


def _assign(steps: Sequence[Step], written: set[Any], first: int, loop: int) -> Work | None:
    """Cut `first` along `loop`, and every other step as that demands; None where it cannot be."""
    loops: dict[int, int] = {}
    axes: dict[Any, int] = {}
    size = steps[first].sizes[loop]
    if not _spread(steps, written, first, loop, loops, axes):
        return None
    for at, step in enumerate(steps):
        if at in loops:
            continue
        # It shares nothing that is written with those before: any of its loops, if it is as long.
        for other in step.candidates:
            more, further = dict(loops), dict(axes)
            is_as_long = size is not None and step.sizes[other] == size
            if is_as_long and _spread(steps, written, at, other, more, further):
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
    """Cut a step along a loop, and what shares with it what is written; whether that can be."""
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
                    # What one view holds at an index may be elsewhere in another.
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
