"""The nine transformations of the linalg document, each on all ops of a module that take it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ScheduleError
from linalg_ext.structured import interface
from linalg_ext.transforms.lowering._walk import select
from schedule_corpus.tally import Tally

_VECTOR = 512
"""Iterations in one vector op."""


@dataclass(frozen=True)
class Loops:
    """The loops of an op: how often each runs (1 where that is not known), and which kind it is."""

    ranges: Sequence[int]
    parallel: frozenset[int]

    def sizes(self, size: int, *, among: frozenset[int] | None = None, most: int = 3) -> list[int]:
        """A tile size for the first loops that run more than once, 0 for all others."""
        chosen = [
            dim
            for dim, extent in enumerate(self.ranges)
            if extent > 1 and (among is None or dim in among)
        ][:most]
        return [size if dim in chosen else 0 for dim in range(len(self.ranges))]

    def dividing(self) -> list[int]:
        """A size for each loop that divides it: the smallest above 1."""
        return [next((n for n in range(2, r + 1) if r % n == 0), 1) for r in self.ranges]

    def small(self) -> list[int]:
        """Sizes of tiles that vectors can hold: whole loops from the last on, then single ones."""
        sizes, points = [], 1
        for extent in reversed(self.ranges):
            size = min(extent, max(1, _VECTOR // points))
            sizes.append(size)
            points *= size
        return sizes[::-1]

    @property
    def reductions(self) -> frozenset[int]:
        """The loops that are not parallel."""
        return frozenset(range(len(self.ranges))) - self.parallel


Apply = Callable[[lx.Schedule, Loops], object]


def _parallelize(schedule: lx.Schedule, loops: Loops) -> None:
    if any(loops.sizes(3, among=loops.parallel)):
        schedule.parallelize(loops.sizes(3, among=loops.parallel, most=2))
    else:
        schedule.tile_reduction(loops.sizes(2, among=loops.reductions), parallel=True)


def _vectorize(schedule: lx.Schedule, loops: Loops) -> None:
    if math.prod(loops.ranges) > _VECTOR:
        schedule.tile(loops.small())
    schedule.vectorize(loops.small())


def _instructions(schedule: lx.Schedule, loops: Loops) -> None:
    _vectorize(schedule, loops)
    schedule.lower_vectors()


NINE: Mapping[str, Apply] = {
    "allocate": lambda schedule, loops: schedule.allocate(),
    "tile": lambda schedule, loops: schedule.tile(loops.sizes(3)),
    "promote": lambda schedule, loops: schedule.tile(loops.sizes(3)).promote(),
    "fuse": lambda schedule, loops: schedule.fuse(loops.sizes(3, among=loops.parallel, most=2)),
    "tile_subsets": lambda schedule, loops: schedule.tile_subsets(
        loops.sizes(3, among=loops.parallel, most=2)
    ),
    "parallelize": _parallelize,
    "vectorize": _vectorize,
    "lower_to_loops": lambda schedule, loops: schedule.lower_to_loops(),
    "lower_vectors": _instructions,
    "finer": lambda schedule, loops: schedule.finer(loops.dividing()),
}
"""Each by its step; fusion by both of its ways."""

ON_BUFFERS = frozenset({"lower_to_loops"})


def transform_all(module: lx.Module, name: str) -> Tally:
    """Apply one of the nine to every op that takes it; the module is verified after each.

    Ops in regions of others, such as those that were fused, are left.
    """
    tally = Tally()
    schedule = lx.Schedule(module)
    if name in ON_BUFFERS:
        try:
            schedule.bufferize()
        except ScheduleError as error:  # an op of another dialect
            tally.refuse("bufferize", error)
            return tally
    # From the last on: what comes before an op keeps its number.
    for position in reversed(range(len(_loops(module)))):
        known = _loops(module)
        loops = known[position] if position < len(known) else None
        if loops is None:
            continue
        before = module.clone()
        steps = len(schedule.taken)
        schedule.match(position=position)
        try:
            NINE[name](schedule, loops)
        except ScheduleError as error:
            tally.refuse(name, error)
            # Of two steps, the first may have been taken.
            del schedule.taken[steps:]
            module.swap(before)
        else:
            module.verify()
            tally.take(name)
    return tally


def _loops(module: lx.Module) -> list[Loops | None]:
    """The loops of each op of linalg, as `Schedule.match` counts them; None where it has none."""
    ops = select(
        module.ir.operation,
        lambda op: (
            op.name.startswith("linalg.") and op.name not in ("linalg.index", "linalg.yield")
        ),
    )
    return [_loops_of(op.operation) for op in ops]


def _loops_of(op: ir.Operation) -> Loops | None:
    if op.parent is None or op.parent.name != "func.func":
        return None  # it was fused, and is done
    try:
        asked = interface(op)
    except ArgumentError:
        return None
    ranges = tuple(size if size else 1 for size in asked.static_loop_ranges)
    return Loops(ranges, frozenset(asked.parallel_dims))
