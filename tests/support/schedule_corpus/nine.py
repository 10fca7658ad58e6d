"""The nine transformations of the linalg document, each on all ops of a module that take it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ScheduleError
from linalg_ext.structured import interface
from linalg_ext.transforms.ir_utils.walking import select
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

_REACHING = frozenset({"fuse", "tile_subsets"})
"""Those that move other ops than the one that they are about: these are taken op by op."""

_NUMBER = "schedule_corpus.number"
"""The attribute that ops are found again by."""


def transform_all(module: lx.Module, name: str) -> Tally:
    """Apply one of the nine to every op that takes it, verified after each step.

    Ops with the same loops take it together. Where one of them does not, each half tries for
    itself, down to single ops. Ops in regions of others, such as those that were fused, are left.
    """
    tally = Tally()
    schedule = lx.Schedule(module)
    if name in ON_BUFFERS:
        try:
            schedule.bufferize()
        except ScheduleError as error:  # an op of another dialect
            tally.refuse("bufferize", error)
            return tally
    numbered = _numbered(module)
    groups: list[tuple[Loops, list[int]]]
    # From the last on, so that what is fused is fused with what it is read by.
    if name in _REACHING:
        groups = [(loops, [number]) for number, loops in reversed(numbered.items())]
    else:
        alike: dict[Loops, list[int]] = {}
        for number, loops in reversed(numbered.items()):
            alike.setdefault(loops, []).append(number)
        groups = list(alike.items())
    for loops, numbers in groups:
        _transform(schedule, name, loops, numbers, tally)
    _forget(module)
    module.verify()
    return tally


def _transform(
    schedule: lx.Schedule, name: str, loops: Loops, numbers: Sequence[int], tally: Tally
) -> None:
    """One of the nine on the ops with some numbers."""
    module = schedule.module
    before = module.clone()
    steps = len(schedule.taken)
    wanted = frozenset(numbers)
    try:
        schedule.match(where=lambda op: _number(op) in wanted and _is_outside(op))
    except ScheduleError:
        return  # it was fused, and is done
    try:
        NINE[name](schedule, loops)
    except ScheduleError as error:
        # Of two steps, the first may have been taken.
        del schedule.taken[steps:]
        module.swap(before)
        if len(numbers) > 1:
            half = len(numbers) // 2
            _transform(schedule, name, loops, numbers[:half], tally)
            _transform(schedule, name, loops, numbers[half:], tally)
        else:
            tally.refuse(name, error)
        return
    tally.take(name, len(numbers))


def _numbered(module: lx.Module) -> dict[int, Loops]:
    """Give the ops of linalg numbers, in the order of the text; the loops of those that have any.

    The attribute is one of no dialect that is loaded, which every step leaves on ops that it is not
    about.
    """
    found = {}
    with module.context:
        for number, op in enumerate(_ops(module)):
            loops = _loops_of(op.operation)
            if loops is not None:
                op.operation.attributes[_NUMBER] = ir.IntegerAttr.get(
                    ir.IntegerType.get_signless(64), number
                )
                found[number] = loops
    return found


def _forget(module: lx.Module) -> None:
    for op in select(module.ir.operation, lambda op: _NUMBER in op.attributes):
        del op.attributes[_NUMBER]


def _number(op: ir.Operation) -> int | None:
    return ir.IntegerAttr(op.attributes[_NUMBER]).value if _NUMBER in op.attributes else None


def _is_outside(op: ir.Operation) -> bool:
    return op.parent is not None and op.parent.name == "func.func"


def _ops(module: lx.Module) -> Sequence[ir.Operation]:
    return select(
        module.ir.operation,
        lambda op: (
            op.name.startswith("linalg.") and op.name not in ("linalg.index", "linalg.yield")
        ),
    )


def _loops_of(op: ir.Operation) -> Loops | None:
    if not _is_outside(op):
        return None
    try:
        asked = interface(op)
    except ArgumentError:
        return None
    ranges = tuple(size if size else 1 for size in asked.static_loop_ranges)
    return Loops(ranges, frozenset(asked.parallel_dims))
