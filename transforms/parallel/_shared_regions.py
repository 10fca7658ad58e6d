"""Rows of structured ops that threads can share, and their division into regions.

No op between two ops of a row accesses memory. A row is divided into regions. The ops of a region
are cut into slices together, see `_partition`. A region begins when the one before is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.structured.group import may_be_fused
from linalg_ext.target import current
from linalg_ext.transforms.analysis.buffers import TOUCH_NOTHING

from ._partition import Work, find_work
from ._work_steps import Step, far, step_of

WAIT = 3_000.0
"""Nanoseconds from the end of a region to the beginning of the next."""

_MOST_STEPS = 24
"""The most steps of a region: the time to find its best cut grows with their square."""

_STRUCTURED = frozenset({"linalg.generic", "memref.copy"})

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


def steps_by_row(entry: ir.Operation) -> Iterator[Step | None]:
    """Yield the steps of all rows in order, and None where a row ends."""
    for block in _blocks(entry):
        for each in block.operations:
            met = _met(each.operation, set())
            if met is None or isinstance(met, Step):
                yield met
        yield None


def parallel_loops(entry: ir.Operation) -> list[Any]:
    """Return the outermost parallel loops of an entry."""
    return [
        op
        for block in _blocks(entry)
        for op in (each.operation for each in block.operations)
        if op.name in _PARALLEL
    ]


def _blocks(op: Any) -> Iterator[Any]:
    """Yield the blocks of an operation and of nested `scf` ops, except parallel loops."""
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in block.operations:
                if (
                    inner.operation.name.startswith("scf.")
                    and inner.operation.name not in _PARALLEL
                ):
                    yield from _blocks(inner.operation)


def _rows_of(block: Any, reasons: set[str]) -> list[Row]:
    found, row = [], Row()
    frees: list[Any] = []
    for each in block.operations:
        op = each.operation
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
                found.append(row)
            row, frees = Row(), []
    return [*found, row] if row.steps else found


def _met(op: ir.Operation, reasons: set[str]) -> Step | ir.Operation | None:
    """Return an op as a step, as it is where a row goes on behind it, and None where it ends."""
    if op.name in _STRUCTURED:
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
    found: list[Region] = []
    for items in _items(steps):
        region = _region(items, threads)
        if region.work is None and len(items) > 1:
            parts = [_region([step], threads) for step in items]
        else:
            parts = [region]
        for part in parts:
            joint = _joint(found[-1], part, threads) if found else None
            if joint is None:
                found.append(part)
            else:
                found[-1] = joint
    return found


def _region(steps: list[Step], threads: int) -> Region:
    return Region(steps, find_work(steps, threads))


def _joint(one: Region, other: Region, threads: int) -> Region | None:
    """Return both regions as one; None where two regions are faster."""
    steps = [*one.steps, *other.steps]
    if one.work is None and other.work is None:
        return Region(steps, None)
    if not may_be_fused(*(step.op for step in steps)):
        return None
    if len(steps) > _MOST_STEPS:
        return None
    joint = _region(steps, threads)
    if joint.work is None:
        return None
    apart = _nanoseconds(one, threads) + WAIT + _nanoseconds(other, threads)
    apart += _nanoseconds_between(one, other) / threads
    return joint if _nanoseconds(joint, threads) <= apart else None


def _nanoseconds_between(one: Region, other: Region) -> float:
    """Estimate the time of one core to write and read the buffers that `other` takes from `one`.

    In a joint region, a slice has them in its caches or even in registers.
    """
    written = {a.buffer: a for step in one.steps for a in step.accesses if a.is_written}
    reached = {a.buffer for step in other.steps for a in step.accesses}
    return sum(far(written[buffer].bytes) for buffer in reached if buffer in written) * 2


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
    others: list[list[Step]] = []
    waiting: list[Step] = []
    for at, step in enumerate(steps):
        reached = {access.buffer for access in step.accesses}
        mine = [fill for fill in waiting if fill.accesses[0].buffer in reached]
        waiting = [fill for fill in waiting if fill not in mine]
        if _may_move(steps, at):
            user = _first_user(steps, at)
            if user is not None and not _reaches_so(user, step):
                first.append([step])
            elif user is not None:
                waiting.append(step)
            else:
                others.append([step])
            continue
        others.append([*mine, step])
    return [*first, *others]


def _may_move(steps: Sequence[Step], at: int) -> bool:
    """Return whether a step only fills one buffer, which no step before it reaches."""
    step = steps[at]
    if not step.fills or len(step.accesses) != 1:
        return False
    (access,) = step.accesses
    return not any(each.buffer == access.buffer for one in steps[:at] for each in one.accesses)


def _first_user(steps: Sequence[Step], at: int) -> Step | None:
    (access,) = steps[at].accesses
    for step in steps[at + 1 :]:
        if any(each.buffer == access.buffer for each in step.accesses):
            return step
    return None


def _reaches_so(user: Step, fill: Step) -> bool:
    (access,) = fill.accesses
    reached = [each for each in user.accesses if each.buffer == access.buffer]
    return all(each.value == access.value for each in reached)
