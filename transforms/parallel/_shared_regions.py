"""What of an entry can be shared: rows of structured ops, and how they are best put together.

Between two ops of a row nothing happens that hangs on memory. A row is cut into regions: the ops of
one are cut into slices together, see `_partition`, and a region begins when the one before is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.structured.destination_ops.group import may_be_fused
from linalg_ext.target import current
from linalg_ext.transforms.analysis.buffers import TOUCH_NOTHING

from ._partition import Work, find_work
from ._work_steps import Step, far, step_of

WAIT = 3_000.0
"""Nanoseconds from the end of a region to the begin of the next."""

_MOST_STEPS = 24
"""Of a region: to find out how it is best cut takes time that grows with the square of them."""

_STRUCTURED = frozenset({"linalg.generic", "memref.copy"})

_PARALLEL = frozenset({"scf.forall", "scf.parallel"})

_HARMLESS = TOUCH_NOTHING | {"memref.dealloc"}
"""Operations on buffers that neither read nor write one."""

_SCALAR = ("affine.", "arith.", "cf.assert", "complex.", "index.", "math.", "scf.", "vector.")
"""What operations begin with that reach no memory but through operands that are buffers."""


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
    """Steps that are done together: cut as `work` says, or by one thread where that is None."""

    steps: list[Step]
    work: Work | None


def rows(entry: ir.Operation, reasons: set[str]) -> list[Row]:
    """All rows of an entry on buffers, those in the bodies of its loops and branches too.

    Args:
        entry: a function.
        reasons: takes why ops cannot be in one.
    """
    return [row for block in _blocks(entry) for row in _rows_of(block, reasons)]


def parallel_loops(entry: ir.Operation) -> list[Any]:
    """The outermost parallel loops of an entry."""
    return [
        op
        for block in _blocks(entry)
        for op in (each.operation for each in block.operations)
        if op.name in _PARALLEL
    ]


def _blocks(op: Any) -> Iterator[Any]:
    """The blocks of an operation and of what is nested in it, but for bodies of parallel loops."""
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
        if op.name in _STRUCTURED:
            step = step_of(op)
            if not isinstance(step, str):
                row.steps.append(step)
                row.after = None
                row.frees += frees
                frees = []
                continue
            reasons.add(step)
        elif op.name == "memref.dealloc":
            frees.append(op)
            continue
        elif op.name == "func.return" or _reaches_no_memory(op):
            continue
        else:
            reasons.add(f"it holds {op.name}")
        if row.steps:
            found.append(row)
        row, frees = Row(), []
    return [*found, row] if row.steps else found


def _reaches_no_memory(op: Any) -> bool:
    """Whether an operation, with all that is nested in it, leaves the memory of buffers alone."""
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
    """How a row is best shared by so many threads.

    A step joins the region before it where that costs less than to wait for all slices of it.
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
    """Both regions as one; None where they are better apart."""
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
    """About what it takes one core to write, and read, what one region leaves to the other.

    Together a slice has it at hand, in its caches or even in registers.
    """
    written = {a.buffer: a for step in one.steps for a in step.accesses if a.is_written}
    reached = {a.buffer for step in other.steps for a in step.accesses}
    return sum(far(written[buffer].bytes) for buffer in reached if buffer in written) * 2


def _nanoseconds(region: Region, threads: int) -> float:
    """About what a region takes so many threads."""
    if region.work is not None:
        return region.work.nanoseconds_of_slice(threads)
    target = current()
    return sum(step.nanoseconds(target) for step in region.steps)


def _items(steps: Sequence[Step]) -> list[list[Step]]:
    """Steps in an order that means the same, each fill with what first needs it.

    A fill whose buffer is first reached through another view comes first of all: where it stands it
    might part what belongs together.
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
    """Whether a step fills one buffer that none before it reaches."""
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
